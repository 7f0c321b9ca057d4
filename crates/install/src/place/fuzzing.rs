//! Parsers of files that others wrote, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API.

use super::desktop::entry;
use super::unit::exec_line::ExecLine;
use super::unit::file::service_keys;

/// What counts in a desktop entry: the program of its command line, whether that can be started, the actions without a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesktopFacts {
    /// The program, as it is named.
    pub program: Option<String>,
    /// `Type=Application`, not hidden.
    pub is_application: bool,
    /// Started through D-Bus.
    pub is_dbus_activatable: bool,
    /// Actions without a command line of their own.
    pub actions_without_exec: Vec<String>,
}

/// Reads a desktop entry.
pub fn desktop_entry(text: &str) -> DesktopFacts {
    let entry = entry::parse(text);
    DesktopFacts {
        program: entry.exec.and_then(|exec| exec.program()),
        is_application: entry.is_application && !entry.is_hidden,
        is_dbus_activatable: entry.is_dbus_activatable,
        actions_without_exec: entry.actions_without_exec,
    }
}

/// The entry with the command `starter program` in the place of each program, below a comment.
pub fn changed_desktop_entry(text: &str, starter: &str, program: &str) -> String {
    entry::changed(text, "changed", |exec| exec.started_by(starter, program))
}

/// The program of each `ExecStart=` of a systemd service, and the value with a starter in front; `None` where there cannot be one.
pub fn service(text: &str, starter: &str) -> Vec<(String, Option<String>)> {
    let values = service_keys(text).into_iter().filter(|(key, _)| key == "ExecStart");
    let lines = values.filter_map(|(_, value)| ExecLine::parse(&value));
    lines.map(|line| (line.program(), line.started_by(starter, None).ok())).collect()
}
