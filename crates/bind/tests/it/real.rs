//! Real programs, bound beside the original: they load the same files in the same order, and run.

use std::path::Path;
use std::process::Command;

use coldstart_bind::{MachineFiles, Mode, Options, Program, machine_environment, plan, write_farm};
use coldstart_testing::succeed;

use crate::common::{GLIBC, account, changes, ready};

/// Programs with many libraries, of which some are on every machine that builds this.
const PROGRAMS: [&str; 8] = ["ld", "git", "curl", "gdb", "perl", "python3", "tar", "gpg"];

#[test]
fn real_programs_load_the_same_and_run() {
    if !ready(GLIBC) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().canonicalize().unwrap();
    let mut bound = 0;
    for (name, mode) in PROGRAMS.iter().flat_map(|name| [(name, Mode::Soname), (name, Mode::Absolute)]) {
        let original = Path::new("/usr/bin").join(name);
        if !original.exists() {
            continue;
        }
        let files = MachineFiles::new();
        let subject = Program { path: original.clone(), ..Program::default() };
        let environment = machine_environment(&original, &files, false);
        // Some programs look at the name they are started by.
        std::fs::create_dir_all(scratch.join(mode.name())).unwrap();
        let output = scratch.join(mode.name()).join(name);
        let options = Options { mode, output: Some(output.clone()), ..Options::default() };
        let planned = match plan(&subject, &files, &environment, &options) {
            Ok(planned) => planned,
            Err(refusal) => {
                eprintln!("{name}: {refusal}");
                continue;
            }
        };
        if let Some(farm) = &planned.farm {
            write_farm(farm, &farm.directory).unwrap();
        }
        crate::common::rewrite(&original, &output, &planned);
        let (before, after) = (account(&original, GLIBC, &[]), account(&output, GLIBC, &[]));
        assert_eq!(after.files, before.files, "{name}");
        assert_eq!(after.failed.len(), planned.predicted.failed_probes_after, "{name}");
        assert_eq!(changes(&planned.binding, &output), [], "{name}");
        let version = |program: &Path| succeed(Command::new(program).arg("--version")).lines().count();
        assert_eq!(version(&output), version(&original), "{name}");
        bound += 1;
    }
    assert!(bound > 0, "no program here can be bound");
}
