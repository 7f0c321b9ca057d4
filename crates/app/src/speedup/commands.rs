//! The commands that a story ends with: what to type to have the best fixes for good.

use std::ffi::OsString;
use std::path::Path;

use coldstart_launch::{CommandLine, Input, LaunchOptions, Readiness};

use super::SpeedupOptions;
use crate::fix_kind::FixKind;

/// The commands that make an image for good, and start the program from it.
pub(super) fn making_image(options: &SpeedupOptions) -> String {
    let image = named(options, ".erofs");
    let make = ours(words(["image", "make", "-o"], [image.clone()], &waiting(&options.launch)), &program(options));
    format!("{make} && {}", ours(["image".into(), "run".into(), image], &program(options)))
}

/// The commands that make an index and install it, with the plan or an image of a start with it.
pub(super) fn with_index(options: &SpeedupOptions, plan: Option<&Path>, has_image: bool) -> String {
    let (index, program, waiting) = (named(options, ".index"), program(options), waiting(&options.launch));
    let make = words(["index", "make", "-o"], [index.clone()], &waiting);
    let mut commands = vec![ours(make, &program)];
    if let Some(plan) = plan {
        let install = words(["prefetch", "install", "--index"], [index, plan.into()], &waiting);
        commands.push(ours(install, &program));
    } else if has_image {
        let image = named(options, ".erofs");
        let run = [vec!["coldstart".into(), "index".into(), "run".into(), index.clone(), "--".into()], program.clone()];
        commands.push(ours(words(["image", "make", "-o"], [image.clone()], &waiting), &run.concat()));
        let install = words(["image", "install", "--index"], [index, image], &waiting);
        commands.push(ours(install, &program));
    } else {
        commands.push(ours(words(["index", "install"], [index], &waiting), &program));
    }
    commands.join(" && ")
}

/// The command that makes the changes of a trial for good: measured again, for what may not be replaced is left out then.
pub(super) fn installing(options: &SpeedupOptions) -> String {
    let mut words: Vec<OsString> = vec!["speedup".into(), "--install".into()];
    if options.fixes != FixKind::ALL {
        let names: Vec<&str> = options.fixes.iter().map(|fix| fix.name()).collect();
        words.extend(["--fixes".into(), names.join(",").into()]);
    }
    words.extend(options.together.then(|| "--together".into()));
    words.extend(waiting(&options.launch));
    if let Some(check) = &options.check {
        words.extend(["--check".into(), check.into()]);
    }
    ours(words, &program(options))
}

/// The options of the start that are not the default.
pub(super) fn waiting(launch: &LaunchOptions) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if !matches!(launch.readiness, Readiness::Exit) {
        words.extend(["--ready".into(), launch.readiness.to_string().into()]);
    }
    if let Input::File(input) = &launch.input {
        words.extend(["--input".into(), input.into()]);
    }
    words
}

/// The program and its arguments.
fn program(options: &SpeedupOptions) -> Vec<OsString> {
    let arguments = options.program.arguments.iter().cloned();
    std::iter::once(options.program.program.clone()).chain(arguments).collect()
}

/// A file in the working directory, called as the program.
fn named(options: &SpeedupOptions, ending: &str) -> OsString {
    let mut name = Path::new(&options.program.program).file_name().map(OsString::from).unwrap_or_default();
    name.push(ending);
    name
}

fn words<const N: usize, const M: usize>(verb: [&str; N], files: [OsString; M], waiting: &[OsString]) -> Vec<OsString> {
    verb.into_iter().map(OsString::from).chain(files).chain(waiting.iter().cloned()).collect()
}

fn ours(words: impl IntoIterator<Item = OsString>, program: &[OsString]) -> String {
    let arguments = words.into_iter().chain(["--".into()]).chain(program.iter().cloned()).collect();
    CommandLine { program: "coldstart".into(), arguments }.to_string()
}
