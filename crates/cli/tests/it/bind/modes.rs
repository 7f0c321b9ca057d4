//! What each mode keeps and what it loses: rows of the table in docs/bind.md, each seen in real starts.

use std::path::Path;
use std::process::Command;

use super::scene::{
    GLIBC, PRINTED, SEARCH, Seen, Tree, compile_by, is_there, library, plain, scratch, seen, skip, succeed,
};
use super::table::{MODES, holds};

/// Makes a tree for each mode, lets `prepare` change it, binds it, and asks what is seen.
fn in_each_mode(prepare: impl Fn(&Tree), options: &[&str], mut see: impl FnMut(&Tree, &str) -> String) -> [String; 4] {
    MODES.map(|mode| {
        let tree = Tree::new();
        prepare(&tree);
        tree.bind(&[&["--mode", mode], options].concat());
        see(&tree, mode)
    })
}

fn holds_row(row: &str, seen: &[String; 4]) {
    holds(row, [&seen[0], &seen[1], &seen[2], &seen[3]]);
}

fn nothing(_: &Tree) {}

/// Another first library, in a folder of its own.
fn other_first(tree: &Tree) -> std::path::PathBuf {
    let (to_second, path) = (format!("-L{}", tree.at("two").display()), tree.at("other/libfirst.so"));
    library(&path, "libfirst.so", "first", 100, &[&to_second, "-lsecond"])
}

#[test]
fn ld_library_path_replaces_a_library() {
    let seen = in_each_mode(nothing, &[], |tree, _| {
        other_first(tree);
        match succeed(plain(&tree.app()).env("LD_LIBRARY_PATH", tree.at("other"))).as_str() {
            "100 2 3\n" => "yes".to_owned(),
            PRINTED => "**no**".to_owned(),
            other => other.to_owned(),
        }
    });
    holds_row("LD_LIBRARY_PATH replaces a library", &seen);
}

#[test]
fn ld_preload_of_a_needed_library() {
    let seen = in_each_mode(nothing, &[], |tree, _| {
        let other = other_first(tree);
        let start = seen(plain(&tree.app()).env("LD_PRELOAD", &other));
        assert_eq!(start.printed, "100 2 3\n", "{}", start.said);
        let copies = start.objects.iter().filter(|path| path.ends_with("libfirst.so")).count();
        // The very same file is never loaded twice.
        let same = super::scene::seen(plain(&tree.app()).env("LD_PRELOAD", tree.at("one/libfirst.so")));
        assert_eq!(same.objects.iter().filter(|path| path.ends_with("libfirst.so")).count(), 1, "{same:?}");
        if copies == 1 { "one copy".to_owned() } else { format!("**{copies} copies**") }
    });
    holds_row("LD_PRELOAD of a needed library", &seen);
}

#[test]
fn moving_the_whole_tree() {
    let outcome = |tree: &Tree| {
        let to = tree.root.with_file_name("moved");
        std::fs::rename(&tree.root, &to).unwrap();
        let start = seen(&mut plain(&to.join("bin/app")));
        std::fs::rename(&to, &tree.root).unwrap();
        if start.printed == PRINTED && start.failed.is_empty() {
            "works".to_owned()
        } else if start.printed == PRINTED {
            "**searches again**".to_owned()
        } else {
            "**does not start**".to_owned()
        }
    };
    let mut seen = in_each_mode(nothing, &[], |tree, _| outcome(tree));
    let tree = Tree::new();
    tree.bind(&["--mode", "audit", "--root", "."]);
    if outcome(&tree) == "works" {
        seen[3] += "; with --root works";
    }
    holds_row("moving the whole tree", &seen);
}

#[test]
fn processor_levels() {
    let variant = |tree: &Tree| {
        let to_second = format!("-L{}", tree.at("two").display());
        let path = tree.at("one/glibc-hwcaps/x86-64-v2/libfirst.so");
        library(&path, "libfirst.so", "first", 102, &[&to_second, "-lsecond"]);
    };
    let start =
        |tree: &Tree, mask: &str| succeed(plain(Path::new(GLIBC)).args(["--glibc-hwcaps-mask", mask]).arg(tree.app()));
    let tree = Tree::new();
    variant(&tree);
    let levels = ["x86-64-v2", "none"].map(|mask| start(&tree, mask));
    if levels != ["102 2 3\n", PRINTED] {
        return skip(&format!("this processor or loader does not know x86-64-v2: {levels:?}"));
    }
    let seen = MODES.map(|mode| {
        let tree = Tree::new();
        variant(&tree);
        let (exit, report) = tree.json(&["bind", "--in-place", "bin/app", "--mode", mode, "--json"]);
        if exit == 1 {
            assert_eq!(report["programs"][0]["refusal"]["code"], "level-variants", "{report}");
            // One level for all machines can be asked for.
            tree.bind(&["--mode", mode, "--levels", "none"]);
            assert_eq!(tree.start(&[]), PRINTED);
            return "refused; with --levels one for all".to_owned();
        }
        assert_eq!(["x86-64-v2", "none"].map(|mask| start(&tree, mask)), levels, "{mode}");
        "each its own".to_owned()
    });
    holds_row("processor levels", &seen);
}

