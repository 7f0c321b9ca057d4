//! Choosing the display, and making the program open its windows there.
//!
//! Where a Wayland compositor runs, toolkits prefer it to the X display, and the wait would never end. Removing
//! `WAYLAND_DISPLAY` is not always enough: libwayland then tries the socket `wayland-0` (`wl_display_connect(3)`),
//! and GTK 3 was seen to use it. So the variables by which toolkits choose are set as in an X session.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use super::problem::DisplayError;

/// The given display, or else the one in the program's environment; adapts that environment.
pub(super) fn choose(named: Option<&str>, command: &mut Command) -> Result<String, DisplayError> {
    let display = match named {
        Some(named) => named.to_owned(),
        None => match variable(command, "DISPLAY") {
            Some(display) if !display.is_empty() => display
                .into_string()
                .map_err(|display| DisplayError::Name { display: display.to_string_lossy().into_owned() })?,
            _ => return Err(DisplayError::None),
        },
    };
    if named.is_some() {
        command.env("DISPLAY", &display);
    }
    for name in ["WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(name);
    }
    // Qt, Chromium and derived programs choose by the session's type.
    command.env("XDG_SESSION_TYPE", "x11");
    // GTK. A user's own choice is kept, as those for other toolkits (QT_QPA_PLATFORM, SDL_VIDEODRIVER, ...).
    if variable(command, "GDK_BACKEND").is_none() {
        command.env("GDK_BACKEND", "x11");
    }
    Ok(display)
}

/// A variable as the program will see it.
fn variable(command: &Command, name: &str) -> Option<OsString> {
    let changed = command.get_envs().find(|(changed, _)| *changed == OsStr::new(name));
    changed.map_or_else(|| std::env::var_os(name), |(_, value)| value.map(OsStr::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(changes: &[(&str, Option<&str>)]) -> Command {
        let mut command = Command::new("true");
        for (name, value) in changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    #[test]
    fn a_display_named_goes_before_the_environment() {
        let mut named = command(&[("DISPLAY", Some(":1"))]);
        assert_eq!(choose(Some(":2"), &mut named).unwrap(), ":2");
        assert_eq!(variable(&named, "DISPLAY"), Some(":2".into()));
        let mut own = command(&[("DISPLAY", Some(":1"))]);
        assert_eq!(choose(None, &mut own).unwrap(), ":1");
        assert_eq!(variable(&own, "DISPLAY"), Some(":1".into()));
    }

    #[test]
    fn without_a_display_there_is_none() {
        for none in [None, Some("")] {
            assert!(matches!(choose(None, &mut command(&[("DISPLAY", none)])), Err(DisplayError::None)));
        }
    }

    #[test]
    fn wayland_is_kept_away_and_choices_stand() {
        let mut usual = command(&[("WAYLAND_DISPLAY", Some("wayland-1")), ("GDK_BACKEND", None)]);
        choose(Some(":1"), &mut usual).unwrap();
        assert_eq!(variable(&usual, "WAYLAND_DISPLAY"), None);
        assert_eq!(variable(&usual, "XDG_SESSION_TYPE"), Some("x11".into()));
        let mut chosen = command(&[("GDK_BACKEND", Some("broadway"))]);
        choose(Some(":1"), &mut chosen).unwrap();
        assert_eq!(variable(&chosen, "GDK_BACKEND"), Some("broadway".into()));
    }
}
