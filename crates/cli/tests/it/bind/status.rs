//! `coldstart status`: each change that it tells, and the form of its JSON.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use super::scene::{SEARCH, Tree, is_there, library, succeed};

/// The kinds of change since the program was bound, after something was done.
fn changes(what: impl FnOnce(&Tree)) -> Vec<String> {
    let tree = Tree::new();
    tree.bind(&[]);
    assert!(tree.done(&["status", "bin/app"]).contains("none since it was bound"));
    what(&tree);
    let (exit, report) = tree.json(&["status", "bin/app", "--json"]);
    let kinds = report["files"][0]["changes"].as_array().unwrap().iter();
    let kinds: Vec<String> = kinds.map(|change| change["kind"].as_str().unwrap().to_owned()).collect();
    let (code, text, stderr) = tree.said(&["status", "bin/app"]);
    assert_eq!((exit, code), (i32::from(!kinds.is_empty()), exit), "{text}{stderr}");
    assert_eq!(text.matches("\n  changed ").count(), kinds.len(), "{text}");
    // Binding it anew would lose what was edited.
    let is_edited = kinds.iter().any(|kind| kind == "program-edited");
    assert_eq!(text.contains("--rebind"), !kinds.is_empty() && !is_edited, "{text}");
    kinds
}

#[test]
fn each_change_is_told_by_its_kind() {
    let gone = changes(|tree| std::fs::remove_file(tree.at("two/libsecond.so")).unwrap());
    assert_eq!(gone, ["gone", "cannot-be-bound"]);
    let replaced = changes(|tree| drop(library(&tree.at("two/libsecond.so"), "libsecond.so", "second", 20, &[])));
    assert_eq!(replaced, ["replaced"]);
    let touched = changes(|tree| succeed(Command::new("touch").arg(tree.at("two/libsecond.so"))).clear());
    assert_eq!(touched, Vec::<String>::new());
    let elsewhere = changes(|tree| super::scene::copy(&tree.at("two/libsecond.so"), &tree.at("zero/libsecond.so")));
    assert_eq!(elsewhere, ["found-elsewhere"]);
    let names = changes(|tree| {
        library(&tree.at("three/libnew.so"), "libnew.so", "new", 4, &[]);
        let (to_new, rpath) = (format!("-L{}", tree.at("three").display()), format!("-Wl,-rpath,{SEARCH}"));
        library(&tree.at("two/libsecond.so"), "libsecond.so", "second", 2, &[&to_new, "-lnew", &rpath]);
    });
    assert_eq!(names, ["replaced", "other-names"]);
    let farm = changes(|tree| std::fs::remove_dir_all(tree.at("bin/.app.libs")).unwrap());
    assert_eq!(farm, ["farm-gone"]);
    let link = changes(|tree| std::fs::remove_file(tree.at("bin/.app.libs/libsecond.so")).unwrap());
    assert_eq!(link, ["link-gone"]);
    let leads = changes(|tree| {
        std::fs::remove_file(tree.at("bin/.app.libs/libsecond.so")).unwrap();
        symlink("nowhere", tree.at("bin/.app.libs/libsecond.so")).unwrap();
    });
    assert_eq!(leads, ["link-leads-elsewhere"]);
    if is_there("patchelf") {
        let edited = changes(|tree| {
            succeed(Command::new("patchelf").args(["--set-rpath", "/nowhere"]).arg(tree.app()));
        });
        assert_eq!(edited, ["program-edited"]);
    }
}

fn form(value: &Value) -> String {
    serde_json::to_string_pretty(&kinds(value)).unwrap()
}

/// The names and kinds of values in JSON, without what differs between machines and runs.
fn kinds(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), kinds(value))).collect(),
        Value::Array(values) => values.first().map(kinds).into_iter().collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "yes or no".into(),
        Value::Null => Value::Null,
    }
}

#[test]
fn json_has_these_fields() {
    let tree = Tree::new();
    let (_, bound) = tree.json(&["bind", "--in-place", "bin/app", "--json"]);
    assert_eq!(bound["schema"], "coldstart.bind/1");
    insta::assert_snapshot!("bind", form(&bound));
    let (_, status) = tree.json(&["status", "bin/app", "--json"]);
    assert_eq!(status["schema"], "coldstart.status/1");
    insta::assert_snapshot!("status", form(&status));
    let (_, verified) = tree.json(&["verify", "--run", "--runs", "2", "bin/app", "--json"]);
    assert_eq!(verified["schema"], "coldstart.verify/1");
    insta::assert_snapshot!("verify", form(&verified));
    let (_, unbound) = tree.json(&["unbind", "--in-place", "bin/app", "--json"]);
    assert_eq!(unbound["schema"], "coldstart.unbind/1");
    insta::assert_snapshot!("unbind", form(&unbound));
}

#[test]
fn several_files_are_told_apart() {
    let tree = Tree::new();
    tree.bind(&[]);
    let (exit, text, stderr) = tree.said(&["status", "bin/app", "one/libfirst.so", "nothing"]);
    assert_eq!(exit, 2, "{text}{stderr}");
    assert!(text.contains("was not edited by coldstart") && stderr.contains("nothing"), "{text}{stderr}");
    assert_eq!(tree.said(&["status", "bin/app", "one/libfirst.so"]).0, 1);
    assert_eq!(tree.said(&["status", "one/libfirst.so"]).0, 1);
}
