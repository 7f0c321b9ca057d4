//! Every argument that may name a file is tried out with everything that can stand at a path: as an input, or as an output.
//!
//! The arguments come from the definitions themselves, so that a new one fails here until it has a row in `inputs/table.rs` or
//! `outputs/table.rs`, or a reason below why it names no file.

use coldstart_cli::{ListedArgument, ValueKind, listed_arguments};

use crate::inputs::table::INPUTS;
use crate::outputs::table::{OUTPUTS, Output};

/// Values that are no names of files: the verb (`*` for all that have it), the argument, and what its values are.
const NOT_FILES: &[(&str, &str, &str)] = &[
    ("*", "--arch", "an architecture"),
    ("*", "--budget", "a time"),
    ("*", "--check", "a command for the shell"),
    ("*", "--error-rate", "a number"),
    ("*", "--fail-if-slower", "a number"),
    ("*", "--functions-of", "a pattern"),
    ("*", "--generator", "text to be written"),
    ("*", "--glibc", "a version"),
    ("*", "--grace", "a number"),
    ("*", "--hwcaps", "names of directories that the loader adds"),
    ("*", "--keep-path", "a soname"),
    ("*", "--label", "text to be kept"),
    ("*", "--levels", "processor levels"),
    ("*", "--limit", "a number"),
    ("*", "--min-libc", "a version"),
    ("*", "--passes", "names of passes"),
    ("*", "--longest-wait", "a time"),
    ("*", "--object", "a pattern"),
    ("*", "--name", "the name of an installation, or a soname"),
    ("*", "--pid", "a number"),
    ("*", "--place", "the kind of a place: tests/it/installed/ tries out its directories"),
    ("*", "--ready", "a condition: launch/tests/it/file.rs tries out its paths, which are watched and not opened"),
    ("*", "--runs", "a number"),
    ("*", "--share", "a number"),
    ("*", "--size", "two numbers"),
    ("*", "--table", "the name of a table"),
    ("*", "--time-limit", "a number"),
    ("measure", "--history", "the name of a program in the history"),
    ("survey", "WHAT", "what may stand there is tried out in the crate survey: tests/it/formats.rs and hostile.rs"),
    ("survey", "--output", "a directory: tests/it/restart.rs of the crate survey tries out what is there already"),
    ("survey report", "DIR", "a directory: the tests of survey-program try out what is none"),
    ("survey report", "--html", "written by another program: the tests of survey-program try out what it may replace"),
    ("survey", "--scratch", "a directory for files without a name"),
    ("survey", "--shard", "two numbers"),
    ("image make", "--oci-output", "a new directory: tests/it/image_oci.rs tries out what is there already"),
    (
        "image run",
        "IMAGE",
        "a failure starts the program: tests/it/image_run/unusable.rs tries out what may stand there",
    ),
    ("image run", "PROGRAM", "handed to the kernel as it is"),
    ("*", "--exclude", "a name in the image, compared and not opened: app/src/image/exclude.rs"),
    (
        "image install",
        "IMAGE",
        "opened as by `image run`: tests/it/image_run/installed.rs tries out what may stand there",
    ),
    ("image install", "--input", "kept for making the image again, which opens it"),
    ("image install", "PROGRAM", "looked up and not started: tests/it/installed/ tries out what cannot be found"),
    ("image mount", "IMAGE", "opened as by `image run`: tests/it/image_run/mounted.rs tries it out"),
    ("image umount", "IMAGE", "opened as by `image run`: tests/it/image_run/mounted.rs tries it out"),
    ("image install", "--index", "a directory, opened as by `index install`"),
    ("index install", "DIR", "a directory: tests/it/index/installed.rs tries out what is none"),
    ("index install", "--input", "kept for making the index again, which opens it"),
    ("index install", "PROGRAM", "looked up and not started: tests/it/installed/ tries out what cannot be found"),
    ("index make", "--output", "a directory: tests/it/index/places.rs tries out what may stand there"),
    ("index make", "--input", "opened as by `measure`"),
    ("index make", "PROGRAM", "looked up as by `measure`: tests/it/index/verbs.rs tries out what is no interpreter"),
    ("index run", "DIR", "a directory: tests/it/index/verbs.rs starts a program without it"),
    ("index run", "PROGRAM", "handed to the kernel as it is: tests/it/index/verbs.rs tries out what cannot be started"),
    ("index env", "DIR", "a directory, read as `index check` reads it"),
    ("index check", "DIR", "a directory: tests/it/index/places.rs tries out what may stand there"),
    ("index show", "DIR", "a directory, read as `index check` reads it"),
    ("installed", "NAME", "the name of an installation"),
    ("*", "--block-size", "a number"),
    ("order appimage", "--trace", "read as by `order zip`, once there is an AppImage"),
    ("prefetch install", "--index", "a directory, opened as by `index install`"),
    ("prefetch install", "--input", "kept for later recordings, which open it"),
    ("prefetch install", "PROGRAM", "looked up and not started: tests/it/installed/ tries out what cannot be found"),
    ("prefetch run", "PROGRAM", "handed to the kernel as it is: tests/it/prefetch.rs tries out what cannot be started"),
    ("resolve", "--ld-library-path", "the variable's text, read by the loader's rules"),
    ("resolve", "--ld-preload", "the variable's text, read by the loader's rules"),
    ("resolve", "--why", "a soname"),
    ("trace sql", "SELECT", "a question in SQL"),
    ("verify", "ARGS", "handed to the program as they are"),
];

