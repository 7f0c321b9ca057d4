//! The index's own directory: full disks, kills, removal while it is used; and that nothing else is written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use coldstart_testing::{Mount, as_unprivileged, eventually, is_root, succeed};

use super::python::packages;
use super::scene::{PYTHON, Scene};
use crate::text;

/// Names in the index that are left of one in the making.
fn leftovers(scene: &Scene) -> Vec<String> {
    let names = fs::read_dir(scene.path("index")).into_iter().flatten();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "current").collect()
}

#[test]
fn nothing_of_the_users_tree_is_written() {
    let mut scene = packages(3);
    scene.variables.push(("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()));
    let before: Vec<_> = (0..3).map(|number| scene.snapshot(&format!("p{number}"))).collect();
    scene.make(&[PYTHON, "app.py"]);
    scene.same(&[PYTHON, "app.py"]);
    let after: Vec<_> = (0..3).map(|number| scene.snapshot(&format!("p{number}"))).collect();
    assert_eq!(before, after);
    assert_eq!(leftovers(&scene), Vec::<String>::new());
}

#[test]
fn a_read_only_tree_and_a_read_only_index() {
    if !is_root() {
        return;
    }
    let scene = packages(2);
    scene.make(&[PYTHON, "app.py"]);
    let everything = |mode: &str| drop(succeed(Command::new("chmod").args(["-R", mode]).arg(scene.path("index"))));
    everything("a-w");
    let before = scene.snapshot("index");
    scene.same(&[PYTHON, "app.py"]);
    // Root may write all the same, but does not.
    assert_eq!(scene.snapshot("index"), before);
    let mut command = as_unprivileged(PYTHON);
    command
        .env("PYTHONPATH", scene.path("index/current/python"))
        .args(["-c", "import json; print(json.__name__)"])
        .current_dir("/");
    assert_eq!(text(&command.output().unwrap().stderr), "");
    everything("u+w");
}

#[test]
fn an_index_that_is_removed_while_it_is_used() {
    let scene = packages(3);
    scene.file("p0/early.py", "value = 1\n");
    let app = "import os, shutil, sys, subprocess, early\n\
               if os.path.exists('remove-it'):\n    shutil.rmtree('index')\n\
               import pkg1, json, colorsys\nprint(pkg1.__file__, json.__file__)\nsys.stdout.flush()\n\
               subprocess.run([sys.executable, '-c', 'import pkg2; print(pkg2.__file__)'])\n";
    scene.file("remove.py", app);
    scene.make(&[PYTHON, "remove.py"]);
    let plain = text(&scene.plain(&[PYTHON, "remove.py"]).stdout);
    fs::write(scene.path("remove-it"), "").unwrap();
    let indexed = scene.indexed(&[PYTHON, "remove.py"]);
    assert_eq!((text(&indexed.stdout), text(&indexed.stderr)), (plain.clone(), String::new()));
    assert!(!scene.path("index").exists());
    // The variables are still set.
    fs::remove_file(scene.path("remove-it")).unwrap();
    let path = scene.variables.iter().find(|(name, _)| name == "PYTHONPATH").unwrap().1.clone();
    let own = format!("{}:{path}", scene.text_of("index/current/python"));
    let after = scene.command(PYTHON).arg("remove.py").env("PYTHONPATH", own).output().unwrap();
    assert_eq!((text(&after.stdout), text(&after.stderr)), (plain, String::new()));
}

#[test]
fn damaged_files_of_an_index_cost_nothing_but_time() {
    let scene = packages(3);
    scene.make(&[PYTHON, "app.py"]);
    for name in ["python/index.bin", "python/pack.bin", "python/hook.bin"] {
        let path = scene.path("index/current").join(name);
        let good = fs::read(&path).unwrap();
        for bad in [&good[..0], &good[..good.len() / 2], b"nonsense"] {
            fs::write(&path, bad).unwrap();
            scene.same(&[PYTHON, "app.py"]);
        }
        fs::remove_file(&path).unwrap();
        scene.same(&[PYTHON, "app.py"]);
        fs::write(&path, good).unwrap();
    }
    // Of another index.
    scene.file("other.py", "import csv\n");
    let pack = fs::read(scene.path("index/current/python/pack.bin")).unwrap();
    scene.make(&[PYTHON, "other.py"]);
    fs::write(scene.path("index/current/python/pack.bin"), pack).unwrap();
    scene.same(&[PYTHON, "other.py"]);
}

#[test]
fn a_disk_that_is_full_leaves_nothing_and_the_earlier_index() {
    if !is_root() {
        return;
    }
    let scene = packages(3);
    fs::create_dir(scene.path("small")).unwrap();
    let mount = Mount::new(&scene.path("small"), &["-t", "tmpfs", "-o", "size=96k", "none"]).unwrap();
    let output = scene.coldstart(&["make", "-o", "small/index", "--", PYTHON, "app.py"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("hint: "), "{said}");
    assert_eq!(fs::read_dir(scene.path("small")).unwrap().count(), 0);
    drop(mount);
}

#[test]
fn a_kill_while_it_is_made_leaves_the_earlier_index_and_the_next_one_cleans_up() {
    let scene = packages(3);
    scene.make(&[PYTHON, "app.py"]);
    let before = scene.snapshot("index/current");
    scene.file("slow.py", "import time, pkg0\ntime.sleep(60)\n");
    let mut making = scene
        .command(env!("CARGO_BIN_EXE_coldstart"))
        .args(["index", "make", "-o", "index", "--", PYTHON, "slow.py"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("an index in the making", || !leftovers(&scene).is_empty());
    making.kill().unwrap();
    making.wait().unwrap();
    assert_eq!(leftovers(&scene).len(), 1);
    assert_eq!(scene.snapshot("index/current"), before);
    scene.same(&[PYTHON, "app.py"]);
    // The program that it had started is killed with it, and no longer holds the lock.
    eventually("a directory without leftovers", || {
        scene.make(&[PYTHON, "app.py"]);
        leftovers(&scene).is_empty()
    });
}

#[test]
fn what_is_not_an_index_is_not_replaced() {
    let scene = packages(1);
    scene.file("precious/data", "1");
    scene.file("file", "1");
    for name in ["precious", "file", "p0"] {
        let before = scene.snapshot(name);
        let output = scene.coldstart(&["make", "-o", name, "--", PYTHON, "app.py"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("not an index made by coldstart"), "{}", text(&output.stderr));
        assert_eq!(scene.snapshot(name), before);
    }
    fs::create_dir(scene.path("empty")).unwrap();
    let output = scene.coldstart(&["make", "-o", "empty", "--", PYTHON, "app.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(fs::metadata(scene.path("empty")).unwrap().permissions().mode() & 0o777 != 0o700, "others may read it");
}
