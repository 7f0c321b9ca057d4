//! A survey that was stopped goes on where it was; one that does not fit is refused.

use std::fs;
use std::path::Path;

use coldstart_survey::{MANIFEST, SurveyError};

use crate::scene::Scene;
use crate::tables::{column, rows, shards};

fn refused(result: Result<coldstart_app::survey::Outcome, SurveyError>) -> String {
    let Err(SurveyError::Directory { reason, .. }) = result else { panic!("{result:?}") };
    reason
}

#[test]
fn only_what_is_missing_is_made_again() {
    let scene = Scene::new();
    let tree = scene.path("tree");
    let first = scene.survey(&[&tree], "survey");
    assert_eq!((first.kept, first.made), (0, 1));
    let survey = scene.path("survey");
    let [shard] = &shards(&survey)[..] else { panic!() };
    let whole = fs::read(shard.join("objects.parquet")).unwrap();
    assert_eq!(scene.survey(&[&tree], "survey").kept, 1);
    // A damaged table, as after a power loss; one that is cut off; none; a changed record.
    let mut zeros = whole.clone();
    zeros.fill(0);
    for bytes in [&zeros[..], &whole[..whole.len() / 2], &[]] {
        fs::write(shard.join("objects.parquet"), bytes).unwrap();
        assert_eq!(scene.survey(&[&tree], "survey").made, 1);
        assert_eq!(fs::read(shard.join("objects.parquet")).unwrap(), whole, "the same bytes again");
    }
    fs::write(shard.join("shard.json"), "{}").unwrap();
    assert_eq!(scene.survey(&[&tree], "survey").made, 1);
    // What a killed process left.
    fs::create_dir_all(survey.join(".working/shard=00000")).unwrap();
    fs::write(survey.join(".working/shard=00000/objects.parquet"), "half").unwrap();
    fs::remove_dir_all(shard).unwrap();
    assert_eq!(scene.survey(&[&tree], "survey").made, 1);
    assert!(!survey.join(".working").exists());
    // A changed file.
    fs::write(tree.join("usr/lib/app/other.py"), "").unwrap();
    let again = scene.survey(&[&tree], "survey");
    assert_eq!((again.made, again.files), (1, 3));
    assert_eq!(column(&survey, "modules", "path").len(), 2);
}

#[test]
fn what_does_not_fit_is_refused() {
    let scene = Scene::new();
    let (tree, library) = (scene.path("tree"), scene.path("tree/usr/lib/app/libtable.so"));
    fs::create_dir(scene.path("full")).unwrap();
    fs::write(scene.path("full/letter"), "").unwrap();
    assert!(refused(scene.try_survey(&[&tree], "full")).contains("not a survey"));
    scene.survey(&[&tree], "survey");
    assert!(refused(scene.try_survey(&[&library], "survey")).contains("holds a survey of"));
    let manifest = scene.path("survey").join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"schema\": 1", "\"schema\": 0")).unwrap();
    assert!(refused(scene.try_survey(&[&tree], "survey")).contains("schema 0"));
    fs::write(
        &manifest,
        text.replace(&format!("\"coldstart\": \"{}\"", env!("CARGO_PKG_VERSION")), "\"coldstart\": \"0.0.9\""),
    )
    .unwrap();
    assert!(refused(scene.try_survey(&[&tree], "survey")).contains("0.0.9"));
    fs::write(&manifest, "{").unwrap();
    assert!(refused(scene.try_survey(&[&tree], "survey")).contains("damaged"));
    assert!(matches!(scene.try_survey(&[Path::new("/no/such")], "new"), Err(SurveyError::Source { .. })));
    assert!(matches!(scene.try_survey(&[&scene.path("library.c")], "new"), Err(SurveyError::UnknownSource(_))));
    assert!(!scene.path("new").exists(), "nothing is written before the sources are known");
}

#[test]
fn a_survey_inside_what_it_surveys_leaves_itself_out() {
    let scene = Scene::new();
    let tree = scene.path("tree");
    scene.survey(&[&tree], "tree/survey");
    let again = scene.survey(&[&tree], "tree/survey");
    assert_eq!((again.kept, again.made, again.files), (1, 0, 2));
    assert_eq!(rows(&tree.join("survey"), "objects", &["path"]).len(), 1);
}