/// What an output's row is called in the definitions: `-o .html` is about `--output`.
fn argument_of(output: &Output) -> &'static str {
    match output.option.split(' ').next() {
        Some("-o") | None => "--output",
        Some(option) => option,
    }
}

fn is_input(argument: &ListedArgument) -> bool {
    let verb = format!("{} ", argument.verb);
    INPUTS.iter().any(|row| row.argument == argument.name && row.words.starts_with(&verb))
}

fn is_output(argument: &ListedArgument) -> bool {
    OUTPUTS.iter().any(|row| argument_of(row) == argument.name && row.verb == argument.verb)
}

fn is_no_file(argument: &ListedArgument) -> bool {
    NOT_FILES.iter().any(|(verb, name, _)| *name == argument.name && ["*", argument.verb.as_str()].contains(verb))
}

#[test]
fn every_argument_is_tried_out_or_names_no_file() {
    let listed = listed_arguments();
    let may_name_files = listed.iter().filter(|argument| matches!(argument.values, ValueKind::Path | ValueKind::Text));
    let forgotten: Vec<String> = may_name_files
        .filter(|argument| !is_input(argument) && !is_output(argument) && !is_no_file(argument))
        .map(|argument| format!("{} {}", argument.verb, argument.name))
        .collect();
    assert!(forgotten.is_empty(), "arguments without a row in a table: {forgotten:#?}");
}

#[test]
fn every_row_is_about_an_argument_that_there_is() {
    let listed = listed_arguments();
    let is_there = |verb: &dyn Fn(&str) -> bool, name: &str| {
        listed.iter().any(|argument| argument.name == name && verb(&argument.verb))
    };
    let mut stale = Vec::new();
    for row in INPUTS {
        if !is_there(&|verb| row.words.starts_with(&format!("{verb} ")), row.argument) {
            stale.push(format!("input {}: {}", row.argument, row.words));
        }
    }
    for row in OUTPUTS {
        if !is_there(&|verb| verb == row.verb, argument_of(row)) {
            stale.push(format!("output {} {}", row.verb, row.option));
        }
    }
    for (verb, name, _) in NOT_FILES {
        if !is_there(&|listed| *verb == "*" || listed == *verb, name) {
            stale.push(format!("no file {verb} {name}"));
        }
    }
    assert!(stale.is_empty(), "rows without an argument: {stale:#?}");
}
