//! The places at which people start programs, and what would be written there. Nothing here writes.
//!
//! | place | file |
//! |---|---|
//! | a wrapper in a directory of the `PATH` | `wrapper.rs` |
//! | a copy of a desktop entry | `desktop/` |
//! | a drop-in of a systemd unit | `unit/` |
//! | reading the plan after login | `login.rs` |
//! | recording again after upgrades | `upgrades.rs`; `upkeep_unit.rs` |
//! | an image mounted for all users | `mount.rs` |
//! | a module of Environment Modules and Lmod | `modulefile.rs` |
//! | the entry point of a container image | `container.rs` |
//! | the shell scripts that start a program with its plan | `script.rs` |
//! | words of systemd's command lines, and paths that it refuses | `systemd_word.rs` |
//!
//! What is planned is written, checked and undone in one way for all places, in `transaction.rs` and `file/`.

pub mod container;
mod desktop;
#[doc(hidden)]
pub mod fuzzing;
mod login;
mod modulefile;
mod mount;
mod script;
mod systemd_word;
mod unit;
mod upgrades;
mod upkeep_unit;
mod wrapper;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::directories::Directories;
use crate::error::InstallError;
use crate::file::PlannedFile;
pub use crate::manifest::MOUNT;
use crate::registry::Installation;
use crate::shared::PlannedShared;
use crate::transaction::DraftPlace;

pub use desktop::Desktop;
pub use login::{LOGIN, Login};
pub use modulefile::ModuleFile;
pub use mount::{Mount, unit_of};
pub use script::starter;
pub use unit::Unit;
pub use upgrades::{UPGRADES, Upgrades};
pub use wrapper::Wrapper;

/// What is installed.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name of the installation.
    pub name: &'a OsStr,
    /// The program: an absolute path, under the name by which it is started.
    pub program: &'a Path,
    /// The arguments of the recorded start.
    pub arguments: &'a [OsString],
    /// What the launcher starts it with.
    pub start_with: StartWith,
    /// The program that replays the plan, or starts from the image or with the index.
    pub launcher: &'a Path,
    /// The ways in which it does so: the first one of which nothing is missing is used.
    pub ways: &'a [StartWay],
    /// The paths of the installation.
    pub installation: &'a Installation,
    /// Where things are.
    pub directories: &'a Directories,
    /// What units need to know.
    pub system: &'a SystemFacts,
}

/// What a launcher starts a program with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartWith {
    /// A prefetch plan.
    #[default]
    Plan,
    /// A start image.
    Image,
    /// An index of modules alone; it may be there with the others, too.
    Index,
}

/// A way in which a launcher starts a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartWay {
    /// Files that it needs: plan, image, the index's manifest.
    pub needs: Vec<PathBuf>,
    /// The launcher's arguments before `--` and the program.
    pub words: Vec<OsString>,
}

/// What units that keep plans in use and up to date need to know of the system.
#[derive(Clone, Debug, Default)]
pub struct SystemFacts {
    /// The program `coldstart`, which they start: an absolute path.
    pub coldstart: PathBuf,
    /// Files and directories that change with every upgrade of a package.
    pub package_databases: Vec<PathBuf>,
    /// Whether systemd is the service manager that runs (`sd_booted(3)`).
    pub systemd_runs: bool,
}

/// What would be written at a place.
#[derive(Clone, Debug, Default)]
pub struct PlannedPlace {
    /// The files.
    pub files: Vec<PlannedFile>,
    /// Files to be written unless another installation has.
    pub shared: Vec<PlannedShared>,
    /// The program that a unit of this place starts, if that is not the launcher.
    pub starts: Option<PathBuf>,
    /// Files that they need within the installation's own directory.
    pub own_files: Vec<PlannedFile>,
    /// The files that they are made from.
    pub sources: Vec<PathBuf>,
    /// What it is and for whom, as a clause: "`/usr/local/bin/soffice` for all users".
    pub summary: String,
    /// What the user has to do after the place is written or undone: a command.
    pub afterwards: Option<String>,
    /// What the user has to do after it is undone, if that is something else.
    pub after_undoing: Option<String>,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// A place at which people start programs.
pub trait Place {
    /// As it is asked for: "wrapper", "unit=a.service".
    fn words(&self) -> OsString;

    /// What would be written for this program. Reads what it is made from; writes nothing.
    ///
    /// # Errors
    /// If the place does not start this program, or could not do so any more; with the reason.
    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError>;
}

/// A place by its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceChoice {
    /// `wrapper`, `wrapper=DIRECTORY`.
    Wrapper(Wrapper),
    /// `desktop`, `desktop=ID`.
    Desktop(Desktop),
    /// `unit=UNIT`.
    Unit(Unit),
    /// `modulefile=DIRECTORY`.
    ModuleFile(ModuleFile),
    /// `login`.
    Login(Login),
    /// `upgrades`.
    Upgrades(Upgrades),
    /// `mount`.
    Mount(Mount),
}

