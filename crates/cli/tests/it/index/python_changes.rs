//! Changes after an index for Python was made: each is noticed when the program starts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use coldstart_testing::{as_unprivileged, is_root};

use super::python::{ASKED, REPORT, packages};
use super::scene::{PYTHON, Scene};
use crate::text;

/// The program of all tests here.
fn scene() -> Scene {
    let mut scene = Scene::new();
    for directory in ["a", "b", "c"] {
        scene.file(&format!("{directory}/only_{directory}.py"), &format!("value = '{directory}'\n"));
    }
    scene.file("b/module.py", "value = 'b'\n");
    scene.file("c/module.py", "value = 'c'\n");
    scene.file("b/pkg/__init__.py", "value = 'package of b'\n");
    scene.file("b/pkg/sub.py", "value = 'sub'\n");
    scene.file("b/pkg/deep/__init__.py", "");
    scene.file("b/pkg/deep/leaf.py", "value = 'leaf'\n");
    scene.search("PYTHONPATH", &["a", "b", "c"]);
    let app = format!(
        "{REPORT}
import importlib
for name in ('only_a', 'only_b', 'only_c', 'module', 'pkg', 'pkg.sub', 'pkg.deep.leaf', 'late'):
    try:
        importlib.import_module(name)
        report(name)
    except ImportError as error:
        print(error)
"
    );
    scene.file("app.py", &app);
    scene.make(&[PYTHON, "app.py"]);
    assert_eq!(scene.check().0, Some(0));
    scene
}

/// After the change the program prints this, as it does without the index; `check` names what has changed.
#[track_caller]
fn noticed(scene: &Scene, printed: &str, changed: &str) {
    let said = scene.same(&[PYTHON, "app.py"]);
    assert!(said.contains(printed), "{printed}: {said}");
    let (code, checked) = scene.check();
    assert_eq!(code, Some(1), "{checked}");
    assert!(checked.to_string().contains(&scene.text_of(changed)), "{changed}: {checked}");
    // The rest of the index is still used.
    assert_eq!(text(&scene.indexed(&[PYTHON, "-c", ASKED]).stdout), "True\n");
}

#[test]
fn a_module_that_shadows_another_one() {
    let scene = scene();
    scene.file("a/module.py", "value = 'shadow'\n");
    noticed(&scene, "shadow", "a");
}

#[test]
fn a_package_that_shadows_a_module_of_the_same_directory() {
    let scene = scene();
    scene.file("b/module/__init__.py", "value = 'package before module'\n");
    noticed(&scene, "package before module", "b");
}

#[test]
fn a_module_that_was_missing() {
    let scene = scene();
    assert!(scene.same(&[PYTHON, "app.py"]).contains("No module named 'late'"));
    scene.file("c/late.py", "value = 'came late'\n");
    noticed(&scene, "came late", "c");
}

#[test]
fn a_removed_module_is_found_elsewhere() {
    let scene = scene();
    fs::remove_file(scene.path("b/module.py")).unwrap();
    noticed(&scene, "module.py", "b");
    assert!(scene.same(&[PYTHON, "app.py"]).contains(&scene.text_of("c/module.py")));
}

#[test]
fn a_removed_submodule() {
    let scene = scene();
    fs::remove_file(scene.path("b/pkg/sub.py")).unwrap();
    noticed(&scene, "No module named 'pkg.sub'", "b/pkg");
}

#[test]
fn a_renamed_module_and_a_renamed_directory() {
    let scene = scene();
    fs::rename(scene.path("b/pkg/sub.py"), scene.path("b/pkg/bus.py")).unwrap();
    noticed(&scene, "No module named 'pkg.sub'", "b/pkg");
    fs::rename(scene.path("b"), scene.path("moved")).unwrap();
    noticed(&scene, "No module named 'only_b'", "b");
}

#[test]
fn an_edited_module() {
    let scene = scene();
    scene.file("b/module.py", "value = 'edited in place'\n");
    noticed(&scene, "edited in place", "b/module.py");
}

#[test]
fn a_module_replaced_by_a_rename() {
    let scene = scene();
    scene.file("new", "value = 'replaced'\n");
    fs::rename(scene.path("new"), scene.path("b/pkg/sub.py")).unwrap();
    noticed(&scene, "replaced", "b/pkg/sub.py");
}

#[test]
fn an_edit_that_restores_size_and_time_is_as_for_python_itself() {
    let scene = scene();
    let path = scene.path("b/module.py");
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "value = 'B'\n").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(times).unwrap();
    // Python believes its own cached code then, and so it does with the index.
    scene.same(&[PYTHON, "app.py"]);
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn a_module_that_becomes_a_link_and_one_whose_link_dangles() {
    let mut scene = Scene::new();
    scene.file("store/linked.py", "value = 'by link'\n");
    scene.file("b/linked.py", "value = 'behind'\n");
    fs::create_dir_all(scene.path("a")).unwrap();
    symlink("../store/linked.py", scene.path("a/linked.py")).unwrap();
    scene.search("PYTHONPATH", &["a", "b"]);
    scene.file("app.py", &format!("{REPORT}\nimport linked\nreport('linked')\n"));
    assert!(scene.made_and_same(&[PYTHON, "app.py"]).contains("by link"));
    // The directory with the link does not change.
    fs::remove_file(scene.path("store/linked.py")).unwrap();
    assert!(scene.same(&[PYTHON, "app.py"]).contains("behind"));
}

