//! Files that are no program to bind, and programs that were bound, packed or edited before.

use std::process::Command;

use super::scene::{PRINTED, Tree, bytes, compile, is_there, names, plain, seen, succeed};

#[test]
fn what_is_no_dynamic_program_is_refused_by_name() {
    let tree = Tree::new();
    let main = "int main(void) { return 0; }";
    compile(&tree.at("bin/static"), main, &["-static"]);
    compile(&tree.at("bin/static-pie"), main, &["-static-pie"]);
    std::fs::write(tree.at("bin/script"), "#!/bin/sh\nexec app\n").unwrap();
    std::fs::write(tree.at("bin/empty"), "").unwrap();
    let cases = [("bin/static", "static"), ("bin/static-pie", "static"), ("one/libfirst.so", "library")];
    for (program, code) in cases {
        tree.refuses(code, &["bind", "--in-place", program]);
    }
    for program in ["bin/script", "bin/empty"] {
        let said = tree.refuses("unreadable", &["bind", "--in-place", program]);
        assert!(said.contains(program), "{said}");
    }
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin"]);
    assert!(exit == 2 && stderr.contains("is a directory") && stderr.contains("find "), "{stderr}");
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin/nothing"]);
    assert!(exit == 2 && stderr.contains("bin/nothing"), "{stderr}");
    let (exit, _, stderr) = tree.said(&["bind", "bin/app"]);
    assert!(exit == 2 && stderr.contains("--in-place"), "{stderr}");
}

#[test]
fn programs_that_gain_nothing_are_left_alone() {
    let tree = Tree::new();
    compile(&tree.at("bin/plain"), "int main(void) { return 0; }", &[]);
    let said = tree.refuses("nothing-to-gain", &["bind", "--in-place", "bin/plain"]);
    assert!(said.contains("--anyway"), "{said}");
    tree.done(&["bind", "--in-place", "bin/plain", "--anyway"]);
    succeed(&mut plain(&tree.at("bin/plain")));
}

#[test]
fn bound_again_only_when_asked_and_never_larger() {
    let tree = Tree::new();
    let original = bytes(&tree.app());
    tree.bind(&[]);
    let bound = bytes(&tree.app());
    let said = tree.refuses("already-bound", &["bind", "--in-place", "bin/app"]);
    assert!(said.contains("--rebind"), "{said}");
    for number in 0..50 {
        tree.bind(&["--rebind"]);
        assert!(bytes(&tree.app()) == bound, "number {number}");
    }
    // In other modes and back.
    for mode in ["absolute", "origin", "soname"] {
        tree.bind(&["--rebind", "--mode", mode]);
        assert_eq!(tree.start(&[]), PRINTED, "{mode}");
        tree.done(&["verify", "bin/app"]);
    }
    assert!(bytes(&tree.app()) == bound);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == original);
    assert_eq!(names(&tree.at("bin")), ["app"]);
}

/// A program with enough relative relocations to be packed.
fn with_pointers(tree: &Tree) {
    let table: String = (0..6000).map(|number| format!("&words[{number}],")).collect();
    let source = format!(
        "#include <stdio.h>\nint first(void); int second(void); int third(void);\nstatic int words[6000];\n\
         int *table[] = {{ {table} }};\nint main(int count, char **v) {{ printf(\"%d %d %d\\n\", first() + \
         *table[count], second(), third()); return 0; }}"
    );
    let to = ["one", "two", "three"].map(|folder| format!("-L{}", tree.at(folder).display()));
    let rpath = format!("-Wl,-rpath,{}", super::scene::SEARCH);
    let options = [&to[0], &to[1], &to[2], &rpath, "-lfirst", "-lsecond", "-lthird", "-Wl,-z,nopack-relative-relocs"];
    compile(&tree.app(), &source, &options);
}

#[test]
fn packing_and_binding_are_taken_back_in_turn() {
    let tree = Tree::new();
    with_pointers(&tree);
    let original = bytes(&tree.app());
    // Bound, then packed.
    tree.bind(&[]);
    let bound = bytes(&tree.app());
    tree.done(&["pack", "--in-place", "bin/app"]);
    let start = seen(&mut plain(&tree.app()));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0), "{}", start.said);
    tree.done(&["verify", "bin/app"]);
    let (exit, status, stderr) = tree.said(&["status", "bin/app"]);
    assert_eq!(exit, 0, "{status}{stderr}");
    assert!(status.contains("bound, then edited") || status.contains("bound, then packed"), "{status}");
    let (exit, _, stderr) = tree.said(&["unbind", "--in-place", "bin/app"]);
    assert!(exit == 1 && stderr.contains("coldstart unpack"), "{stderr}");
    let (exit, _, stderr) = tree.said(&["bind", "--rebind", "--in-place", "bin/app"]);
    assert!(exit == 1 && stderr.contains("unpack"), "{stderr}");
    tree.done(&["unpack", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == bound);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == original && names(&tree.at("bin")) == ["app"]);
    // Packed, then bound.
    tree.done(&["pack", "--in-place", "bin/app"]);
    let packed = bytes(&tree.app());
    tree.bind(&[]);
    let start = seen(&mut plain(&tree.app()));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0), "{}", start.said);
    tree.done(&["verify", "bin/app"]);
    tree.bind(&["--rebind"]);
    assert_eq!(tree.said(&["unpack", "--in-place", "bin/app"]).0, 1);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == packed);
    tree.done(&["unpack", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == original);
}

#[test]
fn what_patchelf_made_of_it_is_bound_all_the_same() {
    if !is_there("patchelf") {
        return;
    }
    let tree = Tree::new();
    for number in 0..50 {
        let name = format!("libadded{number}.so");
        compile(&tree.at("three").join(&name), "int added;", &["-shared", "-nostdlib", &format!("-Wl,-soname,{name}")]);
        succeed(Command::new("patchelf").args(["--add-needed", &name]).arg(tree.app()));
    }
    let before = seen(&mut plain(&tree.app()));
    assert_eq!(before.code, Some(0), "{}", before.said);
    let patched = bytes(&tree.app());
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin/app"]);
    if exit != 0 {
        // patchelf up to 0.14 names a table of program headers that is not mapped: that is no file to build on.
        assert!(exit == 1 && stderr.contains("the table of PT_PHDR is not mapped"), "{stderr}");
        assert!(bytes(&tree.app()) == patched && names(&tree.at("bin")) == ["app"]);
        return;
    }
    let after = seen(&mut plain(&tree.app()));
    assert_eq!((&after.objects, after.failed.len(), after.printed), (&before.objects, 0, before.printed));
    tree.done(&["verify", "bin/app"]);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()) == patched);
}