/// A library that no object needs, in the folder that the program searches last.
fn plugin(tree: &Tree) {
    library(&tree.at("three/libplugin.so"), "libplugin.so", "plugin", 7, &[]);
}

/// How a program that opened something found it.
fn found(start: &Seen) -> String {
    assert_eq!((start.code, start.printed.as_str()), (Some(0), "plugin 7\n1 2 3\n"), "{}", start.said);
    if start.failed.is_empty() { "found at once".to_owned() } else { "searched as before".to_owned() }
}

#[test]
fn dlopen_by_plain_name() {
    let seen = in_each_mode(plugin, &[], |tree, _| found(&seen(plain(&tree.app()).args(["open", "libplugin.so"]))));
    holds_row("dlopen by plain name", &seen);
}

#[test]
fn dlopen_by_origin() {
    // The first library opens what lies beside it.
    let opener = |tree: &Tree| {
        library(&tree.at("one/plugins/libplugin.so"), "libplugin.so", "plugin", 7, &[]);
        let source = "#include <dlfcn.h>\nint second(void);\nint first(void) {\n\
            void *plugin = dlopen(\"libplugin.so\", RTLD_NOW);\n\
            return plugin ? ((int (*)(void)) dlsym(plugin, \"plugin\"))() - 6 : -1; }";
        let to_second = format!("-L{}", tree.at("two").display());
        let rpath = format!("-Wl,-rpath,$ORIGIN/plugins:{SEARCH}");
        let options = ["-shared", "-fPIC", "-Wl,-soname,libfirst.so", &to_second, "-lsecond", &rpath];
        compile_by("gcc", &tree.at("one/libfirst.so"), source, &options);
    };
    let seen =
        in_each_mode(
            opener,
            &[],
            |tree, _| {
                if tree.start(&[]) == PRINTED { "works".to_owned() } else { "**lost**".to_owned() }
            },
        );
    holds_row("dlopen by $ORIGIN", &seen);
}

#[test]
fn a_library_upgraded_in_place() {
    let seen = in_each_mode(nothing, &[], |tree, _| {
        // As package managers do it: a new file takes the name.
        library(&tree.at("new.so"), "libsecond.so", "second", 20, &[]);
        std::fs::rename(tree.at("new.so"), tree.at("two/libsecond.so")).unwrap();
        let start = seen(&mut plain(&tree.app()));
        assert!(start.failed.is_empty() && start.code == Some(0), "{start:?}");
        if start.printed == "1 20 3\n" { "the new one".to_owned() } else { start.printed }
    });
    holds_row("a library upgraded in place", &seen);
}

#[test]
fn a_library_that_vanishes() {
    let outcome = |tree: &Tree| {
        super::scene::copy(&tree.at("two/libsecond.so"), &tree.at("three/libsecond.so"));
        std::fs::remove_file(tree.at("two/libsecond.so")).unwrap();
        let start = seen(&mut plain(&tree.app()));
        if start.printed == PRINTED { "found elsewhere".to_owned() } else { "**does not start**".to_owned() }
    };
    let mut seen = in_each_mode(nothing, &[], |tree, _| outcome(tree));
    let tree = Tree::new();
    tree.bind(&["--mode", "audit", "--check-files"]);
    if outcome(&tree) == "found elsewhere" && seen[3] != "found elsewhere" {
        seen[3] += "; with --check-files found elsewhere";
    }
    holds_row("a library is removed", &seen);
}

