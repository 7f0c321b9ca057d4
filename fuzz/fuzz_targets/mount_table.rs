//! Any text as `/proc/self/mountinfo`, and any text as the names in it, which whoever mounts chooses.

#![no_main]

use std::path::Path;

use coldstart_doctor::Mounts;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mounts = Mounts::parse(&text);
    assert!(mounts.all().len() <= text.lines().count());
    for mount in mounts.all().iter().take(100) {
        let _ = (mount.kind().words(), mount.is_read_only(), mount.device_path());
        let _ = mounts.of(&mount.place);
    }

    let (place, source) = text.split_once('\0').unwrap_or((&text, "none"));
    let place = format!("/{place}");
    let line = format!("24 1 8:1 / {} rw shared:1 - ext4 {} rw,quota\n", escaped(&place), escaped(source));
    let mounts = Mounts::parse(&line);
    let [mount] = mounts.all() else { panic!("{line:?}: {mounts:?}") };
    assert_eq!((&mount.place, &*mount.source), (&place.clone().into(), source), "{line:?}");
    assert!(mount.has("quota"));
    assert_eq!(mounts.of(Path::new(&place)), Some(mount));
});

/// As `mangle` of the kernel writes names (`fs/proc_namespace.c`).
fn escaped(name: &str) -> String {
    let escape = |character: char| match character {
        ' ' | '\t' | '\n' | '\\' | '#' => format!("\\{:03o}", u32::from(character)),
        other => other.to_string(),
    };
    name.chars().map(escape).collect()
}
