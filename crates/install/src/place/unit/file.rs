//! A unit as systemd reads it: its file, and the drop-ins, in the order in which they count (`systemd.unit(5)`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::InstallError;
use crate::file::read_regular;
use crate::place::systemd_word::{SPACE, ends_with_escape};

/// The name of our drop-in.
pub(super) const OURS: &str = "coldstart.conf";

/// What a service says, with the drop-ins of others, without ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    /// The unit's file, then its drop-ins.
    pub(super) sources: Vec<PathBuf>,
    /// All values of `ExecStart=` since it was last reset.
    pub(super) exec_start: Vec<String>,
    /// Whether a drop-in that sorts after ours sets `ExecStart=`.
    pub(super) is_overridden_by: Option<PathBuf>,
    /// The last value of every other key of `[Service]`; lists joined by spaces.
    keys: BTreeMap<String, String>,
}

impl Service {
    /// The value of a key; empty if it is not set.
    pub(super) fn value(&self, key: &str) -> &str {
        self.keys.get(key).map_or("", String::as_str)
    }

    fn read(&mut self, path: PathBuf) -> Result<(), InstallError> {
        let real = path.canonicalize().map_err(InstallError::io("read", &path))?;
        let bytes = read_regular(&real).map_err(InstallError::io("read", &path))?;
        let is_after_ours = path.file_name().is_some_and(|name| name > OURS) && !self.sources.is_empty();
        for (key, value) in service_keys(&String::from_utf8_lossy(&bytes)) {
            match (key.as_str(), value.is_empty()) {
                ("ExecStart", true) => self.exec_start.clear(),
                ("ExecStart", false) => {
                    self.exec_start.push(value);
                    self.is_overridden_by = is_after_ours.then(|| path.clone()).or(self.is_overridden_by.take());
                }
                (_, true) => {
                    self.keys.remove(&key);
                }
                ("SystemCallFilter" | "NoExecPaths", false) => {
                    let list = self.keys.entry(key).or_default();
                    list.push_str(&value);
                    list.push(' ');
                }
                (_, false) => {
                    self.keys.insert(key, value);
                }
            }
        }
        self.sources.push(path);
        Ok(())
    }
}

/// Finds a unit and its drop-ins; `None` if there is none of this name.
pub(super) fn find(name: &str, search: &[PathBuf]) -> Result<Option<Service>, InstallError> {
    let template = template_of(name);
    let names: Vec<&str> = std::iter::once(name).chain(template.as_deref()).collect();
    let in_all = |names: &[&str], ending: &str| -> Vec<PathBuf> {
        let paths = names.iter().flat_map(|name| search.iter().map(move |at| at.join(format!("{name}{ending}"))));
        paths.collect()
    };
    let Some(file) = in_all(&names, "").into_iter().find(|path| path.is_file()) else { return Ok(None) };
    // By name over all directories; of those with one name, that of the first directory counts.
    let mut drop_ins: BTreeMap<std::ffi::OsString, PathBuf> = BTreeMap::new();
    let general = ["service"];
    for directory in in_all(&names, ".d").into_iter().chain(in_all(&general, ".d")) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_conf = path.extension().is_some_and(|ending| ending == "conf");
            if is_conf && entry.file_name() != OURS {
                drop_ins.entry(entry.file_name()).or_insert(path);
            }
        }
    }
    let mut service = Service::default();
    service.read(file)?;
    // One that is a link to /dev/null is masked.
    for path in drop_ins.into_values().filter(|path| path.is_file()) {
        service.read(path)?;
    }
    Ok(Some(service))
}

/// `a@.service` of `a@b.service`.
fn template_of(name: &str) -> Option<String> {
    let (before, after) = name.split_once('@')?;
    let instance = after.strip_suffix(".service")?;
    (!instance.is_empty()).then(|| format!("{before}@.service"))
}

/// The settings of `[Service]`, in order, with continued lines joined.
pub(in crate::place) fn service_keys(text: &str) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    let mut section = String::new();
    let mut begun = String::new();
    for line in text.lines() {
        let line = line.trim_start_matches(SPACE);
        // Comments may stand between continued lines.
        if line.starts_with(['#', ';']) {
            continue;
        }
        if ends_with_escape(line) {
            begun.push_str(line.strip_suffix('\\').unwrap_or_default());
            begun.push(' ');
            continue;
        }
        let whole = std::mem::take(&mut begun) + line;
        let whole = whole.trim_end_matches(SPACE);
        if let Some(name) = whole.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, value)) = whole.split_once('=').filter(|_| section == "Service") {
            keys.push((key.trim_matches(SPACE).to_owned(), value.trim_matches(SPACE).to_owned()));
        }
    }
    keys
}

/// The path of our drop-in.
pub(super) fn drop_in(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.d")).join(OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_systemd_does() {
        let text =
            "[Unit]\nExecStart=no\n[Service]\n# x\nType = notify\nExecStart=/a \\\n  # between\n  b\nExecStart=\n";
        let keys = service_keys(text);
        let expected = [("Type", "notify"), ("ExecStart", "/a  b"), ("ExecStart", "")];
        assert_eq!(keys, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        // Neither is the first line continued, nor the second; a form feed is no space.
        let keys = service_keys("[Service]\nA=1 \\ \nB=2\\\\\nC=3\x0c\n");
        let expected = [("A", "1 \\"), ("B", "2\\\\"), ("C", "3\x0c")];
        assert_eq!(keys, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(template_of("a@b.service").as_deref(), Some("a@.service"));
        assert_eq!((template_of("a@.service"), template_of("a.service")), (None, None));
    }
}
