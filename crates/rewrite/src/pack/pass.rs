//! The passes of packing: what each does, and which of them run.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::Serialize;

use super::decision::NothingToPack;
use crate::refusal::Refusal;

/// A pass. The order of the variants is the order in which they are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// References to the file's own definitions become relative.
    BindLocal,
    /// References to `__cxa_pure_virtual` become relative.
    PureVirtual,
    /// Segments are aligned to pages only, if the freed bytes can go then.
    LowerAlignment,
    /// Relative relocations become RELR.
    Relr,
    /// Relative relocations become words that code in the file applies.
    Stub,
}

impl Pass {
    /// All passes, in the order in which they are applied.
    pub const ALL: [Self; 5] = [Self::BindLocal, Self::PureVirtual, Self::LowerAlignment, Self::Relr, Self::Stub];
    /// Those of `all-safe`.
    pub const SAFE: [Self; 3] = [Self::BindLocal, Self::PureVirtual, Self::Relr];

    /// The pass that packs relative relocations.
    pub(super) fn packing(stub: bool) -> Self {
        if stub { Self::Stub } else { Self::Relr }
    }

    /// Its name, on the command line and in our note.
    pub fn name(self) -> &'static str {
        match self {
            Self::BindLocal => "bind-local",
            Self::PureVirtual => "pure-virtual",
            Self::LowerAlignment => "lower-alignment",
            Self::Relr => "relr",
            Self::Stub => "stub",
        }
    }

    /// The pass with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pass| pass.name() == name)
    }

    /// Whether an edit with this name in our note is a pass of packing.
    pub fn is_edit(name: &str) -> bool {
        Self::named(name).is_some()
    }

    /// Its effect, in a sentence without a full stop.
    pub fn effect(self) -> &'static str {
        match self {
            Self::BindLocal => {
                "turns references to the file's own definitions into relative relocations, which the loader applies \
                 without looking up a symbol"
            }
            Self::PureVirtual => {
                "has the tables of virtual functions point to a jump of the file's own to `__cxa_pure_virtual`, so that all \
                 of these words but one are relative"
            }
            Self::LowerAlignment => {
                "aligns segments to pages of 4 KiB where the linker aligned them to more (2 MiB by old linkers' default), so that \
                 `relr` or `stub` can remove all freed bytes from the file and not only multiples of that"
            }
            Self::Relr => "stores relative relocations as RELR, and removes the freed bytes from the file",
            Self::Stub => {
                "stores relative relocations as packed words, adds code that applies them before the library's own \
                 initialisers run, and removes the freed bytes from the file; for loaders without RELR"
            }
        }
    }

    /// When the result is the same object to every loader.
    pub fn safe_when(self) -> &'static str {
        match self {
            Self::BindLocal => {
                "no other object can define the symbol: it is local or hidden, or the file says DT_SYMBOLIC \
                 (glibc); with --closed-world also where no earlier object of the named programs defines it"
            }
            Self::PureVirtual => {
                "always: the jump leads to where the loader puts the one word that keeps its relocation; nothing compares \
                 the addresses of pure virtual functions"
            }
            Self::LowerAlignment => {
                "no section is aligned to more, and huge pages for the file's code are not wanted; so it is not part of \
                 `all-safe`"
            }
            Self::Relr => "the loader knows RELR: glibc 2.36, musl 1.2.4, Android 30",
            Self::Stub => {
                "no other library calls the file before its own initialisers run, and the process may change the \
                 protection of its memory; so it is not part of `all-safe`"
            }
        }
    }

    /// What it leaves alone or refuses.
    pub fn refuses(self) -> &'static str {
        match self {
            Self::BindLocal => {
                "leaves references to STB_GNU_UNIQUE, IFUNC, thread-local, absolute and undefined symbols, addresses of \
                 protected ones (a program may hold a copy or a PLT entry), and calls of files that are bound lazily"
            }
            Self::PureVirtual => {
                "refuses files for other processors than x86-64, and those without unused bytes between two functions of \
                 which the unwind tables tell"
            }
            Self::LowerAlignment => {
                "refuses files for other processors than x86-64 and i386, whose pages may be larger, and those without section \
                 headers; leaves files that lose nothing by their alignment"
            }
            Self::Relr => "refuses files with too few dynamic entries, and those whose tables something else refers to",
            Self::Stub => {
                "refuses programs, files with IRELATIVE or DF_1_INITFIRST, and those that define malloc; leaves words of \
                 exported variables, of which a program may have a copy, unless --closed-world rules that out"
            }
        }
    }
}

