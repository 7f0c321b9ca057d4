//! The process's environment: directories, variables, mount table.

use std::path::{Path, PathBuf};

use coldstart_host::mounts::{Mounts, TABLE};

use crate::root::{MOST, Root};

/// The process's environment.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// The working directory.
    pub working_directory: Option<PathBuf>,
    /// `DISPLAY`.
    pub display: Option<String>,
    /// `WAYLAND_DISPLAY`.
    pub wayland: Option<String>,
    /// `container`, which systemd and others set in containers.
    pub container: Option<String>,
    /// The mount table.
    pub mounts: Mounts,
}

impl Surroundings {
    /// Those of this process.
    pub fn here() -> Self {
        let word = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name| word(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            home: word("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            working_directory: std::env::current_dir().ok(),
            display: text("DISPLAY"),
            wayland: text("WAYLAND_DISPLAY"),
            container: text("container"),
            mounts: Self::mounts_of(Path::new("/")),
        }
    }

    /// The mount table below a root.
    pub fn mounts_of(root: &Path) -> Mounts {
        Root::new(root).bytes(TABLE, MOST).map(|table| Mounts::parse(&table)).unwrap_or_default()
    }

    /// The places whose file systems matter: programs, the user's files, temporary files, and the working directory.
    pub fn places(&self) -> Vec<(&'static str, PathBuf)> {
        let mut places = vec![("usr", PathBuf::from("/usr"))];
        let more = [
            ("home", self.home.clone()),
            ("tmp", Some(PathBuf::from("/tmp"))),
            ("here", self.working_directory.clone()),
        ];
        for (name, path) in more.into_iter().filter_map(|(name, path)| Some((name, path?))) {
            if !places.iter().any(|(_, known)| *known == path) {
                places.push((name, path));
            }
        }
        places
    }
}
