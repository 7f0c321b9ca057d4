//! Why a program is not bound: what stands in the way, where, and what would help.

use std::path::PathBuf;

use coldstart_loader::ProbeFailure;

use crate::Mode;

/// A reason not to bind a program. It is a result, not an error: the program is as good as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The program or its interpreter cannot be read.
    #[error("{0}")]
    Unreadable(#[from] coldstart_loader::Error),
    /// The program's path cannot be followed.
    #[error("`{}` cannot be followed to a file", .0.display())]
    NoProgram(PathBuf),
    /// A file cannot be read for its identity or symbols.
    #[error("`{}` cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        reason: String,
    },
    /// It loads nothing.
    #[error("it is a static program, which loads no libraries")]
    Static,
    /// It is no program.
    #[error("it is a shared library (it names no interpreter); only programs can be bound")]
    Library,
    /// The interpreter is none whose rules are known.
    #[error("its interpreter `{0}` is neither glibc's nor musl's, and follows rules that are not known here")]
    Interpreter(String),
    /// It is bound.
    #[error("it is bound already (mode {mode}{})", farm.as_ref().map(|farm| format!(", links in `{farm}`")).unwrap_or_default())]
    AlreadyBound {
        /// How.
        mode: &'static str,
        /// The directory of links as it stands on the search path.
        farm: Option<String>,
    },
    /// Libraries are not found as it is.
    #[error("`{library}` is not found, which `{}` needs{}", needed_by.display(), more(*others))]
    Missing {
        /// The name asked for.
        library: String,
        /// Who asks.
        needed_by: PathBuf,
        /// How many more are missing.
        others: usize,
    },
    /// The start ends at a file.
    #[error("the start would end at `{}`, found for `{library}`: {reason}", path.display())]
    WouldStop {
        /// The name asked for.
        library: String,
        /// The file, empty when the name itself is refused.
        path: PathBuf,
        /// Why.
        reason: ProbeFailure,
    },
    /// musl cannot do that.
    #[error("musl's loader cannot be bound in mode {mode}: {reason}")]
    Musl {
        /// The mode.
        mode: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The program gains rights when it starts.
    #[error("it gains rights when it starts (set-user-ID, set-group-ID or capabilities)")]
    Secure,
    /// The program gains rights, and the mode cannot be safe or work at all.
    #[error("it gains rights when it starts, and {0}")]
    SecureMode(&'static str),
    /// The program gains rights, and others can change the place of the links.
    #[error("it gains rights when it starts, and others than root may write to `{}`", .0.display())]
    FarmNotSafe(PathBuf),
    /// A path that cannot stand on a search path.
    #[error("`{0}` cannot stand on a search path: it has {1}")]
    PathText(String, &'static str),
    /// A name or path whose bytes are not UTF-8 and cannot be written into the note.
    #[error("`{0}` is not UTF-8, and the note in the bound program could not name it")]
    NotUtf8(String),
    /// A name with a token but no slash.
    #[error("`{0}` is a name with `$` that becomes another one when it is asked for")]
    TokenInName(String),
    /// A library that is found by a relative path.
    #[error("`{library}` is found as `{}`, which depends on the directory the program is started in", path.display())]
    RelativePath {
        /// The name asked for.
        library: String,
        /// The path.
        path: PathBuf,
    },
    /// The option's directory is not absolute.
    #[error("`{}` is no absolute path", .0.display())]
    NotAbsolute(PathBuf),
    /// A mode lacks what it needs.
    #[error("mode audit needs the path of the library that audits")]
    NoAuditLibrary,
    /// There is no auditing library for programs of this architecture.
    #[error("there is no auditing library for its architecture (e_machine {machine})")]
    NoAuditArchitecture {
        /// `e_machine` of the ELF header.
        machine: u16,
    },
    /// The auditing library's table has no room or no form for an answer.
    #[error("{0}")]
    AuditTable(String),
    /// A directory of the scheme before levels wins.
    #[error("`{library}` is found in `{}`, a subdirectory that only glibc up to 2.36 searches", path.display())]
    LegacyDirectory {
        /// The name asked for.
        library: String,
        /// Where it is found.
        path: PathBuf,
    },
    /// Processors of different levels load other names or in another order.
    #[error("at processor level {level} it loads `{there}` where it loads `{here}` without")]
    LevelsDiffer {
        /// The level.
        level: String,
        /// The name there.
        there: String,
        /// The name without the level.
        here: String,
    },
    /// Paths in the program would choose one level for all machines.
    #[error("`{library}` has variants for processor levels, and a path can name only one")]
    LevelVariants {
        /// The name asked for.
        library: String,
    },
    /// A library loads others by `DT_FILTER` or `DT_AUXILIARY`.
    #[error("`{}` loads others by DT_FILTER or DT_AUXILIARY, which is not followed", .0.display())]
    Filter(PathBuf),
    /// The planned program would load something else.
    #[error("bound, it would load {would_be} as number {place}, which is {was} now")]
    OrderWouldChange {
        /// Number of the object, 1 for the first after the program.
        place: usize,
        /// What is loaded there now.
        was: String,
        /// What would be.
        would_be: String,
    },
    /// A name would be answered by another file.
    #[error("bound, `{library}` that `{}` needs would be {would_be}, which is {was} now", needed_by.display())]
    AnswerWouldChange {
        /// The name.
        library: String,
        /// Who asks.
        needed_by: PathBuf,
        /// The answer now.
        was: String,
        /// The answer then.
        would_be: String,
    },
    /// A library that must keep its path would not.
    #[error("bound, `{}` would be opened as `{}`, and it looks for others by its own path", was.display(), would_be.display())]
    PathWouldChange {
        /// Its path now.
        was: PathBuf,
        /// Its path then.
        would_be: PathBuf,
    },
    /// A probe would fail that should not be made.
    #[error("bound, `{library}` would still be searched at `{}`", path.display())]
    StillSearched {
        /// The name.
        library: String,
        /// Where.
        path: PathBuf,
    },
    /// Nothing to gain.
    #[error("it needs no library but its interpreter")]
    NothingToBind,
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more are not found") }
}

impl Refusal {
    /// A short name for scripts, which never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::NoProgram(_) => "no-program",
            Self::File { .. } => "file-unreadable",
            Self::Static => "static",
            Self::Library => "library",
            Self::Interpreter(_) => "interpreter",
            Self::AlreadyBound { .. } => "already-bound",
            Self::Missing { .. } => "missing-library",
            Self::WouldStop { .. } => "would-stop",
            Self::Musl { .. } => "musl",
            Self::Secure => "secure",
            Self::SecureMode(_) => "secure-mode",
            Self::FarmNotSafe(_) => "farm-not-safe",
            Self::PathText(..) => "path-text",
            Self::NotUtf8(_) => "not-utf8",
            Self::TokenInName(_) => "token-in-name",
            Self::RelativePath { .. } => "relative-path",
            Self::NotAbsolute(_) => "not-absolute",
            Self::NoAuditLibrary => "no-audit-library",
            Self::NoAuditArchitecture { .. } => "no-audit-architecture",
            Self::AuditTable(_) => "audit-table",
            Self::LegacyDirectory { .. } => "legacy-folder",
            Self::LevelsDiffer { .. } => "levels-differ",
            Self::LevelVariants { .. } => "level-variants",
            Self::Filter(_) => "filter",
            Self::OrderWouldChange { .. } => "order-would-change",
            Self::AnswerWouldChange { .. } => "answer-would-change",
            Self::PathWouldChange { .. } => "path-would-change",
            Self::StillSearched { .. } => "still-searched",
            Self::NothingToBind => "nothing-to-bind",
        }
    }

    /// What would help, where something would.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AlreadyBound { .. } => "take it back with `coldstart unbind`, or bind it anew with `--rebind`",
            Self::Missing { .. } => {
                "`coldstart resolve` shows where it was searched; the program must start before it is bound"
            }
            Self::WouldStop { .. } => "the program does not start as it is; `coldstart resolve` shows why",
            Self::Musl { .. } | Self::NoAuditArchitecture { .. } | Self::AuditTable(_) => "use mode soname",
            Self::Secure => "if root alone may write to the place of the links, say `--allow-setuid`",
            Self::SecureMode(_) => "use mode soname or absolute with `--allow-setuid`",
            Self::FarmNotSafe(_) => {
                "give a directory with `--farm` that root owns, with all directories above it, and only root may write to"
            }
            Self::PathText(..) => "give another directory with `--farm`",
            Self::RelativePath { .. } => {
                "replace relative and empty elements in the search path by absolute ones or `$ORIGIN`"
            }
            Self::NotAbsolute(_) => "give an absolute path",
            Self::LegacyDirectory { .. } => {
                "move the library to a directory under glibc-hwcaps/, which every glibc since 2.33 searches"
            }
            Self::LevelsDiffer { .. } | Self::LevelVariants { .. } => {
                "plan for given levels only: `--levels none` for the plain libraries, or those of the machines it will run on"
            }
            Self::PathWouldChange { .. } | Self::OrderWouldChange { .. } | Self::AnswerWouldChange { .. } => {
                "`coldstart resolve` shows by which rule each library is found; mode audit changes no order"
            }
            _ => return None,
        })
    }
}

impl Mode {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Soname => "soname",
            Self::Absolute => "absolute",
            Self::Origin => "origin",
            Self::Audit => "audit",
        }
    }
}