impl PlaceChoice {
    /// Reads a place from its words.
    ///
    /// # Errors
    /// If there is no such place, or its value is missing or does not fit.
    pub fn parse(words: &OsStr) -> Result<Self, InstallError> {
        let bytes = words.as_bytes();
        let mut parts = bytes.splitn(2, |byte| *byte == b'=');
        let kind = parts.next().unwrap_or_default();
        let value = parts.next().map(|value| OsString::from_vec(value.to_vec()));
        let refused = |reason: &str| {
            let hint = "the places are `wrapper`, `wrapper=DIRECTORY`, `desktop`, `desktop=ID`, `unit=UNIT`, \
                        `modulefile=DIRECTORY`, `login`, `upgrades` and `mount`";
            InstallError::refused(format!("`{}`", coldstart_profile::printable(Path::new(words))), reason, Some(hint))
        };
        if value.as_ref().is_some_and(|value| value.is_empty()) {
            return Err(refused("nothing follows `=`"));
        }
        let directory =
            |value: OsString| std::path::absolute(&value).map_err(|_| refused("the working directory is not known"));
        match (kind, value) {
            (b"wrapper", None) => Ok(Self::Wrapper(Wrapper { directory: None })),
            (b"wrapper", Some(value)) => Ok(Self::Wrapper(Wrapper { directory: Some(directory(value)?) })),
            (b"desktop", None) => Ok(Self::Desktop(Desktop { id: None })),
            (b"desktop", Some(value)) => match value.into_string() {
                Ok(id) if !id.contains('/') => Ok(Self::Desktop(Desktop { id: Some(id) })),
                _ => Err(refused("a desktop entry is named by its id, such as `org.gnome.Maps.desktop`")),
            },
            (b"unit", Some(value)) => match value.into_string() {
                Ok(unit) if unit.ends_with(".service") && !unit.contains('/') => Ok(Self::Unit(Unit { name: unit })),
                _ => Err(refused("a unit is named as `systemctl` names it, such as `nginx.service`")),
            },
            (b"modulefile", Some(value)) => Ok(Self::ModuleFile(ModuleFile { directory: directory(value)? })),
            (b"login", None) => Ok(Self::Login(Login)),
            (b"upgrades", None) => Ok(Self::Upgrades(Upgrades)),
            (b"mount", None) => Ok(Self::Mount(Mount)),
            (b"login" | b"upgrades" | b"mount", Some(_)) => Err(refused("it has no value")),
            (b"unit" | b"modulefile", None) => Err(refused("it needs a value")),
            _ => Err(refused("there is no such place")),
        }
    }

    /// Whether it starts the program with a plan, an index or from an image, or reads a plan.
    pub fn needs_plan(&self) -> bool {
        !matches!(self, Self::Upgrades(_))
    }

    fn place(&self) -> &dyn Place {
        match self {
            Self::Wrapper(place) => place,
            Self::Desktop(place) => place,
            Self::Unit(place) => place,
            Self::ModuleFile(place) => place,
            Self::Login(place) => place,
            Self::Upgrades(place) => place,
            Self::Mount(place) => place,
        }
    }
}

impl Place for PlaceChoice {
    fn words(&self) -> OsString {
        self.place().words()
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        self.place().plan(subject)
    }
}

/// The places for a program for which none is asked for: its desktop entries, if there are any, and a wrapper.
pub fn default_places(subject: &Subject<'_>) -> Vec<PlaceChoice> {
    let wrapper = PlaceChoice::Wrapper(Wrapper { directory: None });
    match desktop::starts(subject) {
        true => vec![PlaceChoice::Desktop(Desktop { id: None }), wrapper],
        false => vec![wrapper],
    }
}

/// The script within the installation that places start the program with.
pub fn starter_file(subject: &Subject<'_>) -> PlannedFile {
    PlannedFile { path: subject.installation.starter(), bytes: starter(subject, None), mode: 0o755 }
}

impl PlannedPlace {
    /// As part of a draft.
    pub fn draft(&self, place: OsString) -> DraftPlace {
        DraftPlace {
            place,
            files: self.files.clone(),
            shared: self.shared.clone(),
            starts: self.starts.clone(),
            sources: self.sources.clone(),
            afterwards: self.afterwards.clone(),
            after_undoing: self.after_undoing.clone(),
        }
    }
}

/// Whether two paths lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The file for a program's name in a list of directories, as a shell finds it, leaving out `except`.
fn find_in(path: Option<&OsStr>, name: &OsStr, except: Option<&Path>) -> Option<PathBuf> {
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let found = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut found = found.map(|directory| directory.join(name));
    found.find(|file| except != Some(file.as_path()) && is_executable(file))
}

fn is_executable(path: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    path.is_file() && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_their_words_and_back() {
        for words in [
            "wrapper",
            "wrapper=/opt/bin",
            "desktop",
            "desktop=a.desktop",
            "unit=a@b.service",
            "modulefile=/m",
            "login",
            "upgrades",
            "mount",
        ] {
            assert_eq!(PlaceChoice::parse(OsStr::new(words)).unwrap().words(), words);
        }
        for words in [
            "",
            "wrap",
            "wrapper=",
            "desktop=a/b",
            "unit",
            "unit=a.timer",
            "unit=/a.service",
            "modulefile",
            "=",
            "login=x",
        ] {
            let error = PlaceChoice::parse(OsStr::new(words)).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("modulefile=DIRECTORY")), "{words}: {error}");
        }
    }
}
