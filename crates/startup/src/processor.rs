//! The processor of a start: the subdirectories that its loader tries, and the value of `$PLATFORM`.

use std::str::FromStr;

use coldstart_loader::{Class, Hwcaps, ObjectFacts, hwcaps};

/// `e_machine` of x86-64, AArch64 and 32-bit x86 (`elf.h`).
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const I386: u16 = 3;

/// The processor of a start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// This machine's for programs of its architecture, and none for others.
    #[default]
    Fitting,
    /// This machine's, for all programs.
    Native,
    /// None: no subdirectories are tried.
    None,
    /// One with these levels, best first.
    Named(Vec<String>),
    /// Any: no subdirectory is tried, and directories with `$PLATFORM` are skipped.
    Every,
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "native" => return Ok(Self::Native),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let mut names: Vec<String> = Vec::new();
        for name in text.split([',', ':']) {
            if name.is_empty() || name.contains('/') || name == "." || name == ".." {
                return Err(format!("`{name}` is not a level; examples: x86-64-v3, power10, z16, `native`, `none`"));
            }
            for name in with_lower(name) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Ok(Self::Named(names))
    }
}

/// A level and those that it implies, best first.
fn with_lower(name: &str) -> Vec<String> {
    let number = name.strip_prefix("x86-64-v").and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(number @ 2..=4) => (2..=number).rev().map(|number| format!("x86-64-v{number}")).collect(),
        _ => vec![name.to_owned()],
    }
}

impl Levels {
    /// The subdirectories that a glibc of this release tries for a program. The combined names of releases up to 2.36 are
    /// those of this host's processor.
    pub(crate) fn hwcaps(&self, release: Option<u32>, program: &ObjectFacts) -> Hwcaps {
        let ours = || release.map(Hwcaps::of_this_cpu).unwrap_or_default();
        match self {
            Self::Native => ours(),
            Self::Fitting if is_native(program) => ours(),
            Self::Fitting | Self::None | Self::Every => Hwcaps::default(),
            Self::Named(names) => Hwcaps {
                levels: names.iter().map(|name| name.clone().into_bytes()).collect(),
                combined: if is_native(program) { ours().combined } else { None },
            },
        }
    }

    /// `$PLATFORM`: this processor's for programs of its architecture; otherwise the only likely value, if there is one.
    pub(crate) fn platform(&self, program: &ObjectFacts) -> Option<Vec<u8>> {
        if *self == Self::Every {
            return None;
        }
        if is_native(program) {
            return hwcaps::platform_of_this_cpu().map(|platform| platform.as_bytes().to_vec());
        }
        match program.machine {
            I386 => Some(b"i686".to_vec()),
            X86_64 => Some(b"x86_64".to_vec()),
            AARCH64 => Some(b"aarch64".to_vec()),
            _ => None,
        }
    }
}

/// Whether an object is for this processor's 64-bit architecture.
fn is_native(facts: &ObjectFacts) -> bool {
    let ours = match () {
        () if cfg!(target_arch = "x86_64") => X86_64,
        () if cfg!(target_arch = "aarch64") => AARCH64,
        () => return false,
    };
    facts.machine == ours && facts.class == Class::Bits64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(machine: u16, class: Class) -> ObjectFacts {
        ObjectFacts { machine, class, ..ObjectFacts::default() }
    }

    #[test]
    fn a_level_implies_the_lower_ones() {
        let named = |names: &[&str]| Ok(Levels::Named(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!("x86-64-v3".parse(), named(&["x86-64-v3", "x86-64-v2"]));
        assert_eq!("x86-64-v3,x86-64-v4".parse(), named(&["x86-64-v3", "x86-64-v2", "x86-64-v4"]));
        assert_eq!("power10:power9".parse(), named(&["power10", "power9"]));
        assert!("../v3".parse::<Levels>().is_err() && "".parse::<Levels>().is_err());
    }

    #[test]
    fn programs_for_other_processors_get_none_of_this_one() {
        for other in [object(I386, Class::Bits32), object(22, Class::Bits64)] {
            assert_eq!(Levels::Fitting.hwcaps(Some(36), &other), Hwcaps::default());
        }
        assert_eq!(Levels::Fitting.platform(&object(I386, Class::Bits32)).as_deref(), Some(b"i686".as_slice()));
        let named = Levels::Named(vec!["z16".to_owned()]);
        assert_eq!(
            named.hwcaps(Some(36), &object(22, Class::Bits64)).subdirectories(),
            [b"glibc-hwcaps/z16/".to_vec(), vec![]]
        );
    }

    #[test]
    fn what_holds_on_every_processor_names_none() {
        let ours = object(if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 }, Class::Bits64);
        assert_eq!(Levels::Every.hwcaps(Some(42), &ours), Hwcaps::default());
        assert_eq!(Levels::Every.platform(&ours), None);
    }
}
