//! Programs run under the machine's own loader with an audit library: which file each name becomes.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::process::Command;

use coldstart_bind::audit::{Architecture, Found, Listing, Names, Place, Requester, Search, Table, read};
use coldstart_testing::{is_there, skip};

use crate::audit_scene::{Machine, Scene, told};

/// A library where RUNPATH finds it, and another file of the same name that only a table leads to.
fn two_files() -> Scene {
    let scene = Scene::new(&["path"]);
    scene.number("path/libone.so", 1);
    scene.number("table/libone.so", 2);
    scene
}

#[test]
fn names_become_what_the_table_says_and_others_are_searched() {
    let scene = two_files();
    scene.number("path/libother.so", 7);
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let words = ["libone.so", "libother.so", "libmissing.so"];
    assert_eq!(scene.run(&audit, &words), "libone.so 2\nlibother.so 7\nlibmissing.so not there");
    assert_eq!(scene.tries(&audit, &["libone.so"], "libone.so"), 0);
    assert!(scene.tries(&audit, &["libother.so"], "libother.so") > 0);
}

#[test]
fn needed_libraries_are_redirected_by_dt_audit_too() {
    let scene = two_files();
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let needed = [
        format!("-L{}", scene.path("path").display()),
        "-Wl,--no-as-needed,-l:libone.so".to_owned(),
        format!("-Wl,--audit={}", audit.display()),
    ];
    scene.program("bound", &["path"], &needed);
    // The loaded library keeps its name, so the same name later is the same library.
    let output = Command::new(scene.path("bound")).arg("libone.so").output().unwrap();
    assert_eq!(told(&output), "libone.so 2");
}

#[test]
fn requesters_get_their_own_files_and_those_in_no_group_what_holds_for_all() {
    let scene = Scene::new(&["path"]);
    for (path, value) in [("path/libone.so", 1), ("own/libone.so", 2), ("plugin/libone.so", 3), ("all/libone.so", 4)] {
        scene.number(path, value);
    }
    scene.plugin("plugins/known.so", "path");
    scene.plugin("plugins/unknown.so", "path");
    let (known, unknown) = (scene.path("plugins/known.so"), scene.path("plugins/unknown.so"));
    let mut table = scene.table(&[("libone.so", "own/libone.so")]);
    let group = scene.group(&[scene.library_at("plugins/known.so")], &[("libone.so", "plugin/libone.so")]);
    table.groups.push(group);
    let words = |plugin: &std::path::Path| [plugin.display().to_string(), "through:libone.so".to_owned()];
    let answer = |table: &Table, plugin: &std::path::Path| {
        let audit = scene.audit(table);
        let words = words(plugin);
        let told = scene.run(&audit, &words.each_ref().map(String::as_str));
        told.lines().last().unwrap().to_owned()
    };
    assert_eq!(answer(&table, &known), "through:libone.so 3");
    assert_eq!(answer(&table, &unknown), "through:libone.so 1");
    table.for_all = scene.answers(&[("libone.so", "all/libone.so")]);
    assert_eq!(answer(&table, &known), "through:libone.so 3");
    assert_eq!(answer(&table, &unknown), "through:libone.so 4");
    let audit = scene.audit(&table);
    assert_eq!(scene.run(&audit, &["libone.so"]), "libone.so 2");
}

#[test]
fn a_plugin_finds_at_the_first_try_what_its_own_runpath_has() {
    let scene = Scene::new(&[]);
    scene.number("far/libdeep.so", 5);
    scene.plugin("plugins/plugin.so", "far");
    let search = Search {
        requester: scene.library_at("plugins/plugin.so"),
        before_library_path: vec![],
        after_library_path: vec![scene.place("far").path().to_vec()],
    };
    let listing = |_: &[u8]| Listing { files: BTreeSet::from([b"libdeep.so".to_vec()]), ..Listing::default() };
    let audit = scene.audit(&Table::of_search(&[search], listing, Names::All));
    let plugin = scene.path("plugins/plugin.so").display().to_string();
    let words = ["libdeep.so", plugin.as_str(), "through:libdeep.so"];
    let told = scene.run(&audit, &words);
    assert_eq!(told.lines().next(), Some("libdeep.so not there"), "the program itself does not search there");
    assert_eq!(told.lines().last(), Some("through:libdeep.so 5"));
    assert_eq!(scene.tries(&audit, &words[1..], "libdeep.so"), 0);
}

#[test]
fn names_with_slashes_change_only_when_the_table_has_them() {
    let scene = two_files();
    let whole = scene.path("path/libone.so").display().to_string();
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    assert!(scene.run(&audit, &[&whole]).ends_with("libone.so 1"));
    let audit = scene.audit(&scene.table(&[(&whole, "table/libone.so")]));
    assert!(scene.run(&audit, &[&whole]).ends_with("libone.so 2"));
}

