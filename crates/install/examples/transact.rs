//! Installs, undoes or repairs in a directory: `transact install|uninstall|repair DIRECTORY`. The tests kill it at every system call.

use std::ffi::OsStr;
use std::path::Path;

use coldstart_install::{
    Draft, DraftPlace, Installation, LauncherRecord, NewManifest, NoReplacer, PlannedFile, ProgramRecord,
    RecordingFacts, Registry, Stored, install, repair, uninstall,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [action, directory] = words.as_slice() else { return Err("transact ACTION DIRECTORY".into()) };
    let directory = Path::new(directory);
    let registry = Registry::new(&directory.join("registry"));
    let name = OsStr::new("app");
    match action.as_str() {
        "install" => {
            let program = directory.join("program");
            install(&registry, name, |installation| Ok(draft(directory, installation)), &NoReplacer, &program)?;
        }
        "uninstall" => drop(uninstall(&registry, name, &NoReplacer, false)?),
        "repair" => {
            // Killed early enough, nothing is there.
            if registry.installation(name)?.directory().exists() {
                repair(&registry, name, &NoReplacer)?;
            }
        }
        _ => return Err("unknown action".into()),
    }
    Ok(())
}

fn draft(directory: &Path, installation: &Installation) -> Draft {
    let file = |name: &str| PlannedFile {
        path: directory.join(name),
        bytes: format!("Written by coldstart: {name}\n").into_bytes(),
        mode: 0o755,
    };
    let body = NewManifest {
        coldstart: "0".to_owned(),
        installed_at: 0,
        recorded_at: 0,
        program: ProgramRecord {
            path: Stored::new(directory.join("program")),
            arguments: Vec::new(),
            working_directory: Stored::new("/"),
        },
        recording: RecordingFacts::default(),
        fixes: Vec::new(),
        has_plan: true,
        launcher: LauncherRecord { file: Stored::new("/bin/true"), words: Vec::new() },
        places: Vec::new(),
        changed_files: Vec::new(),
    };
    let places = [["places/old", "places/new/deep"], ["places/link", "places/other"]];
    let place = |names: &[&str; 2]| DraftPlace {
        place: "wrapper".into(),
        files: names.iter().map(|name| file(name)).collect(),
        ..DraftPlace::default()
    };
    let starter = PlannedFile { path: installation.starter(), bytes: b"start".to_vec(), mode: 0o755 };
    Draft { body, plan: Some(b"plan".to_vec()), own_files: vec![starter], places: places.iter().map(place).collect() }
}
