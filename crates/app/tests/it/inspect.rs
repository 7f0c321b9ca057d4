//! `inspect`.

use std::path::Path;

use coldstart_app::error::AppError;
use coldstart_app::inspect::{Options, Report, inspect};
use coldstart_loader::Closure;

use super::scene::{Heard, Scene, json};

fn of(targets: &[&Path]) -> Options<'static> {
    Options {
        targets: targets.iter().map(|path| path.to_path_buf()).collect(),
        compare: None,
        closure: None,
        one_file_system: false,
        keep_lists: true,
    }
}

#[test]
fn files_and_directories_are_inspected_and_compared() {
    let Some(scene) = Scene::build() else { return };
    let heard = Heard::default();
    let options = Options { compare: Some(scene.program.clone()), ..of(&[&scene.path("")]) };
    let Report { survey, compared_with } = inspect(&options, &heard);
    assert_eq!((survey.objects.len(), survey.errors), (3, 0));
    assert!(heard.errors.lock().unwrap().is_empty());
    assert!(*heard.steps.lock().unwrap() >= 6);
    assert!(survey.totals.relocations >= 4000, "{:?}", survey.totals);
    assert!(survey.findings().any(|finding| finding.kind.name() == "unpacked-relocations"));
    let shown = json(&Report { survey, compared_with });
    assert!(shown["objects"][0]["path"].is_string() && shown["compared_with"]["objects"].is_array(), "{shown}");
}

#[test]
fn what_was_named_and_is_nothing_to_inspect_is_told_with_advice() {
    let Some(scene) = Scene::build() else { return };
    let script = scene.path("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let heard = Heard::default();
    let report = inspect(&of(&[&script, &scene.program]), &heard);
    assert_eq!((report.survey.objects.len(), report.survey.errors), (1, 1));
    assert!(heard.errors.lock().unwrap()[0].contains("script"));
    assert!(heard.hints.lock().unwrap()[0].contains("PID/exe"));
}

#[test]
fn a_program_is_inspected_with_what_it_is_said_to_load() {
    let Some(scene) = Scene::build() else { return };
    let loads_nothing = |_: &Path| Err::<Closure, _>(AppError::new("no loader"));
    let heard = Heard::default();
    let report = inspect(&Options { closure: Some(&loads_nothing), ..of(&[&scene.program]) }, &heard);
    assert_eq!((report.survey.closures.len(), report.survey.errors), (0, 1));
    assert!(heard.hints.lock().unwrap()[0].contains("without --closure"));
}
