//! Loading, against what the loader itself tells, and times, against the program's own clock.
//!
//! A program with thirty libraries that need each other: the order of mapping, relocation and initialisers is what `LD_DEBUG` says,
//! and each time that the program reads lies in the phase that it should lie in.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_profile::trace::{Layer, Phase, PhaseKind, Trace};

use crate::start_support::{build, lacks_breakpoints, trace};

const LIBRARIES: usize = 30;

/// Notes the time in its own memory; the last note writes all to the file that the environment names.
const CLOCK: &str = include_str!("start_initialisers/clock.c");

/// Builds them in an order in which each needs some of those before it; the last ones are loaded while the program runs.
fn program(folder: &Path) -> PathBuf {
    build(folder, "libclock.so", CLOCK, &["-shared", "-fPIC", "-O1", "-Wl,-soname,libclock.so"]);
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let library = |number: usize, needs: &[String]| {
        let source = format!(
            "extern \"C\" void note(const char *);\n\
             struct Noted {{ int n; Noted(const char *name) {{ note(name); n = {number}; }} }};\n\
             static Noted first_{number}(\"first_{number}\");\n\
             static int table[3000] = {{1}}; int *pointers_{number}[600] = {{table, table + 1, table + 2}};\n\
             __attribute__((constructor)) static void second_{number}() {{ note(\"second_{number}\"); }}\n\
             int used_{number}() {{ return {number} + *pointers_{number}[0]; }}\n"
        );
        let name = format!("libl{number}.so");
        let soname = format!("-Wl,-soname,{name}");
        let mut flags =
            vec!["-xc++", "-shared", "-fPIC", "-O1", "-L.", "-Wl,--no-as-needed", "-Wl,-z,relro", &soname, &rpath];
        flags.extend(needs.iter().map(String::as_str));
        flags.push("-lclock");
        build(folder, &name, &source, &flags);
    };
    for number in 0..LIBRARIES + 3 {
        let needs: Vec<String> = match number {
            number if number < LIBRARIES => {
                (1..4).filter_map(|step| number.checked_sub(step * step)).map(|other| format!("-ll{other}")).collect()
            }
            _ => Vec::new(),
        };
        library(number, &needs);
    }
    let mut source = String::from(
        "#include <dlfcn.h>\n#include <stdio.h>\n\
         extern \"C\" { void note(const char *); void write_notes(const char *); }\n\
         struct Own { Own() { note(\"own\"); } }; Own own;\n\
         int main(int count, char **arguments) { note(\"main\"); char path[4096];\n",
    );
    for number in LIBRARIES..LIBRARIES + 3 {
        writeln!(
            source,
            "note(\"before_{number}\"); snprintf(path, sizeof path, \"%s/libl{number}.so\", arguments[1]); \
             dlopen(path, RTLD_NOW); note(\"after_{number}\");"
        )
        .unwrap();
    }
    source.push_str("snprintf(path, sizeof path, \"%s/notes\", arguments[1]); note(\"end\"); write_notes(path); }\n");
    let last = format!("-ll{}", LIBRARIES - 1);
    let flags = ["-xc++", "-O1", "-L.", "-Wl,--no-as-needed", "-ldl", &last, "-ll7", "-lclock", &rpath];
    build(folder, "thirty", &source, &flags)
}

fn name_of(trace: &Trace, phase: &Phase) -> String {
    let path = &trace.file(phase.file.unwrap()).unwrap().path;
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Names of objects in lines of the loader's log, behind `mark`.
fn told(log: &str, mark: &str) -> Vec<String> {
    let behind = log.lines().filter_map(|line| line.split_once(mark)).map(|(_, behind)| behind);
    let first = behind.filter_map(|behind| behind.split_whitespace().next());
    first.map(|path| path.trim_end_matches(';').rsplit('/').next().unwrap().to_owned()).collect()
}

fn loader_log(program: &Path, folder: &Path, what: &str) -> String {
    let log = folder.join(format!("log-{what}"));
    let status = Command::new(program).arg(folder).env("LD_DEBUG", what).env("LD_DEBUG_OUTPUT", &log).status().unwrap();
    assert!(status.success());
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!("log-{what}.")) {
            text = fs::read_to_string(entry.path()).unwrap();
        }
    }
    text
}

fn names_of_phases(trace: &Trace, kind: PhaseKind) -> Vec<String> {
    let phases = trace.phases.iter().filter(|phase| phase.kind == kind && phase.file.is_some());
    phases.map(|phase| name_of(trace, phase)).collect()
}

