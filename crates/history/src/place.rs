//! The history's default path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variables that decide. An empty one counts as unset, as in the XDG base directory specification.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `COLDSTART_HISTORY`: the file itself.
    pub history: Option<OsString>,
    /// `XDG_DATA_HOME`: must be absolute, or it is ignored (XDG base directory specification 0.8).
    pub data_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name);
        Self { history: variable("COLDSTART_HISTORY"), data_home: variable("XDG_DATA_HOME"), home: variable("HOME") }
    }
}

/// The history's file: `$COLDSTART_HISTORY`, else `$XDG_DATA_HOME/coldstart/history.sqlite`, else
/// `$HOME/.local/share/coldstart/history.sqlite`; `None` if none of them is set.
pub fn default_path(surroundings: &Surroundings) -> Option<PathBuf> {
    let set = |value: &Option<OsString>| value.clone().filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = set(&surroundings.history) {
        return Some(file);
    }
    let data = set(&surroundings.data_home).filter(|directory| directory.is_absolute());
    let data = data.or_else(|| Some(set(&surroundings.home)?.join(".local/share")))?;
    Some(data.join(Path::new("coldstart/history.sqlite")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_setting_wins() {
        let path = |history: &str, data_home: &str, home: &str| {
            let value = |text: &str| (text != "-").then(|| text.into());
            let surroundings = Surroundings { history: value(history), data_home: value(data_home), home: value(home) };
            default_path(&surroundings).map(|path| path.display().to_string())
        };
        assert_eq!(path("h.db", "/data", "/home/u").as_deref(), Some("h.db"));
        assert_eq!(path("-", "/data", "/home/u").as_deref(), Some("/data/coldstart/history.sqlite"));
        assert_eq!(path("", "", "/home/u").as_deref(), Some("/home/u/.local/share/coldstart/history.sqlite"));
        assert_eq!(path("-", "data", "/h").as_deref(), Some("/h/.local/share/coldstart/history.sqlite"));
        assert_eq!(path("-", "-", "-"), None);
        assert_eq!(path("-", "-", ""), None);
    }
}
