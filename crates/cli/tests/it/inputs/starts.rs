//! Standard input of a program that is started, and programs that start whatever the plan is.

use std::fs;
use std::path::Path;

use super::bounded::run;
use super::kinds::{Kind, Placed};
use super::table::Content;
use super::{COLDSTART, scratch, valid};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn nothing_to_read_is_an_input() {
    let directory = scratch();
    let ended = run(Path::new(COLDSTART), &words("trace -o out --input /dev/null -- cat"), directory.path(), false);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_pipe_is_refused_by_whatever_name() {
    let directory = scratch();
    for verb in ["measure --state hot --no-history", "prefetch record -o out", "speedup -o out", "trace -o out"] {
        // The shell's process substitution gives such a name, and so does /dev/stdin.
        for input in ["/dev/stdin", "/dev/fd/0"] {
            let line = format!("echo words | \"$0\" {verb} --input {input} -- cat");
            let shell = vec!["-c".to_owned(), line, COLDSTART.to_owned()];
            let ended = run(Path::new("/bin/sh"), &shell, directory.path(), false);
            let said = &ended.stderr;
            assert_eq!(ended.code, Some(2), "{verb}: {said}");
            assert!(said.contains(&format!("`{input}`")) && said.contains("it is a FIFO"), "{verb}: {said}");
            assert!(said.contains("hint: save its output to a file first"), "{verb}: {said}");
        }
    }
}

#[test]
fn every_start_reads_the_input_from_its_beginning() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("input"), "words\n").unwrap();
    // Each start notes what it read.
    let line = "\"$0\" measure --state hot --runs 3 --no-history --input /dev/stdin -- sh -c 'cat >> read' < input";
    let shell = vec!["-c".to_owned(), line.to_owned(), COLDSTART.to_owned()];
    let ended = run(Path::new("/bin/sh"), &shell, directory.path(), false);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let read = fs::read_to_string(at("read")).unwrap();
    assert!(read.lines().count() >= 4 && read.lines().all(|line| line == "words"), "{read}");
}

#[test]
fn the_program_starts_whatever_the_plan_is() {
    for kinds in [Kind::NEVER_A_FILE, Kind::NOT_THERE, Kind::NO_CONTENT] {
        for &kind in kinds {
            let directory = scratch();
            let mut placed = Placed::new(kind, directory.path(), &valid(Content::Plan));
            let name = placed.path.to_str().unwrap().to_owned();
            let mut line = words(&format!("prefetch run {name} -- sh -c"));
            line.push("exit 7".to_owned());
            let ended = run(Path::new(COLDSTART), &line, directory.path(), false);
            assert_eq!(ended.code, Some(7), "{kind:?}: {ended:?}");
            assert!(ended.stderr.contains(&name), "{kind:?}: {}", ended.stderr);
            assert_eq!(placed.disturbed(), None, "{kind:?}");
        }
    }
}

#[test]
fn what_took_the_place_of_a_planned_file_is_not_opened() {
    let directory = scratch();
    let mut fifo = Placed::new(Kind::FifoWithWriter, directory.path(), &[]);
    let plan = directory.path().join("plan");
    fs::write(&plan, super::plan::plan_of(&[&fifo.path, Path::new("/dev/zero"), directory.path()])).unwrap();
    let plan = plan.to_str().unwrap();
    let show = run(Path::new(COLDSTART), &words(&format!("prefetch show {plan}")), directory.path(), false);
    assert_eq!(show.code, Some(1), "{show:?}");
    assert_eq!(show.stderr.matches("not prefetched").count(), 3, "{show:?}");
    for (line, code) in [(format!("prefetch run {plan}"), 0), (format!("prefetch run {plan} -- sh -c :"), 0)] {
        let ended = run(Path::new(COLDSTART), &words(&line), directory.path(), false);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    assert_eq!(fifo.disturbed(), None);
}
