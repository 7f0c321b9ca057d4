//! Which interpreter a program is.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A language whose interpreter can use an index, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// CPython 3.9 and later.
    Python,
    /// Perl 5.
    Perl,
    /// Guile 3.
    Guile,
    /// Ruby 2.7 and later (MRI).
    Ruby,
    /// Node 18 and later.
    Node,
    /// Any: no interpreter is asked to help; a preloaded library answers for absent names.
    Any,
}

/// What a program is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// An interpreter that can use an index.
    Indexable(Language),
    /// An interpreter that cannot: its language.
    Other(&'static str),
}

impl Language {
    /// All whose interpreters can use an index.
    pub const ALL: [Self; 5] = [Self::Python, Self::Perl, Self::Guile, Self::Ruby, Self::Node];

    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Perl => "Perl",
            Self::Guile => "Guile",
            Self::Ruby => "Ruby",
            Self::Node => "Node",
            Self::Any => "any language",
        }
    }

    /// The name of its directory in an index.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Perl => "perl",
            Self::Guile => "guile",
            Self::Ruby => "ruby",
            Self::Node => "node",
            Self::Any => "preload",
        }
    }
}

/// Interpreters: the beginning of the program's name, behind which only a version may follow.
const INTERPRETERS: &[(&str, Recognised)] = &[
    ("python", Recognised::Indexable(Language::Python)),
    ("pypy", Recognised::Other("PyPy")),
    ("perl", Recognised::Indexable(Language::Perl)),
    ("ruby", Recognised::Indexable(Language::Ruby)),
    ("guile", Recognised::Indexable(Language::Guile)),
    ("node", Recognised::Indexable(Language::Node)),
    ("nodejs", Recognised::Indexable(Language::Node)),
    ("R", Recognised::Other("R")),
    ("php", Recognised::Other("PHP")),
    ("lua", Recognised::Other("Lua")),
    ("luajit", Recognised::Other("Lua")),
    ("tclsh", Recognised::Other("Tcl")),
    ("julia", Recognised::Other("Julia")),
    ("java", Recognised::Other("Java")),
    ("ocaml", Recognised::Other("OCaml")),
    ("racket", Recognised::Other("Racket")),
];

impl Recognised {
    /// What the program at this path is. Links should have been followed: `python3` may lead to `python3.11`.
    pub fn of(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?;
        let is_version =
            |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | 'd' | 't' | 'm'));
        INTERPRETERS
            .iter()
            .find(|(interpreter, _)| name.strip_prefix(interpreter).is_some_and(is_version))
            .map(|(_, recognised)| *recognised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_name_and_version() {
        let of = |name: &str| Recognised::of(Path::new(name));
        let python = Some(Recognised::Indexable(Language::Python));
        for name in ["/usr/bin/python3.11", "python3", "python", "/opt/python3.13t", "/usr/bin/python3.12d"] {
            assert_eq!(of(name), python, "{name}");
        }
        assert_eq!(of("/usr/lib/R/bin/exec/R"), Some(Recognised::Other("R")));
        for name in ["python3-config", "pythonic", "/bin/sh", "/usr/bin/perldoc", "/"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
