//! Installs, undoes or repairs in a directory: `transact install|reindex|uninstall|repair DIRECTORY [NAME]`. The tests kill it at every
//! system call. Installations with a NAME share files; what these contain depends on the name.

use std::ffi::OsStr;
use std::path::Path;

use coldstart_install::{
    Draft, DraftPlace, ImageRecord, IndexFile, IndexRecord, Installation, LauncherRecord, NewManifest, NoReplacer,
    PlannedContent, PlannedFile, PlannedShared, ProgramRecord, RecordingFacts, Registry, Stored, install, repair,
    uninstall, update_index,
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
        // A new index, all of whose files say so.
        "reindex" => {
            let installation = registry.installation(name)?;
            let python = installation.new_index().join("current/python");
            let _ = std::fs::remove_dir_all(installation.new_index());
            std::fs::create_dir_all(&python)?;
            std::fs::write(installation.new_index().join("current/manifest"), "second")?;
            std::fs::write(python.join("data"), "second")?;
            let record = IndexRecord { languages: vec!["python".to_owned()], bytes: 12 };
            update_index(&registry, name, record, None, 1, "1")?;
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
        index: None,
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
        index: index(directory),
        own_files: vec![starter],
        places: places.iter().map(place).collect(),
    }
}

/// Files in two directories, from the scene's `index`, if it has one.
fn index(directory: &Path) -> Vec<IndexFile> {
    let names = ["current/manifest", "current/python/data"];
    let opened = names.iter().filter_map(|name| {
        let file = std::fs::File::open(directory.join("index").join(name)).ok()?;
        Some(IndexFile { name: name.into(), file: std::sync::Arc::new(file), mode: 0o600 })
    });
    opened.collect()
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
