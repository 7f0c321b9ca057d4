//! Libraries and names that are odd: missing, in circles, of other kinds, by paths, by tokens, by the thousand.

use std::process::Command;

use super::scene::{PRINTED, SEARCH, Tree, compile, is_there, library, names, plain, readelf, scratch, seen, succeed};

#[test]
fn libraries_that_need_one_another_are_loaded_once() {
    let tree = Tree::new();
    let to_first = format!("-L{}", tree.at("one").display());
    let rpath = format!("-Wl,-rpath,{SEARCH}");
    library(&tree.at("two/libsecond.so"), "libsecond.so", "second", 2, &[&to_first, "-lfirst", &rpath]);
    let before = seen(&mut plain(&tree.app()));
    tree.bind(&[]);
    let after = seen(&mut plain(&tree.app()));
    assert_eq!((after.printed.as_str(), &after.objects, after.failed.len()), (PRINTED, &before.objects, 0));
    tree.done(&["verify", "bin/app"]);
}

#[test]
fn a_missing_library_is_told_with_who_needs_it() {
    let tree = Tree::new();
    std::fs::remove_file(tree.at("two/libsecond.so")).unwrap();
    for mode in super::table::MODES {
        let said = tree.refuses("missing-library", &["bind", "--in-place", "bin/app", "--mode", mode]);
        assert!(said.contains("`libsecond.so`, needed by") && said.contains("coldstart resolve"), "{said}");
    }
}

#[test]
fn files_of_other_kinds_are_treated_as_the_loader_does() {
    // glibc ends the start at a text, and passes over a library for another machine or an empty... one of another
    // class.
    let tree = Tree::new();
    std::fs::write(tree.at("zero/libfirst.so"), "INPUT(-lfirst)\n").unwrap();
    assert!(!seen(&mut plain(&tree.app())).said.is_empty());
    let said = tree.refuses("would-stop", &["bind", "--in-place", "bin/app"]);
    assert!(said.contains("zero/libfirst.so"), "{said}");

    let mut of_class_32 = super::scene::bytes(&tree.at("one/libfirst.so"));
    of_class_32[4] = 1;
    std::fs::write(tree.at("zero/libfirst.so"), of_class_32).unwrap();
    assert_eq!(tree.start(&[]), PRINTED);
    tree.bind(&[]);
    let after = seen(&mut plain(&tree.app()));
    assert_eq!((after.printed.as_str(), after.failed.len()), (PRINTED, 0));
}

#[test]
fn names_with_slashes_and_tokens_stay_what_they_are() {
    for needed in ["../one/libfirst.so", "$ORIGIN/../one/libfirst.so", "${ORIGIN}/../one/libfirst.so"] {
        if !is_there("patchelf") {
            return;
        }
        let tree = Tree::new();
        succeed(Command::new("patchelf").args(["--replace-needed", "libfirst.so", needed]).arg(tree.app()));
        let start = |tree: &Tree| succeed(plain(&tree.app()).current_dir(tree.at("bin")));
        assert_eq!(start(&tree), PRINTED);
        let (exit, stdout, stderr) = super::scene::said(&tree.at("bin"), &["bind", "--in-place", "app"]);
        assert_eq!(exit, 0, "{needed}: {stdout}{stderr}");
        assert_eq!(start(&tree), PRINTED, "{needed}");
        assert!(readelf("-d", &tree.app()).contains(&format!("[{needed}]")), "{needed}");
        let (exit, stdout, stderr) = super::scene::said(&tree.at("bin"), &["verify", "app"]);
        assert_eq!(exit, 0, "{needed}: {stdout}{stderr}");
    }
}

#[test]
fn tokens_in_the_search_path_are_followed() {
    let tree = Tree::new();
    let folder = tree.at("x/lib/x86_64-linux-gnu");
    std::fs::create_dir_all(&folder).unwrap();
    let search = format!("$ORIGIN/../x/$LIB:{SEARCH}");
    let template = Tree::built(scratch(), &search, &[]);
    coldstart_testing::copy_program(template.app(), tree.app());
    for folder in ["x/lib/x86_64-linux-gnu", "x/lib64", "x/lib"] {
        std::fs::create_dir_all(tree.at(folder)).unwrap();
        super::scene::copy(&tree.at("three/libthird.so"), &tree.at(folder).join("libthird.so"));
    }
    let before = seen(&mut plain(&tree.app()));
    tree.bind(&[]);
    let after = seen(&mut plain(&tree.app()));
    assert_eq!((&after.objects[1..], after.failed.len()), (&before.objects[1..], 0));
    tree.done(&["verify", "bin/app"]);
}

#[test]
fn empty_elements_of_the_search_path_depend_on_where_it_is_started() {
    // An empty element is the directory that the program is started in.
    let tree = Tree::built(scratch(), &format!(":{SEARCH}"), &[]);
    let bind = ["bind", "--in-place", "../bin/app"];
    let (exit, _, stderr) = super::scene::said(&tree.at("one"), &bind);
    assert_eq!(exit, 1, "{stderr}");
    assert!(stderr.contains("relative to the current directory") && stderr.contains("hint: "), "{stderr}");
    // Where nothing is found by it, it stays behind the links.
    tree.bind(&[]);
    assert_eq!(tree.start(&[]), PRINTED);
    tree.done(&["verify", "bin/app"]);
}

#[test]
fn ten_thousand_names_are_written() {
    let tree = Tree::new();
    // One file with many names, so that the loader opens each and finds it loaded.
    let many = 10_000;
    let needed: String = (0..many).map(|number| format!("-l:m{number}.so\n")).collect();
    std::fs::create_dir(tree.at("many")).unwrap();
    compile(&tree.at("many/m0.so"), "int zero;", &["-shared", "-nostdlib", "-Wl,-soname,m0.so"]);
    for number in 1..many {
        std::os::unix::fs::symlink("m0.so", tree.at(&format!("many/m{number}.so"))).unwrap();
    }
    // The linker takes one name for one soname: the others are written into stubs' names by their link names.
    std::fs::write(tree.at("words"), needed).unwrap();
    let source = tree.at("bin/many.c");
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    compile(&tree.at("many/m0.so"), "int zero;", &["-shared", "-nostdlib"]);
    let mut gcc = Command::new("gcc");
    gcc.arg(&source).arg("-o").arg(tree.app()).arg(format!("-L{}", tree.at("many").display()));
    gcc.args(["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../zero:$ORIGIN/../many"]);
    gcc.arg(format!("@{}", tree.at("words").display()));
    succeed(&mut gcc);
    compile(&tree.at("many/m0.so"), "int zero;", &["-shared", "-nostdlib", "-Wl,-soname,m0.so"]);
    let count = |tree: &Tree| readelf("-d", &tree.app()).matches("(NEEDED)").count();
    let before = count(&tree);
    tree.bind(&[]);
    assert!(count(&tree) >= before, "{} of {before}", count(&tree));
    assert!(names(&tree.at("bin/.app.libs")).len() >= before, "{before}");
    succeed(&mut plain(&tree.app()));
    tree.done(&["verify", "bin/app"]);
}
