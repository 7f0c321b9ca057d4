//! Launches in a private view of the file system: readiness, the end of the tree and the environment are as outside.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use coldstart_launch::{CommandLine, End, Output, launch};
use coldstart_sys::private_mounts::{Overlay, PrivateMounts, PrivateMountsError};
use coldstart_testing::{scratch, script, skip};

use crate::common::Marker;

/// A view in which `original` has the content of `replacement`.
fn view(overlays: &[(&Path, &Path)]) -> Option<Arc<PrivateMounts>> {
    let overlay = |(original, replacement): &(&Path, &Path)| Overlay {
        original: (*original).to_owned(),
        replacement: (*replacement).to_owned(),
    };
    match PrivateMounts::create(&overlays.iter().map(overlay).collect::<Vec<_>>()) {
        Ok(view) => Some(Arc::new(view)),
        Err(error @ PrivateMountsError::Impossible { .. }) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_readiness_that_needs_no_display_works_inside() {
    let Some(view) = view(&[]) else { return };
    let directory = scratch();
    let file = directory.path().join("ready");
    for (readiness, words) in [
        ("exit".to_owned(), "true".to_owned()),
        ("stdout:up".to_owned(), "echo up; exec sleep 1000".to_owned()),
        (format!("file:{}", file.display()), format!("echo a > '{}'; exec sleep 1000", file.display())),
        ("notify".to_owned(), "systemd-notify --ready && exec sleep 1000".to_owned()),
        // A daemon: its starter ends, and it is found and ended all the same.
        ("stdout:up".to_owned(), "setsid sh -c 'echo up; exec sleep 1000' & exit 0".to_owned()),
    ] {
        let _ = fs::remove_file(&file);
        let marker = Marker::new();
        let mut options = marker.options(&readiness);
        options.mounts = Some(Arc::clone(&view));
        let launched = launch(&CommandLine::new("sh", ["-c", &words]), &options, None, &mut || ()).unwrap();
        assert!(launched.succeeded(), "{readiness}: {launched:?}");
        marker.assert_nothing_left();
    }
}

#[test]
fn the_program_itself_can_be_another_one() {
    let directory = scratch();
    let here = directory.path();
    let original = script(here, "program", "#!/bin/sh\necho original; exit 1\n", 0o755);
    let replacement = script(here, "other", "#!/bin/sh\necho replacement \"$0\"; exit 7\n", 0o755);
    let Some(view) = view(&[(&original, &replacement)]) else { return };
    let output = here.join("output");
    // By its path, by a relative one, and by a search.
    for (program, search) in [(original.to_str().unwrap(), false), ("./program", false), ("program", true)] {
        let marker = Marker::new();
        let mut options = marker.options("exit");
        options.mounts = Some(Arc::clone(&view));
        options.output = Output::File(output.clone());
        options.working_directory = Some(here.to_owned());
        if search {
            options.environment.push(("PATH".into(), Some(format!("{}:/usr/bin:/bin", here.display()).into())));
        }
        let none: [&str; 0] = [];
        let launched = launch(&CommandLine::new(program, none), &options, None, &mut || ()).unwrap();
        assert_eq!(launched.end, End::Exited(7), "{program}");
        let said = fs::read_to_string(&output).unwrap();
        assert!(said.starts_with("replacement") && said.trim_end().ends_with("program"), "{said}");
    }
}

#[test]
fn an_upgrade_under_way_does_not_break_the_launch() {
    let directory = scratch();
    let here = directory.path();
    let original = script(here, "program", "#!/bin/sh\nexit 1\n", 0o755);
    let replacement = script(here, "other", "#!/bin/sh\nexit 7\n", 0o755);
    let Some(view) = view(&[(&original, &replacement)]) else { return };
    let new = script(here, "new", "#!/bin/sh\nexit 9\n", 0o755);
    fs::rename(new, &original).unwrap();
    let marker = Marker::new();
    let mut options = marker.options("exit");
    options.mounts = Some(Arc::clone(&view));
    let none: [&str; 0] = [];
    let launched = launch(&CommandLine::new(original.as_path(), none), &options, None, &mut || ()).unwrap();
    // The kernel takes the mount away with the name that it was on; who asks is told.
    assert_eq!(launched.end, End::Exited(9));
    assert_eq!(view.uncovered(), [original.canonicalize().unwrap()]);
}
