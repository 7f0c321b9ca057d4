//! A desktop entry as lines: what counts in it, and the same entry with another program in front.

use super::exec::Exec;

/// What a desktop entry says.
#[derive(Clone, Debug, Default)]
pub(in crate::place) struct Entry {
    /// `Exec` of the entry itself.
    pub(in crate::place) exec: Option<Exec>,
    pub(in crate::place) is_application: bool,
    /// The entry counts as deleted.
    pub(in crate::place) is_hidden: bool,
    /// It is started through D-Bus.
    pub(in crate::place) is_dbus_activatable: bool,
    /// Actions without a command line of their own.
    pub(in crate::place) actions_without_exec: Vec<String>,
}

/// A line.
enum Line<'a> {
    Group(&'a str),
    Key(&'a str, &'a str),
    Other,
}

fn read(line: &str) -> Line<'_> {
    let trimmed = line.trim();
    if trimmed.starts_with('#') {
        return Line::Other;
    }
    if let Some(group) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Line::Group(group);
    }
    match trimmed.split_once('=') {
        Some((key, value)) => Line::Key(key.trim_end(), value.trim_start()),
        None => Line::Other,
    }
}

const MAIN: &str = "Desktop Entry";
const ACTION: &str = "Desktop Action ";

/// Reads a desktop entry.
pub(in crate::place) fn parse(text: &str) -> Entry {
    let mut entry = Entry::default();
    let mut group = "";
    let mut open_action: Option<&str> = None;
    for line in text.lines() {
        match (read(line), group) {
            (Line::Group(name), _) => {
                entry.actions_without_exec.extend(open_action.take().map(str::to_owned));
                group = name;
                open_action = name.strip_prefix(ACTION);
            }
            (Line::Key("Exec", value), MAIN) => entry.exec = Exec::parse(value),
            (Line::Key("Type", value), MAIN) => entry.is_application = value == "Application",
            (Line::Key("Hidden", value), MAIN) => entry.is_hidden = value == "true",
            (Line::Key("DBusActivatable", value), MAIN) => entry.is_dbus_activatable = value == "true",
            (Line::Key("Exec", _), _) => open_action = None,
            _ => {}
        }
    }
    entry.actions_without_exec.extend(open_action.map(str::to_owned));
    entry
}

/// The entry with each `Exec` replaced by what `change` makes of it, where it makes something, started by its command line and
/// not through D-Bus. All other lines stay as they are.
pub(in crate::place) fn changed(text: &str, head: &str, change: impl Fn(&Exec) -> Option<String>) -> String {
    let mut out = format!("# {head}\n");
    let mut group = "";
    for line in text.split_inclusive('\n') {
        let ending = if line.ends_with('\n') { "\n" } else { "" };
        let counts = group == MAIN || group.starts_with(ACTION);
        match read(line) {
            Line::Group(name) => {
                group = name;
                out.push_str(line);
            }
            Line::Key("Exec", value) if counts => match Exec::parse(value).and_then(|exec| change(&exec)) {
                Some(value) => out.extend(["Exec=", &value, ending]),
                None => out.push_str(line),
            },
            Line::Key("DBusActivatable", _) if group == MAIN => out.extend(["DBusActivatable=false", ending]),
            _ => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[Desktop Entry]\nType=Application\nName=A\nName[de]=Ä\nTryExec=app\nExec = app %U\n\
                         DBusActivatable=true\nActions=new;old;\n\n[Desktop Action new]\nName=New\nExec=app --new\n\n\
                         [Desktop Action old]\nName=Old\n\n[X-Other]\nExec=app";

    #[test]
    fn an_entry_is_read() {
        let entry = parse(ENTRY);
        assert!(entry.is_application && entry.is_dbus_activatable && !entry.is_hidden);
        assert_eq!(entry.exec.unwrap().program().as_deref(), Some("app"));
        assert_eq!(entry.actions_without_exec, ["old"]);
    }

    #[test]
    fn only_command_lines_change() {
        let changed = changed(ENTRY, "head", |exec| exec.started_by("/s", "/app"));
        let before: Vec<&str> = ENTRY.lines().collect();
        let after: Vec<&str> = changed.lines().skip(1).collect();
        let differing: Vec<&str> =
            before.iter().zip(&after).filter(|(before, after)| before != after).map(|(_, after)| *after).collect();
        assert_eq!(differing, ["Exec=/s /app %U", "DBusActivatable=false", "Exec=/s /app --new"]);
        assert!(changed.starts_with("# head\n") && changed.ends_with("Exec=app"));
    }
}