#[test]
fn ld_library_path_keeps_its_place() {
    let scene = two_files();
    scene.number("user/libone.so", 3);
    scene.number("empty/libunrelated.so", 0);
    let folder = |name: &str| scene.path(name).display().to_string();
    let (user, empty) = (folder("user"), folder("empty"));
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let value = |library_path: &str| {
        scene.run_with(&audit, &["libone.so"], &[("LD_LIBRARY_PATH", library_path)]).replace("libone.so ", "")
    };
    assert_eq!(value(&user), "3");
    assert_eq!(value(&empty), "2");
    assert_eq!(value(""), "2");
    assert_eq!(value("/no/such/folder"), "2");
    assert_eq!(value(&format!("{empty}:{user}")), "3");
    assert_eq!(value(&format!("{empty};{user}")), "3");
    assert_eq!(value(&format!("{user}/")), "3");
    let overwritten = scene.run_with(&audit, &["overwrite", "libone.so"], &[("LD_LIBRARY_PATH", &user)]);
    assert_eq!(overwritten, "libone.so 3");
    // Relative to where the program is started, which is the scene's folder.
    assert_eq!(value("user"), "3");
    assert_eq!(value(&format!("{empty}:")), "2");
    // A dollar is left to the loader altogether, so that RUNPATH is searched.
    assert_eq!(value("/no/$LIB"), "1");
    assert_eq!(value("$ORIGIN/user"), "3");
    scene.number("libone.so", 4);
    for list in [format!("{empty}:"), format!(":{empty}"), format!("{empty}::{empty}"), ":".to_owned()] {
        assert_eq!(value(&list), "4", "{list}");
    }
    let long = format!("/{}:{user}", "x".repeat(5000));
    assert_eq!(value(&long), "3");
}

#[test]
fn a_library_path_with_subfolders_for_processors_is_left_to_the_loader() {
    if !cfg!(target_arch = "x86_64") {
        return skip("the levels of x86-64 are what is looked for");
    }
    let scene = two_files();
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let user = scene.path("user").display().to_string();
    let value = || scene.run_with(&audit, &["libone.so"], &[("LD_LIBRARY_PATH", &user)]);
    // Each level, for only some may be what this processor has; all give the same number.
    for level in ["x86-64-v2", "x86-64-v3", "x86-64-v4"] {
        scene.number(&format!("user/glibc-hwcaps/{level}/libone.so"), 5);
    }
    let has_levels = std::fs::read_to_string(coldstart_host::machine::PROCESSORS).unwrap().contains("sse4_2");
    assert_eq!(value(), if has_levels { "libone.so 5" } else { "libone.so 1" });
    std::fs::remove_dir_all(scene.path("user/glibc-hwcaps")).unwrap();
    assert_eq!(value(), "libone.so 2");
    std::fs::create_dir(scene.path("user/tls")).unwrap();
    assert_eq!(value(), "libone.so 1", "the loader searches by itself");
}

#[test]
fn what_rpath_finds_is_not_overridden() {
    let scene = two_files();
    scene.number("user/libone.so", 3);
    let mut table = scene.table(&[("libone.so", "table/libone.so")]);
    for found in table.groups[0].entries.values_mut() {
        *found = Found { before_library_path: true, ..found.clone() };
    }
    let user = scene.path("user").display().to_string();
    assert_eq!(scene.run_with(&scene.audit(&table), &["libone.so"], &[("LD_LIBRARY_PATH", &user)]), "libone.so 2");
}

#[test]
fn a_preloaded_library_is_the_one_that_is_found_by_its_name() {
    let scene = two_files();
    scene.number("user/libone.so", 3);
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let preloaded = scene.path("user/libone.so").display().to_string();
    assert_eq!(scene.run_with(&audit, &["libone.so"], &[("LD_PRELOAD", &preloaded)]), "libone.so 3");
    // A plain name in LD_PRELOAD is the program's request.
    assert_eq!(scene.run_with(&audit, &["libone.so"], &[("LD_PRELOAD", "libone.so")]), "libone.so 2");
}

#[test]
fn a_variable_switches_the_table_off() {
    let scene = two_files();
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    for (value, expected) in [("1", "libone.so 1"), ("yes", "libone.so 1"), ("0", "libone.so 2"), ("", "libone.so 2")] {
        assert_eq!(scene.run_with(&audit, &["libone.so"], &[("COLDSTART_DISABLE", value)]), expected);
    }
}

