//! Where installations are recorded, and where each kind of place is: for the whole system, or for one user.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::InstallError;

/// For whom something is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All users of this system.
    System,
    /// One user.
    User,
}

/// The environment variables that decide. An empty one counts as unset, as in the XDG base directory specification.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<OsString>,
    /// `XDG_DATA_HOME`; a relative one is ignored.
    pub data_home: Option<OsString>,
    /// `XDG_CONFIG_HOME`; a relative one is ignored.
    pub config_home: Option<OsString>,
    /// `XDG_DATA_DIRS`.
    pub data_dirs: Option<OsString>,
    /// `PATH`.
    pub path: Option<OsString>,
}

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            home: variable("HOME"),
            data_home: variable("XDG_DATA_HOME"),
            config_home: variable("XDG_CONFIG_HOME"),
            data_dirs: variable("XDG_DATA_DIRS"),
            path: variable("PATH"),
        }
    }
}

/// The directories of a scope.
#[derive(Clone, Debug)]
pub struct Directories {
    /// For whom.
    pub scope: Scope,
    /// A directory for each installation.
    pub registry: PathBuf,
    /// Where wrappers are put.
    pub wrappers: PathBuf,
    /// Where desktop entries are put.
    pub applications: PathBuf,
    /// Where drop-ins of units are put: of the system's units, or of the user's.
    pub units: PathBuf,
    /// Where units of users' service managers are put: of all users, or of this one.
    pub user_units: PathBuf,
    /// Desktop entries are searched here, the first directory first.
    pub applications_search: Vec<PathBuf>,
    /// Unit files are searched here, the first directory first.
    pub units_search: Vec<PathBuf>,
    /// `PATH`, in which programs are searched.
    pub path: Option<OsString>,
}

const DEFAULT_DATA_DIRS: &str = "/usr/local/share:/usr/share";
/// `systemd.unit(5)`, "System Unit Search Path", without what generators make.
const SYSTEM_UNITS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
/// `systemd.unit(5)`, "User Unit Search Path", below the user's own directories.
const USER_UNITS: [&str; 4] =
    ["etc/systemd/user", "run/systemd/user", "usr/local/lib/systemd/user", "usr/lib/systemd/user"];

impl Directories {
    /// Those of the system below `root`.
    pub fn system(root: &Path, environment: &Environment) -> Self {
        let mut applications_search = vec![root.join("usr/local/share/applications")];
        applications_search.extend(data_dirs(environment));
        applications_search.dedup();
        Self {
            scope: Scope::System,
            registry: root.join("var/lib/coldstart/installed"),
            wrappers: root.join("usr/local/bin"),
            applications: root.join("usr/local/share/applications"),
            units: root.join("etc/systemd/system"),
            user_units: root.join("etc/systemd/user"),
            applications_search,
            units_search: SYSTEM_UNITS.iter().map(|directory| root.join(directory)).collect(),
            path: environment.path.clone(),
        }
    }

    /// Those of a user.
    ///
    /// # Errors
    /// Without `HOME`.
    pub fn user(environment: &Environment) -> Result<Self, InstallError> {
        let home = environment.home.as_ref().map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.ok_or(InstallError::NoHome { variable: "HOME" })?;
        let own = |variable: &Option<OsString>, default: &str| {
            let set = variable.as_ref().map(PathBuf::from).filter(|directory| directory.is_absolute());
            set.unwrap_or_else(|| home.join(default))
        };
        let data = own(&environment.data_home, ".local/share");
        let config = own(&environment.config_home, ".config");
        let applications = data.join("applications");
        let units = config.join("systemd/user");
        let mut units_search = vec![units.clone(), data.join("systemd/user")];
        units_search.extend(USER_UNITS.iter().map(|directory| Path::new("/").join(directory)));
        Ok(Self {
            scope: Scope::User,
            registry: data.join("coldstart/installed"),
            wrappers: home.join(".local/bin"),
            applications_search: std::iter::once(applications.clone()).chain(data_dirs(environment)).collect(),
            applications,
            user_units: units.clone(),
            units,
            units_search,
            path: environment.path.clone(),
        })
    }

    /// "all users", "this user".
    pub fn for_whom(&self) -> &'static str {
        match self.scope {
            Scope::System => "all users",
            Scope::User => "this user",
        }
    }
}

fn data_dirs(environment: &Environment) -> Vec<PathBuf> {
    let dirs = environment.data_dirs.as_deref().unwrap_or(OsStr::new(DEFAULT_DATA_DIRS));
    let absolute = std::env::split_paths(dirs).filter(|directory| directory.is_absolute());
    absolute.map(|directory| directory.join("applications")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_directories_follow_the_variables() {
        let of = |home: &str, data: &str| {
            let set = |text: &str| (!text.is_empty()).then(|| text.into());
            Directories::user(&Environment { home: set(home), data_home: set(data), ..Environment::default() })
        };
        assert_eq!(of("/h", "").unwrap().registry, Path::new("/h/.local/share/coldstart/installed"));
        assert_eq!(of("/h", "/d").unwrap().applications, Path::new("/d/applications"));
        assert_eq!(of("/h", "d").unwrap().applications, Path::new("/h/.local/share/applications"));
        assert_eq!(of("/h", "").unwrap().units, Path::new("/h/.config/systemd/user"));
        assert!(matches!(of("", "/d"), Err(InstallError::NoHome { .. })));
        assert!(matches!(of("h", ""), Err(InstallError::NoHome { .. })));
    }
}
