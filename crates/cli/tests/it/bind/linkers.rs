//! Programs by every linker, stripped, at fixed addresses, and for other machines.

use std::path::Path;
use std::process::Command;

use super::scene::{PRINTED, SEARCH, Tree, build, is_there, plain, said, scratch, seen, skip, succeed};

#[test]
fn every_linkers_programs_are_bound() {
    let linkers = [("bfd", "ld.bfd"), ("gold", "ld.gold"), ("lld", "ld.lld"), ("mold", "mold")];
    for (linker, program) in linkers {
        if !is_there(program) {
            continue;
        }
        let by = format!("-fuse-ld={linker}");
        for (kind, options) in [
            ("pie", &["-pie", "-fPIE"][..]),
            ("fixed", &["-no-pie", "-fno-PIE"]),
            ("pie, stripped", &["-pie", "-fPIE", "-s"]),
            ("fixed, stripped", &["-no-pie", "-fno-PIE", "-s"]),
            ("now", &["-pie", "-fPIE", "-Wl,-z,now,-z,relro"]),
            ("norelro", &["-no-pie", "-fno-PIE", "-Wl,-z,norelro"]),
        ] {
            let tree = Tree::built(scratch(), SEARCH, &[&[by.as_str()][..], options].concat());
            let before = seen(&mut plain(&tree.app()));
            let original = super::scene::bytes(&tree.app());
            let (exit, stdout, stderr) = tree.said(&["bind", "--in-place", "bin/app"]);
            assert_eq!(exit, 0, "{linker}, {kind}: {stdout}{stderr}");
            let after = seen(&mut plain(&tree.app()));
            assert_eq!(
                (after.printed.as_str(), &after.objects, after.failed.len()),
                (PRINTED, &before.objects, 0),
                "{linker}, {kind}: {}",
                after.said
            );
            tree.done(&["verify", "bin/app"]);
            // What strips it afterwards leaves it whole.
            for tool in ["strip", "llvm-strip"] {
                super::scene::copy(&tree.app(), &tree.at("bin/stripped"));
                if is_there(tool) && Command::new(tool).arg(tree.at("bin/stripped")).output().unwrap().status.success()
                {
                    assert_eq!(succeed(&mut plain(&tree.at("bin/stripped"))), PRINTED, "{linker}, {kind}, {tool}");
                }
            }
            tree.done(&["unbind", "--in-place", "bin/app"]);
            assert!(super::scene::bytes(&tree.app()) == original, "{linker}, {kind}");
        }
    }
}

/// Programs of another machine, run by an emulator with this folder for its libraries.
fn of_other_machine(compiler: &str, emulator: &str, root: &str) {
    if !is_there(compiler) || !is_there(emulator) || !Path::new(root).exists() {
        return;
    }
    let scratch = scratch();
    let folder = scratch.path().canonicalize().unwrap().join("tree");
    build(compiler, &folder, SEARCH, &[]);
    // Its interpreter is not where the program says: libc is found in no folder of this machine.
    let (exit, stdout, stderr) = said(&folder, &["bind", "--in-place", "bin/app"]);
    let start = || succeed(Command::new(emulator).args(["-L", root]).arg(folder.join("bin/app")));
    if exit != 0 {
        println!("{compiler}: {stderr}");
        assert_eq!(exit, 1, "{stdout}{stderr}");
        assert!(stderr.contains("interpreter `"), "{stderr}");
        // With the libraries of its machine on its path it can.
        let path = format!("{SEARCH}:{root}/lib");
        let interpreter = std::fs::read_dir(format!("{root}/lib")).unwrap().filter_map(Result::ok);
        let interpreter = interpreter
            .map(|entry| entry.path())
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")));
        let Some(interpreter) = interpreter else { return skip("no loader for that machine") };
        std::fs::remove_dir_all(&folder).unwrap();
        let by = format!("-Wl,--dynamic-linker={}", interpreter.display());
        build(compiler, &folder, &path, &[&by]);
        let (exit, stdout, stderr) = said(&folder, &["bind", "--in-place", "bin/app"]);
        assert_eq!(exit, 0, "{compiler}: {stdout}{stderr}");
    }
    assert_eq!(start(), PRINTED);
    let (exit, stdout, stderr) = said(&folder, &["verify", "bin/app"]);
    assert_eq!(exit, 0, "{compiler}: {stdout}{stderr}");
    let (exit, stdout, stderr) = said(&folder, &["unbind", "--in-place", "bin/app"]);
    assert_eq!(exit, 0, "{compiler}: {stdout}{stderr}");
}

#[test]
fn programs_for_aarch64_are_bound_without_being_run() {
    of_other_machine("aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu");
}

#[test]
fn programs_for_i386_are_bound_without_being_run() {
    of_other_machine("i686-linux-gnu-gcc", "qemu-i386", "/usr/i686-linux-gnu");
}
