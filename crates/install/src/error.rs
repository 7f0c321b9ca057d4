//! Why something cannot be installed, undone or read, with advice.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

/// Why something cannot be installed, undone or read.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The system's error.
    #[error("cannot {doing} `{}`: {source}", printable(path))]
    Io {
        /// The verb: "write".
        doing: &'static str,
        /// Which file or directory.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A directory is not known, because a variable is not set.
    #[error("cannot determine the directories of this user: {variable} is not set")]
    NoHome {
        /// The variable.
        variable: &'static str,
    },
    /// Another process writes to the registry, and does not end.
    #[error("another coldstart has been changing the installations in `{}` for {seconds} s", printable(registry))]
    Busy {
        /// The registry.
        registry: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// The registry belongs to another user.
    #[error("`{}` belongs to another user (uid {owner})", printable(registry))]
    OfAnotherUser {
        /// The registry.
        registry: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A name that cannot be that of an installation.
    #[error("`{}` cannot be the name of an installation", printable(Path::new(name)))]
    Name {
        /// As given.
        name: std::ffi::OsString,
    },
    /// The name is in use for another program.
    #[error("`{}` is already the installation of `{}`", printable(Path::new(name)), printable(program))]
    NameInUse {
        /// The name.
        name: std::ffi::OsString,
        /// The other program.
        program: PathBuf,
    },
    /// Nothing of this name is installed.
    #[error("no installation is called `{}`", printable(Path::new(name)))]
    NotInstalled {
        /// As given.
        name: std::ffi::OsString,
    },
    /// A manifest of a later version.
    #[error("`{}` has the format `{schema}`, which this version of coldstart does not know", printable(path))]
    NewerManifest {
        /// The manifest.
        path: PathBuf,
        /// Its schema.
        schema: String,
    },
    /// A manifest that is damaged.
    #[error("cannot read the manifest `{}`: {reason}", printable(path))]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A place refuses the program.
    #[error("cannot install into {place}: {reason}")]
    Refused {
        /// Which place: "the unit `a.service`".
        place: String,
        /// The reason, as a clause.
        reason: String,
        /// What to do instead.
        hint: Option<String>,
    },
    /// Something other than a file is where a file would be written.
    #[error("cannot write `{}`: it is not a regular file", printable(path))]
    Special {
        /// The path.
        path: PathBuf,
    },
    /// A file changed between planning and writing.
    #[error("`{}` was changed by another process meanwhile", printable(path))]
    ChangedMeanwhile {
        /// The path.
        path: PathBuf,
    },
    /// Another installation wrote this file.
    #[error("`{}` belongs to the installation `{}`", printable(path), printable(Path::new(name)))]
    PlaceInUse {
        /// The file.
        path: PathBuf,
        /// The other installation.
        name: std::ffi::OsString,
    },
    /// Installing failed, and so did undoing what was written.
    #[error("{error}; what was written could not be undone: {undoing}")]
    NotUndone {
        /// Why it was not installed.
        error: Box<Self>,
        /// Why something of it stays.
        undoing: Box<Self>,
    },
    /// The part that replaces files failed.
    #[error("cannot {doing} `{}`: {reason}", printable(path))]
    Replacer {
        /// The verb: "replace", "restore".
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl InstallError {
    /// The system's error at a path.
    pub fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }

    /// A place refuses the program.
    pub fn refused(place: impl Into<String>, reason: impl Into<String>, hint: Option<&str>) -> Self {
        Self::Refused { place: place.into(), reason: reason.into(), hint: hint.map(str::to_owned) }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "install for yourself with `--user`, or choose another place with `--place`".to_owned()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space there".to_owned(),
                _ => return None,
            },
            Self::NoHome { .. } => "set HOME to your home directory".to_owned(),
            Self::Busy { .. } => "repeat the command when it has ended".to_owned(),
            Self::OfAnotherUser { .. } => {
                "run the command as that user; `sudo -H` sets HOME to root's own directory".to_owned()
            }
            Self::Name { .. } => "give it a name without `/` that does not begin with a dot: `--name`".to_owned(),
            Self::NameInUse { .. } => "give this one another name: `--name`".to_owned(),
            Self::NotInstalled { .. } => "`coldstart installed` lists the installations".to_owned(),
            Self::NewerManifest { .. } => "use the version of coldstart that installed it".to_owned(),
            Self::Manifest { .. } => "`coldstart installed --repair` says what is left of it".to_owned(),
            Self::Refused { hint, .. } => return hint.clone(),
            Self::Special { .. } => "move it away first".to_owned(),
            Self::ChangedMeanwhile { .. } => "repeat the command".to_owned(),
            Self::PlaceInUse { name, .. } => {
                format!(
                    "undo that one first: `coldstart installed {} --uninstall`",
                    coldstart_profile::shell_word(name)
                )
            }
            Self::NotUndone { .. } => {
                "`coldstart installed` shows what is left, and `coldstart installed NAME --uninstall` undoes it"
                    .to_owned()
            }
            Self::Replacer { .. } => return None,
        })
    }
}

coldstart_hint::hinted!(InstallError);
