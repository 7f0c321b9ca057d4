//! Why a program is not bound: the reason, its location, and a hint.

use std::path::PathBuf;

use coldstart_loader::ProbeFailure;

use crate::Mode;

/// A reason not to bind a program. It is a result, not an error: the program works as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The program or its interpreter cannot be read.
    #[error("{0}")]
    Unreadable(#[from] coldstart_loader::Error),
    /// The program's path cannot be resolved.
    #[error("cannot resolve `{}` to a file", .0.display())]
    NoProgram(PathBuf),
    /// A file's identity or symbols cannot be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system error.
        reason: String,
    },
    /// It loads nothing.
    #[error("static program: it loads no libraries")]
    Static,
    /// It is not a program.
    #[error("shared library (no interpreter); only programs can be bound")]
    Library,
    /// An interpreter with unknown rules.
    #[error("unsupported interpreter `{0}`: neither glibc's nor musl's")]
    Interpreter(String),
    /// Already bound.
    #[error("already bound (mode {mode}{})", farm.as_ref().map(|farm| format!(", links in `{farm}`")).unwrap_or_default())]
    AlreadyBound {
        /// Its mode.
        mode: &'static str,
        /// The link directory's name on the search path.
        farm: Option<String>,
    },
    /// A library is missing now.
    #[error("`{library}`, needed by `{}`, is not found{}", needed_by.display(), more(*others))]
    Missing {
        /// The requested name.
        library: String,
        /// The requester.
        needed_by: PathBuf,
        /// Number of further missing ones.
        others: usize,
    },
    /// The loader stops at a file.
    #[error("the loader would stop at `{}`, found for `{library}`: {reason}", path.display())]
    WouldStop {
        /// The requested name.
        library: String,
        /// The file; empty if the name itself is refused.
        path: PathBuf,
        /// The reason.
        reason: ProbeFailure,
    },
    /// Not supported with musl.
    #[error("musl's loader cannot be bound in mode {mode}: {reason}")]
    Musl {
        /// The mode.
        mode: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// The program gains privileges at start.
    #[error("it gains privileges at start (set-user-ID, set-group-ID or capabilities)")]
    Secure,
    /// The program gains privileges, and the mode cannot be safe or work at all.
    #[error("it gains privileges at start, and {0}")]
    SecureMode(&'static str),
    /// The program gains privileges, and other users can change the link directory.
    #[error("it gains privileges at start, and users other than root can write to `{}`", .0.display())]
    FarmNotSafe(PathBuf),
    /// A path that cannot be on a search path.
    #[error("`{0}` cannot be on a search path: it contains {1}")]
    PathText(String, &'static str),
    /// A name or path that is not UTF-8 and cannot be stored in the note.
    #[error("`{0}` is not UTF-8 and cannot be stored in the note")]
    NotUtf8(String),
    /// A name with a token but no slash.
    #[error("`{0}` contains a `$` token, which changes the name when it is loaded")]
    TokenInName(String),
    /// A library found by a relative path.
    #[error("`{library}` is found as `{}`, a path relative to the current directory", path.display())]
    RelativePath {
        /// The requested name.
        library: String,
        /// The path.
        path: PathBuf,
    },
    /// The option's directory is not absolute.
    #[error("`{}` is not an absolute path", .0.display())]
    NotAbsolute(PathBuf),
    /// An option is missing for the mode.
    #[error("mode audit requires the path of the auditing library")]
    NoAuditLibrary,
    /// There is no auditing library for programs of this architecture.
    #[error("no auditing library for its architecture (e_machine {machine})")]
    NoAuditArchitecture {
        /// `e_machine` of the ELF header.
        machine: u16,
    },
    /// A result exceeds the limits of the auditing library's table.
    #[error("{0}")]
    AuditTable(String),
    /// A library in a directory of the scheme before levels is preferred.
    #[error("`{library}` is found in `{}`, a subdirectory searched only by glibc up to 2.36", path.display())]
    LegacyDirectory {
        /// The requested name.
        library: String,
        /// Its directory.
        path: PathBuf,
    },
    /// Processors of different levels load other names or another order.
    #[error("at processor level {level} it loads `{there}` instead of `{here}`")]
    LevelsDiffer {
        /// The level.
        level: String,
        /// The name at that level.
        there: String,
        /// The name without the level.
        here: String,
    },
    /// Paths in the program would select one level for all machines.
    #[error("`{library}` has variants for processor levels, but a path selects only one")]
    LevelVariants {
        /// The requested name.
        library: String,
    },
    /// A library has `DT_FILTER` or `DT_AUXILIARY`.
    #[error("`{}` uses DT_FILTER or DT_AUXILIARY, which are not supported", .0.display())]
    Filter(PathBuf),
    /// The planned program would load something else.
    #[error("bound, it would load {would_be} at position {place} instead of {was}")]
    OrderWouldChange {
        /// Position of the object, 1 for the first after the program.
        place: usize,
        /// The object now.
        was: String,
        /// The object then.
        would_be: String,
    },
    /// A name would resolve to another file.
    #[error("bound, `{library}` for `{}` would be {would_be} instead of {was}", needed_by.display())]
    AnswerWouldChange {
        /// The name.
        library: String,
        /// The requester.
        needed_by: PathBuf,
        /// The file now.
        was: String,
        /// The file then.
        would_be: String,
    },
    /// A library that must keep its path would lose it.
    #[error("bound, `{}` would be opened as `{}`, but it locates other files by its own path", was.display(), would_be.display())]
    PathWouldChange {
        /// Its path now.
        was: PathBuf,
        /// Its path then.
        would_be: PathBuf,
    },
    /// An unexpected failed probe.
    #[error("bound, `{library}` would still be searched at `{}`", path.display())]
    StillSearched {
        /// The name.
        library: String,
        /// The path.
        path: PathBuf,
    },
    /// Nothing to gain.
    #[error("it needs no libraries besides its interpreter")]
    NothingToBind,
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more)") }
}

impl Refusal {
    /// A stable short name for scripts.
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

    /// A hint, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AlreadyBound { .. } => "undo it with `coldstart unbind`, or bind again with `--rebind`",
            Self::Missing { .. } => {
                "`coldstart resolve` shows the search; the program must start before it can be bound"
            }
            Self::WouldStop { .. } => "the program does not start now; `coldstart resolve` shows why",
            Self::Musl { .. } | Self::NoAuditArchitecture { .. } | Self::AuditTable(_) => "use mode soname",
            Self::Secure => "if only root can write to the link directory, use `--allow-setuid`",
            Self::SecureMode(_) => "use mode soname or absolute with `--allow-setuid`",
            Self::FarmNotSafe(_) => {
                "with `--farm`, give a directory that, like all its parents, is owned and writable by root only"
            }
            Self::PathText(..) => "give another directory with `--farm`",
            Self::RelativePath { .. } => {
                "replace relative and empty elements of the search path with absolute ones or `$ORIGIN`"
            }
            Self::NotAbsolute(_) => "give an absolute path",
            Self::LegacyDirectory { .. } => {
                "move the library to a directory under glibc-hwcaps/, searched by every glibc since 2.33"
            }
            Self::LevelsDiffer { .. } | Self::LevelVariants { .. } => {
                "restrict the levels: `--levels none` for the plain libraries, or the levels of the target machines"
            }
            Self::PathWouldChange { .. } | Self::OrderWouldChange { .. } | Self::AnswerWouldChange { .. } => {
                "`coldstart resolve` shows the rule for each library; mode audit keeps the order"
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
