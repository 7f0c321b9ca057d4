//! Installs, undoes or repairs in a directory: `transact install|uninstall|repair DIRECTORY [NAME]`. The tests kill it at every
//! system call. Installations with a NAME share files; what these contain depends on the name.

use std::ffi::OsStr;
use std::path::Path;

use coldstart_install::{
    Draft, DraftPlace, ImageRecord, Installation, LauncherRecord, NewManifest, NoReplacer, PlannedContent, PlannedFile,
    PlannedShared, ProgramRecord, RecordingFacts, Registry, Stored, install, repair, uninstall,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (action, directory, name) = match words.as_slice() {
        [action, directory] => (action, directory, "app"),
        [action, directory, name] => (action, directory, name.as_str()),
        _ => return Err("transact ACTION DIRECTORY [NAME]".into()),
    };
    let directory = Path::new(directory);
    let registry = Registry::new(&directory.join("registry"));
    let is_sharing = name != "app";
    let name = OsStr::new(name);
    match action.as_str() {
        "install" => {
            let program = directory.join("program");
            let draft = |installation: &Installation| {
                let draft = draft(directory, installation);
                Ok(if is_sharing { Draft { places: vec![sharing(directory, name)], ..draft } } else { draft })
            };
            install(&registry, name, draft, &NoReplacer, &program)?;
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

fn sharing(directory: &Path, name: &OsStr) -> DraftPlace {
    let text = format!("Written by coldstart: shared, last by {}\n", name.display());
    let shared = |path: &str, content| PlannedShared { path: directory.join(path), content };
    let own = PlannedFile { path: directory.join("places").join(name), bytes: text.clone().into_bytes(), mode: 0o755 };
    DraftPlace {
        place: "login".into(),
        files: vec![own],
        shared: vec![
            shared("places/units/unit", PlannedContent::File(text.into_bytes())),
            shared("places/units/wants/unit", PlannedContent::Link("../unit".into())),
        ],
        ..DraftPlace::default()
    }
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
        has_plan: false,
        image: Some(image_record()),
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
    let image = std::fs::File::open(directory.join("image")).ok().map(std::sync::Arc::new);
    let starter = PlannedFile { path: installation.starter(), bytes: b"start".to_vec(), mode: 0o755 };
    Draft {
        body,
        plan: Some(b"plan".to_vec()),
        image,
        own_files: vec![starter],
        places: places.iter().map(place).collect(),
    }
}

fn image_record() -> ImageRecord {
    ImageRecord {
        uuid: "uuid".to_owned(),
        bytes: 5,
        read_bytes: 5,
        compressed: false,
        trees: Vec::new(),
        exclude: Vec::new(),
    }
}
