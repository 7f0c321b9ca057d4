//! The program starts whatever is named as its plan, and what is not a plan is not opened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../../cli/tests/it/inputs/bounded.rs"]
mod bounded;
#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../../cli/tests/it/inputs/kinds.rs"]
mod kinds;
#[path = "../../cli/tests/it/inputs/plan.rs"]
mod plan;

use std::path::Path;

use bounded::{Ended, run};
use kinds::{Kind, Placed};

/// A start that ends with code 7.
fn start(plan: &Path, directory: &Path) -> Ended {
    let words = [plan.to_str().unwrap(), "--", "sh", "-c", "exit 7"].map(str::to_owned);
    run(Path::new(env!("CARGO_BIN_EXE_coldstart-run")), &words, directory, false)
}

#[test]
fn the_program_starts_whatever_the_plan_is() {
    let valid = plan::plan_of(&[Path::new("/bin/true")]);
    for kinds in [Kind::NEVER_A_FILE, Kind::NOT_THERE, Kind::NO_CONTENT] {
        for &kind in kinds {
            let directory = tempfile::tempdir().unwrap();
            let mut placed = Placed::new(kind, directory.path(), &valid);
            let ended = start(&placed.path, directory.path());
            assert_eq!(ended.code, Some(7), "{kind:?}: {ended:?}");
            let said = format!("coldstart: started without prefetch: {}: ", placed.path.display());
            assert!(ended.stderr.starts_with(&said), "{kind:?}: {ended:?}");
            assert_eq!(placed.disturbed(), None, "{kind:?}");
        }
    }
}

#[test]
fn the_program_starts_while_its_plan_comes_and_goes() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    std::fs::write(&other, plan::plan_of(&[Path::new("/bin/true")])).unwrap();
    let mut fifo = Placed::new(Kind::Fifo, directory.path(), &[]);
    let ended: Vec<Ended> =
        fifo.while_it_changes_places(&other, || (0..20).map(|_| start(&fifo.path, directory.path())).collect());
    assert!(ended.iter().all(|ended| ended.code == Some(7)), "{ended:?}");
    assert_eq!(fifo.disturbed(), None);
}

#[test]
fn what_took_the_place_of_a_planned_file_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let mut fifo = Placed::new(Kind::FifoWithWriter, directory.path(), &[]);
    let plan = directory.path().join("plan");
    std::fs::write(&plan, plan::plan_of(&[&fifo.path, Path::new("/dev/zero"), directory.path()])).unwrap();
    let ended = start(&plan, directory.path());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(7), ""));
    assert_eq!(fifo.disturbed(), None);
}
