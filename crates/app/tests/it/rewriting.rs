//! `pack`, `unpack`, `bind`, `unbind`, `status` and `verify`.

use std::path::PathBuf;
use std::time::Duration;

use coldstart_app::observer::Silent;
use coldstart_app::rewriting::PlaceOptions;
use coldstart_app::{bind, pack, restoring, status, unbind, unpack, verify};
use coldstart_launch::{Interrupt, LaunchOptions};
use coldstart_rewrite::{ChangedFile, Identity, Passes};

use super::scene::{Heard, Scene, bytes, json};

fn packing(targets: Vec<PathBuf>, place: PlaceOptions) -> pack::Options {
    pack::Options {
        targets,
        one_file_system: false,
        place,
        dry_run: false,
        keep_original: None,
        passes: Passes::default(),
        closed_world: Vec::new(),
        libc_floor: Some("2.36".parse().unwrap()),
        sparse: false,
        drop_syment: false,
        undo: true,
        allow_set_id: false,
        allow_signed: false,
    }
}

fn binding(program: PathBuf) -> bind::Options {
    bind::Options {
        programs: vec![program],
        place: in_place(),
        dry_run: false,
        keep_original: None,
        edit: coldstart_bind::Options::default(),
        allow_signed: false,
        anyway: true,
    }
}

fn in_place() -> PlaceOptions {
    PlaceOptions { in_place: true, ..PlaceOptions::default() }
}

fn restoring(target: PathBuf) -> restoring::Options {
    restoring::Options {
        targets: vec![target],
        one_file_system: false,
        place: in_place(),
        changed: ChangedFile::Refuse,
    }
}

#[test]
fn a_library_is_packed_verified_and_unpacked() {
    let Some(scene) = Scene::build() else { return };
    let interrupt = Interrupt::listen().unwrap();
    let packed = scene.path("packed.so");
    let place = PlaceOptions { output: Some(packed.clone()), ..PlaceOptions::default() };
    let heard = Heard::default();
    let report = pack::pack(&packing(vec![scene.library.clone()], place), &interrupt, &heard).unwrap();
    assert_eq!((report.total.packed, report.total.files, *heard.steps.lock().unwrap()), (1, 1, 1));
    assert!(report.total.size_after < report.total.size_before);
    let shown = json(&report);
    assert_eq!(shown["files"][0]["outcome"], "packed");
    assert_eq!(shown["files"][0]["output"], packed.to_str().unwrap());
    assert!(shown["files"][0]["proof"]["relative_relocations"].as_u64().unwrap() >= 4000, "{shown}");

    let found = status::of_file(&packed).unwrap();
    assert_eq!(found.identity, Some(Identity::Intact));
    assert!(found.is_unchanged() && found.binding.is_none());

    let against =
        |original: Option<PathBuf>| verify::Options { output: packed.clone(), against: original, starting: None };
    let verdict = verify::verify(&against(Some(scene.library.clone()))).unwrap();
    assert!(verdict.same && verdict.proof.is_some() && !verdict.is_bound);
    let other = verify::verify(&against(Some(scene.path("lib/libanswer.so")))).unwrap();
    assert!(!other.same && other.difference.is_some());
    assert!(verify::verify(&against(None)).unwrap().same);

    let report = unpack::unpack(&restoring(packed.clone()), &interrupt, &Silent).unwrap();
    assert_eq!(report.total.restored, 1);
    assert_eq!(bytes(&packed), bytes(&scene.library));
    assert_eq!(json(&report)["files"][0]["outcome"], "restored");
}

#[test]
fn a_tree_is_packed_and_what_is_refused_is_told() {
    let Some(scene) = Scene::build() else { return };
    let interrupt = Interrupt::listen().unwrap();
    let place = PlaceOptions { output: Some(scene.path("out")), ..PlaceOptions::default() };
    let missing = scene.path("missing.so");
    let options = packing(vec![scene.path(""), missing], place);
    let heard = Heard::default();
    let report = pack::pack(&options, &interrupt, &heard).unwrap();
    assert!(heard.errors.lock().unwrap().is_empty());
    assert_eq!((report.total.packed, report.total.failed), (1, 1), "{:?}", report.total);
    assert!(!report.is_one);
    let error = pack::pack(&packing(vec![scene.library.clone()], PlaceOptions::default()), &interrupt, &Silent);
    assert!(error.unwrap_err().hints()[0].contains("--in-place"));
}

#[test]
fn a_program_is_bound_verified_started_and_unbound() {
    let Some(scene) = Scene::build() else { return };
    let interrupt = Interrupt::listen().unwrap();
    let original = bytes(&scene.program);
    let dry_run = bind::Options { place: PlaceOptions::default(), dry_run: true, ..binding(scene.program.clone()) };
    let report = bind::bind(&dry_run, &interrupt, &Silent).unwrap();
    assert_eq!(json(&report)["programs"][0]["outcome"], "would-bind");
    assert_eq!(bytes(&scene.program), original);

    let report = bind::bind(&binding(scene.program.clone()), &interrupt, &Silent).unwrap();
    let shown = json(&report);
    assert_eq!(shown["programs"][0]["outcome"], "bound", "{shown}");
    assert_eq!(shown["programs"][0]["predicted"]["failed_probes_after"], 0, "{shown}");
    let links = scene.path(".program.libs");
    assert!(links.is_dir());

    let found = status::status(&[scene.program.clone(), scene.path("missing")]);
    let shown = json(&found);
    assert!(shown["files"][0]["binding"].is_object() && shown["files"][0]["error"].is_null(), "{shown}");
    assert!(found.files[0].1.as_ref().unwrap().is_unchanged());
    assert!(found.files[1].1.is_err() && shown["files"][1]["error"].is_string());

    let launching = LaunchOptions { time_limit: Some(Duration::from_secs(60)), ..LaunchOptions::default() };
    let starting = Some(verify::StartOptions { launching, arguments: Vec::new(), runs: 0 });
    let options = verify::Options { output: scene.program.clone(), against: None, starting };
    let verdict = verify::verify(&options).unwrap();
    assert!(verdict.is_bound && verdict.proof.is_some());
    assert!(verdict.search.as_ref().unwrap().holds());
    // How many probes fail depends on LD_LIBRARY_PATH, which cargo sets.
    let starts = verdict.starts.as_ref().unwrap();
    assert_eq!((starts.after.end.as_str(), &starts.parting), ("exited with code 0", &None));
    assert!(verify::verify(&verify::Options { starting: None, ..options }).unwrap().same);

    let report = unbind::unbind(&restoring(scene.program.clone()), false, &interrupt, &Silent).unwrap();
    assert_eq!(report.total.restored, 1);
    assert!(bytes(&scene.program) == original && !links.exists());
}
