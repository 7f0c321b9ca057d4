//! What only a root file system tells: owners of files, and searches for libraries.

use std::fs;

use coldstart_testing::{compile, skip};

use crate::scene::Scene;
use crate::tables::{column, rows};

#[test]
fn a_root_file_system_knows_owners_and_searches() {
    let scene = Scene::new();
    let root = scene.path("tree");
    let Some(loader) =
        ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].iter().find(|path| fs::exists(path).unwrap())
    else {
        return skip("needs glibc's loader");
    };
    for directory in ["etc", "usr/bin", "far", "var/lib/dpkg/info", &format!(".{}", loader.rsplit_once('/').unwrap().0)]
    {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("etc/os-release"), "ID=test\n").unwrap();
    fs::copy(loader, root.join(format!(".{loader}"))).unwrap();
    // Five directories without the library, then the one with it; libc is nowhere.
    let run_path = "-Wl,-rpath,/far:/far/a:/far/b:/far/c:/usr/bin:/usr/lib/app";
    let library = root.join("usr/lib/app/libtable.so");
    let source = "extern int *pointers[]; int main(void) { return !pointers[0]; }";
    compile("cc", &root.join("usr/bin/app"), source, &[library.to_str().unwrap(), run_path]);
    let status =
        "Package: app\nStatus: install ok installed\nArchitecture: amd64\nVersion: 7\nMaintainer: x\nDescription: x\n";
    fs::write(root.join("var/lib/dpkg/status"), status).unwrap();
    fs::write(root.join("var/lib/dpkg/info/app.list"), "/.\n/usr\n/usr/bin\n/usr/bin/app\n").unwrap();
    // A package that lies in a root file system is not opened.
    fs::create_dir(root.join("srv")).unwrap();
    let outcome = scene.survey(&[&root], "survey");
    let survey = scene.path("survey");
    assert_eq!(outcome.problems, 0, "{:?}", column(&survey, "problems", "problem"));
    let objects =
        rows(&survey, "objects", &["path", "package", "package_version", "failed_probes", "missing_libraries"]);
    let app = objects.iter().find(|row| row[0] == "usr/bin/app").unwrap();
    assert_eq!(app[1..3], ["app", "7"]);
    let probes: u64 = app[3].parse().unwrap();
    assert!(probes >= 5, "{app:?}");
    assert_eq!(app[4], "1", "libc.so.6 is not there: {app:?}");
    let library = objects.iter().find(|row| row[0] == "usr/lib/app/libtable.so").unwrap();
    assert_eq!(library[1..], ["-", "-", "-", "-"]);
    assert!(column(&survey, "findings", "kind").contains(&"missing-library".to_owned()));
}

#[test]
fn packages_in_a_root_file_system_stay_closed() {
    let scene = Scene::new();
    let package = scene.deb("cached", "xz");
    let root = scene.path("tree");
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/os-release"), "ID=test\n").unwrap();
    fs::rename(package, root.join("cached.deb")).unwrap();
    assert_eq!(scene.survey(&[&root], "survey").objects, 1);
    assert_eq!(column(&scene.path("survey"), "objects", "archive"), ["-"]);
}
