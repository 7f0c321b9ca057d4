//! A replay in a private view reads the replacement, which it knows by the plan's identity.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod one_file;

use std::fs;
use std::process::Command;
use std::sync::Arc;

use coldstart_sys::private_mounts::{Overlay, PrivateMounts};
use coldstart_testing::{eventually, skip};
use one_file::{PAGES, make_cold, plan_of, resident, write_pages};

#[test]
fn the_replacement_s_pages_are_prefetched() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path().canonicalize().unwrap();
    let (original, replacement) = (here.join("original"), here.join("replacement"));
    write_pages(&original, PAGES * 2);
    write_pages(&replacement, PAGES);
    let overlay = Overlay { original: original.clone(), replacement: replacement.clone() };
    let Ok(view) = PrivateMounts::create(&[overlay]).map(Arc::new) else {
        skip("no private view is possible here");
        return;
    };
    let plan = here.join("plan");
    fs::write(&plan, plan_of(&replacement, &original)).unwrap();
    make_cold(&replacement);
    make_cold(&original);
    if resident(&replacement) != Some(0) {
        skip("fincore is missing, or this file system keeps pages");
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-run"));
    command.arg(&plan).args(["--", "true"]);
    view.enter_with(&mut command);
    assert!(command.status().unwrap().success());
    eventually("the replacement is in memory", || resident(&replacement) == Some(PAGES));
    assert_eq!(resident(&original), Some(0));
}
