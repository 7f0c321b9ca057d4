//! The entry point of a container's image, started where nothing but the image's files is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod one_file;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_install::place::container::{InImage, with_launcher, without_launcher};
use coldstart_testing::{copy_program, eventually, is_root, output_of, skip, succeed};
use one_file::{PAGES, make_cold, plan_of, resident, write_pages};

/// An image's configuration as `docker save` and `skopeo copy` write it.
const CONFIG: &str = r#"{
  "architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z",
  "config": { "Env": ["PATH=/usr/bin:/bin"], "Entrypoint": ["/bin/cat"], "Cmd": ["/words", "/more"], "WorkingDir": "/" },
  "rootfs": { "type": "layers", "diff_ids": ["sha256:0000000000000000000000000000000000000000000000000000000000000000"] },
  "history": [ { "created_by": "a test" } ]
}"#;

/// Copies a program with its libraries, as `ldd` lists them, below a root.
fn copy_with_libraries(program: &Path, root: &Path, name: &str) {
    let mut files = BTreeSet::new();
    let output = output_of(Command::new("ldd").arg(program));
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        files.insert(PathBuf::from(word));
    }
    for file in files {
        let place = root.join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if !place.exists() {
            copy_program(&file, &place);
        }
    }
    let place = root.join(name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    copy_program(program, &place);
}

/// The words of the first process: entry point and command.
fn words(config: &str) -> Vec<String> {
    let config: serde_json::Value = serde_json::from_str(config).unwrap();
    let list = |name: &str| config["config"][name].as_array().cloned().unwrap_or_default();
    list("Entrypoint").iter().chain(&list("Cmd")).map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_entry_point_of_an_image_replays_the_plan_of_the_image() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    copy_with_libraries(Path::new("/bin/cat"), &root, "bin/cat");
    copy_with_libraries(Path::new(env!("CARGO_BIN_EXE_coldstart-run")), &root, "usr/local/bin/coldstart-run");
    fs::write(root.join("words"), "several ").unwrap();
    fs::write(root.join("more"), "words").unwrap();
    let data = root.join("srv/data");
    fs::create_dir(root.join("srv")).unwrap();
    write_pages(&data, PAGES);
    let plan = Some("/app.prefetch".to_owned());
    let image = InImage { launcher: "/usr/local/bin/coldstart-run".to_owned(), plan, index: None };
    fs::write(root.join("app.prefetch"), plan_of(&data, Path::new("/srv/data"))).unwrap();
    let start = |config: &str| succeed(Command::new("chroot").arg(&root).args(words(config)));

    let edited = with_launcher(CONFIG, &image).unwrap();
    assert_eq!(words(&edited)[..3], ["/usr/local/bin/coldstart-run", "/app.prefetch", "--"]);
    make_cold(&data);
    if resident(&data) != Some(0) {
        return skip("fincore is missing, or this file system keeps pages");
    }
    assert_eq!(start(CONFIG), "several words");
    assert_eq!(resident(&data), Some(0));
    assert_eq!(start(&edited), "several words");
    eventually("the data are in memory", || resident(&data) == Some(PAGES));

    // Without the plan, as in a layer that lacks it, the program starts all the same.
    fs::remove_file(root.join("app.prefetch")).unwrap();
    assert_eq!(start(&edited), "several words");
    assert_eq!(words(&without_launcher(&edited, &image).unwrap()), words(CONFIG));
}
