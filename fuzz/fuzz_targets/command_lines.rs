//! Any text as a desktop entry and as a systemd service: their command lines get another program in front, which is read back from
//! them, and no line is added.

#![no_main]

use coldstart_install::place::fuzzing::{changed_desktop_entry, desktop_entry, service};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for text in [text, &format!("[Desktop Entry]\nExec={text}")] {
        desktop(text);
    }
    for text in [text, &format!("[Service]\nExecStart={text}")] {
        for (_, started) in service(text, "/start") {
            let Some(started) = started else { continue };
            assert!(!started.contains('\n'), "{started:?}");
            let again = service(&format!("[Service]\nExecStart={started}\n"), "/start");
            assert_eq!(again[0].0, "/start", "{started:?}");
        }
    }
});

fn desktop(text: &str) {
    let before = desktop_entry(text);
    let changed = changed_desktop_entry(text, "/start", "/program");
    assert_eq!(changed.lines().count(), text.lines().count() + 1);
    let after = desktop_entry(&changed);
    if before.program.is_some() {
        assert_eq!(after.program.as_deref(), Some("/start"), "{changed:?}");
    }
    assert!(!after.is_dbus_activatable);
    assert_eq!(after.is_application, before.is_application);
    assert_eq!(after.actions_without_exec, before.actions_without_exec);
}