#[test]
fn the_loader_run_as_a_command_searches_by_itself() {
    let scene = two_files();
    scene.number("user/libone.so", 3);
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    let interpreter = Command::new("readelf").arg("-l").arg(scene.path("program")).output().unwrap();
    let interpreter = String::from_utf8(interpreter.stdout).unwrap();
    let interpreter = interpreter.split("interpreter: ").nth(1).unwrap().split(']').next().unwrap();
    let mut command = Command::new(interpreter);
    command.arg("--library-path").arg(scene.path("user")).arg(scene.path("program")).arg("libone.so");
    assert_eq!(told(&command.env("LD_AUDIT", audit).output().unwrap()), "libone.so 3");
}

#[test]
fn namespaces_and_threads_get_the_same_answers() {
    let scene = two_files();
    let names: Vec<String> = (0..20).map(|number| format!("libmany{number}.so")).collect();
    let mut answers = vec![("libone.so", "table/libone.so".to_owned())];
    for name in &names {
        scene.number(&format!("far/{name}"), 1);
        answers.push((name, format!("far/{name}")));
    }
    let answers: Vec<(&str, &str)> = answers.iter().map(|(name, path)| (*name, path.as_str())).collect();
    let audit = scene.audit(&scene.table(&answers));
    assert_eq!(scene.run(&audit, &["apart:libone.so", "libone.so"]), "apart:libone.so 2\nlibone.so 2");
    let together = format!("together:{}", names.join(","));
    assert_eq!(scene.run(&audit, &[&together]), "failed 0");
}

#[test]
fn a_missing_file_fails_unless_the_library_is_told_to_look() {
    let scene = two_files();
    let mut table = scene.table(&[("libone.so", "gone/libone.so")]);
    assert_eq!(scene.run(&scene.audit(&table), &["libone.so"]), "libone.so not there");
    table.check_files = true;
    assert_eq!(scene.run(&scene.audit(&table), &["libone.so"]), "libone.so 1");
    scene.number("gone/libone.so", 9);
    assert_eq!(scene.run(&scene.audit(&table), &["libone.so"]), "libone.so 9");
}

#[test]
fn a_tree_may_move_with_its_program() {
    let scene = Scene::new(&["path"]);
    scene.number("tree/lib/libone.so", 6);
    scene.number("tree/lib/libtwo.so", 7);
    scene.plugin("tree/plugins/plugin.so", "path");
    let mut table = scene.table(&[("libone.so", "tree/lib/libone.so"), ("plugin.so", "tree/plugins/plugin.so")]);
    let group = scene.group(&[scene.library_at("tree/plugins/plugin.so")], &[("libtwo.so", "tree/lib/libtwo.so")]);
    table.groups.push(group);
    let moved = table.relative_to(scene.place("tree/bin").path(), scene.place("tree").path());
    // The loader takes $ORIGIN in DT_AUDIT for the program's folder, so the audit library may move along.
    scene.program("tree/bin/program", &[], &["-Wl,--audit=$ORIGIN/audit.so".to_owned()]);
    std::fs::copy(scene.audit(&moved), scene.path("tree/bin/audit.so")).unwrap();
    let answers = || {
        // Through a link, as programs are often started.
        let words = ["libone.so", "plugin.so", "through:libtwo.so"];
        told(&Command::new(scene.path("link")).args(words).output().unwrap())
    };
    let expected = "libone.so 6\nplugin.so 0\nthrough:libtwo.so 7";
    symlink(scene.path("tree/bin/program"), scene.path("link")).unwrap();
    assert_eq!(answers(), expected);
    std::fs::rename(scene.path("tree"), scene.path("elsewhere")).unwrap();
    std::fs::remove_file(scene.path("link")).unwrap();
    symlink(scene.path("elsewhere/bin/program"), scene.path("link")).unwrap();
    assert_eq!(answers(), expected);
}

