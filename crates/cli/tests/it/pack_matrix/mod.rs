//! Packed programs do what they did: every behaviour in `fixtures/`, by every linker, as library and as program, as it is
//! and after other tools have been at it.
//!
//! Each fixture checks itself and prints a text, which must be that of the original. What a newcomer would not guess:
//! every object carries thousands of pointers besides (`fixtures/shared/bulk.c`), for without pages to save the packer
//! would leave it alone and nothing would be tried.

mod build;
mod cell;
mod debuggers;
mod expected;
mod feature;
mod packer;
mod readers;
mod refusals;
mod run;
mod tally;
mod toolchain;
mod treatment;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use build::{Kind, compile};
use cell::{Cell, Outcome};
use coldstart_testing::{divided_by, skip};
use feature::FEATURES;
use toolchain::{Linker, Machine};

/// Calls `work` for the numbers below `count`, by as many threads as there are processors.
fn in_parallel<Result: Send>(count: usize, work: impl Fn(usize) -> Result + Sync) -> Vec<Result> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let one_thread = || {
        let mut results = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return results;
            }
            results.push((number, work(number)));
        }
    };
    let mut results: Vec<(usize, Result)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one_thread)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Compiles and checks all cells of a machine.
fn check_machine(machine: Machine) {
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let linkers = scratch.path().join("linkers");
    std::fs::create_dir(&linkers).unwrap();
    for linker in ["ld.lld", "ld.mold"] {
        std::os::unix::fs::symlink(Path::new("/usr/bin").join(linker), linkers.join(linker)).unwrap();
    }
    // Whoever looks into one feature names it, or a part of its name.
    let wanted = std::env::var("PACK_MATRIX_ONLY").unwrap_or_default();
    let features: Vec<_> = FEATURES
        .iter()
        .filter(|feature| machine == Machine::Native || feature.other_machines)
        .filter(|feature| feature.name.contains(&wanted))
        .collect();
    let objects = in_parallel(features.len(), |number| {
        compile(features[number], machine, &scratch.path().join(format!("objects-{number}"))).unwrap()
    });
    // Every feature with some linkers, as a library and as a program, and every linker with some features.
    let parts = if wanted.is_empty() { divided_by(3) } else { 1 };
    let mut cells = Vec::new();
    for (number, feature) in features.iter().enumerate() {
        for linker in Linker::ALL.into_iter().filter(|linker| !feature.not_by.contains(linker)) {
            // Programs in qemu start slowly.
            if machine == Machine::Aarch64 && matches!(linker, Linker::Gold | Linker::Mold) {
                continue;
            }
            let kinds = if feature.as_program { [Kind::Library, Kind::Program].as_slice() } else { &[Kind::Library] };
            cells.extend(kinds.iter().map(|&kind| (number, Cell { feature, machine, linker, kind })));
        }
    }
    let mut place = 0usize;
    cells.retain(|&(number, _)| {
        place += 1;
        // Moved on by one with each feature, so that it is not always the same linker.
        (place + number).is_multiple_of(parts)
    });
    let outcomes: Vec<(Cell, Outcome)> = in_parallel(cells.len(), |place| {
        let (number, cell) = cells[place];
        let folder = scratch.path().join(format!("cell-{place}"));
        std::fs::create_dir(&folder).unwrap();
        let outcome = cell.check(&objects[number], &linkers, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        (cell, outcome)
    });
    tally::print(machine, &outcomes);
    let failures: Vec<String> = outcomes.iter().flat_map(|(cell, outcome)| tally::failures(cell, outcome)).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn packed_programs_do_what_they_did() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip("the matrix is for x86-64");
    }
    check_machine(Machine::Native);
}

#[test]
fn packed_programs_of_32_bits_do_what_they_did() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip("only x86-64 runs i386 as it is");
    }
    check_machine(Machine::I386);
}

#[test]
fn packed_programs_of_aarch64_do_what_they_did() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip("the cross compiler is that of x86-64");
    }
    check_machine(Machine::Aarch64);
}