/// A set of passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passes(BTreeSet<Pass>);

impl Default for Passes {
    /// RELR alone.
    fn default() -> Self {
        Self(BTreeSet::from([Pass::Relr]))
    }
}

impl Passes {
    /// All passes that give the same object to every supported loader.
    pub fn all_safe() -> Self {
        Self(BTreeSet::from(Pass::SAFE))
    }

    /// These passes.
    pub fn of(passes: impl IntoIterator<Item = Pass>) -> Self {
        Self(passes.into_iter().collect())
    }

    /// Whether a pass is among them.
    pub fn has(&self, pass: Pass) -> bool {
        self.0.contains(&pass)
    }
}

/// What is wrong with a list of passes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongPasses {
    /// An unknown name.
    #[error("no pass `{0}`: the passes are {names}, and `all-safe` for {safe}", safe = safe(), names = names())]
    Unknown(String),
    /// Nothing that removes bytes.
    #[error("`lower-alignment` does nothing alone: add `relr` or `stub`, which remove freed bytes from the file")]
    NothingToMove,
    /// Both ways of packing.
    #[error("`relr` and `stub` do not go together: `stub` is for loaders that do not know RELR")]
    Both,
}

/// The names of all passes, as in a sentence.
fn names() -> String {
    Pass::ALL.map(|pass| format!("`{}`", pass.name())).join(", ")
}

/// The names of those of `all-safe`.
fn safe() -> String {
    let [first, second, third] = Pass::SAFE.map(|pass| format!("`{}`", pass.name()));
    format!("{first}, {second} and {third}")
}

impl FromStr for Passes {
    type Err = WrongPasses;

    /// Names separated by commas; `all-safe` for all.
    fn from_str(text: &str) -> Result<Self, WrongPasses> {
        let mut passes = BTreeSet::new();
        for name in text.split(',') {
            match Pass::named(name) {
                _ if name == "all-safe" => passes.extend(Pass::SAFE),
                Some(pass) => {
                    passes.insert(pass);
                }
                None => return Err(WrongPasses::Unknown(name.to_owned())),
            }
        }
        if passes.contains(&Pass::Relr) && passes.contains(&Pass::Stub) {
            return Err(WrongPasses::Both);
        }
        if passes.contains(&Pass::LowerAlignment) && !passes.contains(&Pass::Relr) && !passes.contains(&Pass::Stub) {
            return Err(WrongPasses::NothingToMove);
        }
        Ok(Self(passes))
    }
}

/// The outcome of a pass in a file that was rewritten.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassReport {
    /// The pass.
    pub pass: Pass,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: PassOutcome,
}

/// What a pass did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum PassOutcome {
    /// It changed this many relocations.
    Done {
        /// Their number.
        relocations: u64,
    },
    /// It lowered the alignment of segments.
    #[serde(rename = "done")]
    Lowered {
        /// The largest alignment of a segment before, in bytes.
        from: u64,
        /// That after.
        to: u64,
        /// Bytes that the file loses by it.
        bytes: u64,
    },
    /// There was nothing for it to do.
    Nothing {
        /// The cause.
        cause: NothingToPack,
    },
    /// It refused the file; the other passes ran.
    Refused {
        /// A stable short name.
        code: &'static str,
        /// The cause.
        reason: String,
        /// A remedy, if there is one.
        hint: Option<String>,
    },
}

impl From<&Refusal> for PassOutcome {
    fn from(refusal: &Refusal) -> Self {
        Self::Refused { code: refusal.code(), reason: refusal.to_string(), hint: refusal.hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_passes() {
        assert_eq!("relr".parse(), Ok(Passes::default()));
        assert_eq!("relr,pure-virtual,bind-local".parse(), Ok(Passes::all_safe()));
        assert_eq!("all-safe".parse(), Ok(Passes::all_safe()));
        let unknown = "relr,prelink".parse::<Passes>().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "no pass `prelink`: the passes are `bind-local`, `pure-virtual`, `lower-alignment`, `relr`, `stub`, and `all-safe` \
             for `bind-local`, `pure-virtual` and `relr`"
        );
        assert!("".parse::<Passes>().is_err());
        assert_eq!("relr,stub".parse::<Passes>(), Err(WrongPasses::Both));
        assert_eq!("bind-local,lower-alignment".parse::<Passes>(), Err(WrongPasses::NothingToMove));
        assert!("all-safe,lower-alignment".parse::<Passes>().unwrap().has(Pass::LowerAlignment));
        assert_eq!("stub".parse(), Ok(Passes::of([Pass::Stub])));
    }
}
