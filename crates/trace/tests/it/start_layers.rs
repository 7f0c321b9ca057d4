//! The layers check each other: a page that holds a function which was called must have been touched.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use coldstart_profile::trace::{EventKind, FileId, Layer, Trace};
use coldstart_testing::skip;

use crate::start_support::{build, lacks_breakpoints, lacks_single_pages, trace};

/// Functions on many pages, of which every third is called. They are long: breakpoints are set only where little of the code is
/// unknown, and padding is.
fn source() -> String {
    let mut source = String::new();
    for number in 0..90 {
        let attributes = "__attribute__((aligned(2048), noinline, noipa))";
        source.push_str(&format!("{attributes} int function_{number}(int x) {{ asm volatile(\".skip 1800, 0x90\"); return x * {number} + 1; }}\n"));
    }
    source.push_str("int main(void) { int x = 1;\n");
    for number in (0..90).step_by(3) {
        source.push_str(&format!("x += function_{number}(x);\n"));
    }
    source.push_str("return x == 0; }\n");
    source
}

/// Functions that were called whose page was not touched, and pages with code that was touched in which no function begins.
fn against_each_other(trace: &Trace) -> (Vec<(FileId, u64)>, usize, usize) {
    let mut executed: HashSet<(FileId, u64)> = HashSet::new();
    let mut called: BTreeSet<(FileId, u64)> = BTreeSet::new();
    for event in &trace.events {
        let Some(file) = event.file else { continue };
        match event.kind {
            EventKind::Touch(touch) if !touch.zero_filled => _ = executed.insert((file, event.page)),
            EventKind::Function => _ = called.insert((file, event.code.unwrap().address)),
            _ => {}
        }
    }
    let page = |&(file, address): &(FileId, u64)| {
        let object = trace.object(file).unwrap();
        let segment = object
            .segments
            .iter()
            .find(|segment| segment.flags & 1 != 0 && address.wrapping_sub(segment.address) < segment.file_size);
        let segment = segment.unwrap();
        (file, (address - segment.address + segment.offset) / 4096)
    };
    let missing: Vec<_> = called.iter().filter(|function| !executed.contains(&page(function))).copied().collect();
    let with_functions: HashSet<_> = called.iter().map(page).collect();
    let fetches = trace.events.iter().filter(|event| matches!(event.kind, EventKind::Touch(touch) if touch.execute));
    let code: HashSet<_> = fetches.filter_map(|event| Some((event.file?, event.page))).collect();
    let without = code.difference(&with_functions).count();
    (missing, called.len(), without)
}

fn check(program: &Path, arguments: &[&str]) -> Trace {
    let trace = trace(program, arguments, &[Layer::Phases, Layer::Pages, Layer::Functions]);
    let (missing, called, without) = against_each_other(&trace);
    println!("{}: {called} functions, {without} executed pages in which none of them begins", program.display());
    assert!(called > 30, "{called}: {:?}", trace.run.notes);
    if lacks_single_pages(&trace) {
        return trace;
    }
    let named = |&(file, address): &(FileId, u64)| {
        let name = trace.object(file).and_then(|object| object.symbol_at(address)).map(|symbol| symbol.name.clone());
        format!("{} {address:x} {name:?}", trace.file(file).unwrap().path.display())
    };
    assert!(missing.is_empty(), "{} of {called}: {:#?}", missing.len(), missing.iter().map(named).collect::<Vec<_>>());
    trace
}

#[test]
fn pages_of_called_functions_were_touched() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "functions", &source(), &["-O1"]);
    let trace = check(&program, &[]);
    let called: Vec<&str> = trace
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Function))
        .filter_map(|event| event.code)
        .filter_map(|code| Some(trace.object(code.file)?.symbol_at(code.address)?.name.as_str()))
        .filter(|name| name.starts_with("function_"))
        .collect();
    let expected: Vec<String> = (0..90).step_by(3).map(|number| format!("function_{number}")).collect();
    assert_eq!(called, expected);
}

#[test]
fn pages_of_called_functions_were_touched_in_a_large_program() {
    if lacks_breakpoints() {
        return;
    }
    let program = Path::new("/usr/bin/llvm-objdump-14");
    if !program.exists() {
        return skip("llvm-objdump-14 (llvm-14) is not installed");
    }
    check(program, &["-d", "/usr/bin/true"]);
}