#[test]
fn order_is_the_loaders_and_times_are_the_programs() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let trace = trace(&program, &[folder.path()], &[Layer::Phases, Layer::Pages]);
    let notes = fs::read_to_string(folder.path().join("notes")).unwrap();
    let is_ours = |name: &String| name.starts_with("libl") && name.as_bytes()[4].is_ascii_digit();

    // Initialisers by object: as the loader calls them; the vdso and objects without any have no phase.
    let files = loader_log(&program, folder.path(), "files");
    let mut called = names_of_phases(&trace, PhaseKind::Initialisers);
    called.dedup();
    let expected: Vec<String> = told(&files, "calling init: ").into_iter().filter(is_ours).collect();
    assert_eq!(expected.len(), LIBRARIES + 3);
    assert_eq!(called.into_iter().filter(is_ours).collect::<Vec<_>>(), expected);

    // Mapping, relocation, dlopen.
    let relocated: Vec<String> = told(&loader_log(&program, folder.path(), "reloc"), "relocation processing: ");
    let relocated: Vec<String> = relocated.into_iter().filter(is_ours).collect();
    let found: Vec<String> = names_of_phases(&trace, PhaseKind::Relocation).into_iter().filter(is_ours).collect();
    assert_eq!(found, relocated);
    let mapped: Vec<String> = told(&files, "file=").into_iter().filter(is_ours).collect();
    let mut once = Vec::new();
    for name in mapped {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    assert_eq!(names_of_phases(&trace, PhaseKind::Mapping).into_iter().filter(is_ours).collect::<Vec<_>>(), once);
    let dlopens = names_of_phases(&trace, PhaseKind::Dlopen);
    assert_eq!(dlopens, (LIBRARIES..LIBRARIES + 3).map(|number| format!("libl{number}.so")).collect::<Vec<_>>());

    names_of_initialisers(&trace);
    times(&trace, &notes);
}

/// C++ names in objects that have them.
fn names_of_initialisers(trace: &Trace) {
    let mut names: Vec<String> = Vec::new();
    for phase in trace.phases.iter().filter(|phase| phase.kind == PhaseKind::Initialiser) {
        let symbol = trace.object(phase.file.unwrap()).and_then(|object| object.symbol_at(phase.address.unwrap()));
        names.extend(symbol.map(|symbol| symbol.name.clone()));
    }
    for number in 0..LIBRARIES + 3 {
        for name in [format!("_GLOBAL__sub_I_libl{number}.so.cc"), format!("second_{number}")] {
            assert!(names.iter().any(|known| known.contains(&name)), "{name} is not in {names:?}");
        }
    }
    assert!(names.iter().any(|name| name.contains("_GLOBAL__sub_I_own")), "{names:?}");
}

/// The program's clock and ours differ by the moment of the launch, which is the same for all times that it told.
fn times(trace: &Trace, notes: &str) {
    let (mut lowest, mut highest) = (0_u64, u64::MAX);
    let mut within = |at: u64, phase: &Phase, what: &str| {
        lowest = lowest.max(at - phase.end.0);
        highest = highest.min(at - phase.begin.0);
        assert!(lowest <= highest, "{what} at {at} is outside of {phase:?}");
    };
    let told: HashMap<&str, u64> =
        notes.lines().map(|line| line.split_once(' ').unwrap()).map(|(name, at)| (name, at.parse().unwrap())).collect();
    let find = |kind: PhaseKind, name: &str| {
        let is = |phase: &&Phase| {
            let symbol = phase.address.and_then(|at| trace.object(phase.file?)?.symbol_at(at));
            phase.kind == kind && symbol.is_some_and(|symbol| symbol.name.ends_with(name))
        };
        trace.phases.iter().find(is).unwrap_or_else(|| panic!("no initialiser {name}"))
    };
    for number in 0..LIBRARIES + 3 {
        for (name, symbol) in [("first", format!("sub_I_libl{number}.so.cc")), ("second", format!("second_{number}"))] {
            let name = format!("{name}_{number}");
            within(told[&*name], find(PhaseKind::Initialiser, &symbol), &name);
        }
    }
    within(told["own"], find(PhaseKind::Initialiser, "sub_I_own"), "own");
    let main = trace.phases.iter().find(|phase| phase.kind == PhaseKind::Main).unwrap();
    within(told["main"], main, "main");
    within(told["end"], main, "end");
    let dlopens: Vec<&Phase> = trace.phases.iter().filter(|phase| phase.kind == PhaseKind::Dlopen).collect();
    for (dlopen, number) in dlopens.into_iter().zip(LIBRARIES..) {
        // It begins after the time before it and has ended by the time behind it.
        let (before, after) = (told[&*format!("before_{number}")], told[&*format!("after_{number}")]);
        highest = highest.min(after - dlopen.begin.0);
        lowest = lowest.max(before.saturating_sub(dlopen.begin.0));
        assert!(lowest <= highest, "dlopen {number} begins too early: {dlopen:?} {before} {after}");
    }
}