#[test]
fn a_program_that_gains_rights_runs_without_the_table() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can make a set-user-ID program of another user");
    }
    let scene = two_files();
    let audit = scene.audit(&scene.table(&[("libone.so", "table/libone.so")]));
    scene.program("bound", &["path"], &[format!("-Wl,--audit={}", audit.display())]);
    let open_all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scene.path("."), open_all).unwrap();
    let start = || {
        let options = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        Command::new("setpriv").args(options).arg(scene.path("bound")).arg("libone.so").output().unwrap()
    };
    assert_eq!(told(&start()), "libone.so 2");
    chown(scene.path("bound"), Some(0), Some(0)).unwrap();
    std::fs::set_permissions(scene.path("bound"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    assert_eq!(std::fs::metadata(scene.path("bound")).unwrap().mode() & 0o4000, 0o4000);
    let output = start();
    if told(&output) == "libone.so 2" {
        return skip("the temporary folder is on a file system without set-user-ID");
    }
    assert_eq!(told(&output), "libone.so 1");
}

#[test]
fn what_other_tools_read_is_right() {
    for architecture in Architecture::ALL {
        let scene = Scene::new(&[]);
        let mut table = scene.table(&[("libone.so", "table/libone.so"), ("libtwo.so", "table/libtwo.so")]);
        table.for_all = scene.answers(&[("libthree.so", "table/libthree.so")]);
        let library = coldstart_bind::audit::build(architecture, &table).unwrap();
        assert_eq!(read(&library).unwrap(), table);
        let path = scene.path("library.so");
        std::fs::write(&path, &library).unwrap();
        let output = Command::new("readelf").args(["-Wa"]).arg(&path).output().unwrap();
        let (told, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(wrong.is_empty() && !told.to_lowercase().contains("warning"), "{architecture:?}: {wrong}{told}");
        assert!(told.contains("Library soname: [libcoldstart-audit.so]"));
        assert!(told.contains("There are no relocations in this file."), "{architecture:?}");
        for unwanted in ["NEEDED", "TEXTREL", "RWE", "la_symbind", "la_pltenter", "la_activity", "UND la"] {
            assert!(!told.contains(unwanted), "{architecture:?}: {unwanted}");
        }
        for exported in ["la_version", "la_objopen", "la_objsearch"] {
            assert!(told.contains(exported), "{architecture:?}: {exported}");
        }
        assert!(architecture.template().len() < 10_000);
        // The native linker's own reader takes its own machine only.
        if architecture == crate::audit_scene::native().architecture {
            let lint = Command::new("eu-elflint").args(["--gnu-ld", "--quiet"]).arg(&path).output().unwrap();
            assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
        }
    }
}

#[test]
fn other_machines_follow_their_tables() {
    let machine =
        |architecture, compiler, emulator, root| Machine { architecture, compiler, emulator: Some((emulator, root)) };
    let asked_for = [
        machine(Architecture::I386, "i686-linux-gnu-gcc", "qemu-i386", "/usr/i686-linux-gnu"),
        machine(Architecture::Aarch64, "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
    ];
    // Nobody installs these for the tests; where they are, they are used.
    let others = [
        machine(Architecture::Arm, "arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf"),
        machine(Architecture::Riscv64, "riscv64-linux-gnu-gcc", "qemu-riscv64", "/usr/riscv64-linux-gnu"),
        machine(Architecture::S390x, "s390x-linux-gnu-gcc", "qemu-s390x", "/usr/s390x-linux-gnu"),
    ];
    let complete = |machine: &Machine| {
        let (emulator, root) = machine.emulator.unwrap();
        let header = std::path::Path::new(root).join("include/stdio.h");
        is_there(machine.compiler) && is_there(emulator) && header.exists()
    };
    for machine in &asked_for {
        if !complete(machine) {
            skip(&format!("{} or its libc or qemu-user is missing", machine.compiler));
        }
    }
    for machine in asked_for.into_iter().chain(others).filter(complete) {
        let name = machine.architecture.name();
        let scene = Scene::on(machine, &["path"]);
        scene.number("path/libone.so", 1);
        scene.number("table/libone.so", 2);
        scene.number("user/libone.so", 3);
        let mut table = scene.table(&[("libone.so", "table/libone.so")]);
        let found = Found { place: Place::FromProgram("table/libone.so".into()), before_library_path: false };
        table.for_all.insert("librelative.so".into(), found);
        let audit = scene.audit(&table);
        let words = ["libone.so", "librelative.so", "libmissing.so"];
        let expected = "libone.so 2\nlibrelative.so 2\nlibmissing.so not there";
        assert_eq!(scene.run(&audit, &words), expected, "{name}");
        let user = scene.path("user").display().to_string();
        let told = |variable| scene.run_with(&audit, &["libone.so"], &[variable]);
        assert_eq!(told(("LD_LIBRARY_PATH", &user)), "libone.so 3", "{name}");
        assert_eq!(told(("LD_LIBRARY_PATH", "/no/such")), "libone.so 2", "{name}");
        assert_eq!(told(("COLDSTART_DISABLE", "1")), "libone.so 1", "{name}");
        table.groups[0].requesters = BTreeSet::from([Requester::Library(Place::Absolute("/none".into()))]);
        assert_eq!(scene.run(&scene.audit(&table), &["libone.so"]), "libone.so 1", "{name}");
    }
}