#[test]
fn directories_whose_time_is_always_the_same() {
    let mut scene = Scene::new();
    let epoch = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let set = |directory: &std::path::Path| fs::File::open(directory).unwrap().set_modified(epoch).unwrap();
    scene.file("a/other.py", "");
    scene.file("b/module.py", "value = 'b'\n");
    set(&scene.path("a"));
    set(&scene.path("b"));
    scene.search("PYTHONPATH", &["a", "b"]);
    scene.file("app.py", &format!("{REPORT}\nimport module\nreport('module')\n"));
    scene.made_and_same(&[PYTHON, "app.py"]);
    scene.file("a/module.py", "value = 'shadow'\n");
    set(&scene.path("a"));
    assert!(scene.same(&[PYTHON, "app.py"]).contains("shadow"));
}

#[test]
fn another_path_variable_and_another_program() {
    let mut scene = scene();
    for entries in [&["c", "b", "a"][..], &["a", "c"], &["c"], &["d", "a", "b", "c"], &[]] {
        scene.file("d/module.py", "value = 'd'\n");
        scene.search("PYTHONPATH", entries);
        scene.same(&[PYTHON, "app.py"]);
    }
    scene.search("PYTHONPATH", &["a", "b", "c"]);
    let other = format!(
        "{REPORT}\nimport html.parser, module, pkg.deep\nreport('html.parser', 'module', 'pkg.deep', 'nothing', 'a.b')\n"
    );
    scene.file("other.py", &other);
    scene.same(&[PYTHON, "other.py"]);
}

#[test]
fn a_moved_prefix() {
    let mut scene = scene();
    fs::create_dir(scene.path("new")).unwrap();
    for directory in ["a", "b", "c"] {
        fs::rename(scene.path(directory), scene.path("new").join(directory)).unwrap();
    }
    scene.search("PYTHONPATH", &["new/a", "new/b", "new/c"]);
    assert!(scene.same(&[PYTHON, "app.py"]).contains(&scene.text_of("new/b/module.py")));
    // Another tree at the old place.
    scene.file("b/module.py", "value = 'stranger'\n");
    scene.search("PYTHONPATH", &["a", "b", "c"]);
    assert!(scene.same(&[PYTHON, "app.py"]).contains("stranger"));
}

#[test]
fn another_interpreter_runs_as_without() {
    let scene = packages(2);
    scene.make(&[PYTHON, "app.py"]);
    let hook = scene.path("index/current/python/hook.bin");
    let mut bytes = fs::read(&hook).unwrap();
    // Made for another version: its name stands in front.
    bytes[0] ^= 1;
    fs::write(&hook, bytes).unwrap();
    let environment = "import os, subprocess, sys\nprint(os.environ.get('PYTHONPATH'), sys.path)\n\
                       print(subprocess.run(['env'], capture_output=True, text=True).stdout.count('index/current/python'))\n";
    scene.file("env.py", environment);
    assert!(scene.same(&[PYTHON, "env.py"]).ends_with("\n0\n"));
    assert_eq!(text(&scene.indexed(&[PYTHON, "-c", ASKED]).stdout), "False\n");
    scene.same(&[PYTHON, "app.py"]);
}

#[test]
fn another_user_sees_what_that_user_may_see() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name);
    for (name, content) in
        [("a/module.py", "value = 'private'\n"), ("b/module.py", "value = 'public'\n"), ("b/other.py", "value = 1\n")]
    {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), content).unwrap();
    }
    fs::write(at("app.py"), "import module, other\nprint(module.value, other.value)\n").unwrap();
    fs::set_permissions(at("a"), fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", at("a").display(), at("b").display());
    let mut scene = Scene::new();
    scene.variables.push(("PYTHONPATH".to_owned(), path.clone()));
    let index = at("index");
    let (index, app) = (index.to_str().unwrap(), at("app.py").to_str().unwrap().to_owned());
    let output = scene.coldstart(&["make", "-o", index, "--", PYTHON, &app]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let own = format!("{index}/current/python:{path}");
    let print = |path: &str, unprivileged: bool| {
        let mut command = match unprivileged {
            true => as_unprivileged(PYTHON),
            false => std::process::Command::new(PYTHON),
        };
        command.arg(&app).env("PYTHONPATH", path).env("HOME", "/nonexistent").current_dir("/");
        text(&command.output().unwrap().stdout)
    };
    assert_eq!(print(&own, false), "private 1\n");
    assert_eq!((print(&own, true), print(&path, true)), ("public 1\n".to_owned(), "public 1\n".to_owned()));
}
