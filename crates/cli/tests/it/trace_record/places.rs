//! Where the trace goes, and the program's own streams.

use std::process::Stdio;

use super::support::{Bench, COLDSTART, skip, text};

#[test]
fn a_place_that_cannot_be_written_is_told_before_the_program_runs() {
    let bench = Bench::new();
    let in_proc = format!("{}/it.coldtrace", coldstart_host::process::ALL);
    for place in ["/no/such/folder/it.coldtrace", &in_proc, "/dev/null", "."] {
        let output = bench.command(COLDSTART, &["trace", "-o", place, "--", "/bin/echo", "ran"]).output().unwrap();
        assert_eq!((output.stdout, output.status.code()), (Vec::new(), Some(2)), "{place}");
        assert!(text(&output.stderr).contains(place), "{}", text(&output.stderr));
    }
}

#[test]
fn an_old_trace_is_replaced_by_a_whole_one_only() {
    let bench = Bench::new();
    let place = bench.path().join("it.coldtrace");
    assert_eq!(bench.trace(&[], &["true"]).status.code(), Some(0));
    let old = std::fs::read(&place).unwrap();
    assert_eq!(bench.trace(&[], &["./missing"]).status.code(), Some(2));
    assert_eq!(std::fs::read(&place).unwrap(), old);
    assert_eq!(bench.trace(&[], &["true"]).status.code(), Some(0));
    assert!(bench.read().run.complete);
    let names: Vec<_> = std::fs::read_dir(bench.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["it.coldtrace"]);
}

#[test]
fn the_input_is_the_programs() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("input"), "line one\nline two\n").unwrap();
    let input = std::fs::File::open(bench.path().join("input")).unwrap();
    let mut command = bench.command(COLDSTART, &["trace", "-o", "it.coldtrace", "--", "cat"]);
    let output = command.stdin(Stdio::from(input)).output().unwrap();
    assert_eq!((output.stdout, output.status.code()), (b"line one\nline two\n".to_vec(), Some(0)));
}

#[test]
fn a_closed_pipe_is_the_programs_end_and_not_ours() {
    let bench = Bench::new();
    let words = format!("{COLDSTART} trace -o it.coldtrace -- yes 2>/dev/null | head -1");
    let output = bench.command("sh", &["-c", &words]).output().unwrap();
    assert_eq!(output.stdout, b"y\n");
}

#[test]
fn a_terminal_is_the_programs() {
    if !coldstart_testing::is_there("script") {
        return skip("needs script");
    }
    let bench = Bench::new();
    let words = format!(
        "stty rows 33 cols 77; {COLDSTART} trace -o it.coldtrace -- sh -c 'stty size; test -t 0 && echo terminal; read line; echo got $line; exit 5'"
    );
    let mut command = bench.command("script", &["-qec", &words, "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"words\n").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    let shown = text(&output.stdout);
    assert!(["33 77", "terminal", "got words"].iter().all(|wanted| shown.contains(wanted)), "{shown}");
    assert_eq!(output.status.code(), Some(5), "{shown}");
}