#[test]
fn two_names_for_one_file() {
    // The third library asks for the second by a name that is not its own.
    let alias = |tree: &Tree| {
        library(&tree.at("alias/libalias.so"), "libalias.so", "second", 2, &[]);
        let (to_alias, rpath) = (format!("-L{}", tree.at("alias").display()), format!("-Wl,-rpath,{SEARCH}"));
        library(&tree.at("three/libthird.so"), "libthird.so", "third", 3, &[&to_alias, "-lalias", &rpath]);
        std::os::unix::fs::symlink("../two/libsecond.so", tree.at("three/libalias.so")).unwrap();
    };
    let seen = in_each_mode(alias, &[], |tree, _| {
        let start = seen(&mut plain(&tree.app()));
        assert_eq!((start.code, start.printed.as_str()), (Some(0), PRINTED), "{}", start.said);
        assert_eq!(start.objects.iter().filter(|path| path.ends_with("libsecond.so")).count(), 1, "{start:?}");
        let about_alias = start.failed.iter().filter(|path| path.ends_with("libalias.so")).count();
        assert_eq!(about_alias, start.failed.len(), "{start:?}");
        if about_alias == 0 { "found at once".to_owned() } else { "**searched**".to_owned() }
    });
    holds_row("two names for one file", &seen);
}

#[test]
fn musl() {
    if !is_there("musl-gcc") {
        return;
    }
    let scratch = scratch();
    let root = scratch.path().canonicalize().unwrap();
    super::scene::build("musl-gcc", &root.join("tree"), SEARCH, &[]);
    let seen = MODES.map(|mode| {
        super::scene::copy(&root.join("tree"), &root.join(mode));
        let directory = root.join(mode);
        let (exit, report) =
            super::scene::json(&directory, &["bind", "--in-place", "bin/app", "--mode", mode, "--json"]);
        let refusal = &report["programs"][0]["refusal"]["code"];
        if exit == 1 && refusal == "musl" {
            return "refused".to_owned();
        }
        assert_eq!(exit, 0, "{report}");
        let printed = succeed(&mut plain(&directory.join("bin/app")));
        assert_eq!(printed, PRINTED);
        if is_there("strace") {
            let mut strace = plain(Path::new("strace"));
            strace.args(["-o", "calls", "-e", "trace=open", "bin/app"]).current_dir(&directory);
            succeed(&mut strace);
            let calls = std::fs::read_to_string(directory.join("calls")).unwrap();
            let failed = calls.lines().filter(|line| line.contains(".so") && line.contains("ENOENT")).count();
            assert_eq!(failed, 0, "{calls}");
        }
        "works".to_owned()
    });
    holds_row("musl", &seen);
}

#[test]
fn rpath_programs() {
    let template = Tree::built(scratch(), SEARCH, &["-Wl,--disable-new-dtags"]);
    // LD_LIBRARY_PATH does not go before an RPATH, neither before nor after.
    let replaced = |tree: &Tree| succeed(plain(&tree.app()).env("LD_LIBRARY_PATH", tree.at("other")));
    let seen = MODES.map(|mode| {
        let tree = Tree::new();
        coldstart_testing::copy_program(template.app(), tree.app());
        other_first(&tree);
        assert_eq!(replaced(&tree), PRINTED, "what an RPATH finds is not replaced");
        tree.bind(&["--mode", mode]);
        let dynamic = super::scene::readelf("-d", &tree.app());
        assert!(dynamic.contains("(RPATH)") && !dynamic.contains("(RUNPATH)"), "{mode}: {dynamic}");
        assert_eq!((replaced(&tree).as_str(), tree.start(&[]).as_str()), (PRINTED, PRINTED), "{mode}");
        "stay so".to_owned()
    });
    holds_row("RPATH programs", &seen);
}

#[test]
fn children_processes() {
    let seen = in_each_mode(nothing, &[], |tree, _| {
        // A child is a program like any other: it finds what it would have found, with the same environment.
        let other = Tree::new();
        let child = format!("env; LD_DEBUG=libs {} 2>&1 | grep -o 'trying file=.*'", other.app().display());
        let before = succeed(Command::new("sh").args(["-c", &child]).env_clear().env("PATH", "/usr/bin:/bin"));
        let mut command = Command::new(tree.app());
        let after = succeed(command.args(["child", &child]).env_clear().env("PATH", "/usr/bin:/bin"));
        let lines = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("LD_") || line.contains("trying file="));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(lines(&before).len() > 4, "{before}");
        if lines(&before) == lines(&after) { "not affected".to_owned() } else { "**other**".to_owned() }
    });
    holds_row("child processes", &seen);
}
