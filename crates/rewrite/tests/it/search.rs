//! Programs with another list of needed libraries and another search path: they still run, say what they were told to say
//! to independent readers, and come back byte for byte.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_prove::{LoadedNote, PathKind, SearchEdit, SearchPath, Source};
use coldstart_rewrite::{ChangedFile, EditNote, SearchRoom, SearchSummary, binding_note, plan_search, plan_unpack};
use coldstart_testing::succeed;

/// Links a program that prints a number with two libraries, with these arguments to the linker.
fn program(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    for (library, value) in [("one", 1), ("two", 2)] {
        let source = folder.join(format!("{library}.c"));
        fs::write(&source, format!("int {library}(void) {{ return {value}; }}")).unwrap();
        let output = folder.join(format!("lib{library}.so"));
        let soname = format!("-Wl,-soname,lib{library}.so");
        succeed(Command::new("gcc").args(["-shared", "-fPIC", &soname, "-o"]).arg(output).arg(source));
    }
    let source = folder.join("main.c");
    let text = "#include <stdio.h>\nint one(void), two(void); static int big[9000]; int *p = &big[3];\n\
        int main(void) { *p = 5; printf(\"%d\\n\", one() * 10 + two() + big[3] * 100); return 0; }";
    fs::write(&source, text).unwrap();
    let output = folder.join(name);
    let mut command = Command::new("gcc");
    command.arg("-o").arg(&output).arg(source).arg("-L").arg(folder).args(["-lone", "-ltwo"]);
    command.arg(format!("-Wl,-rpath,{}", folder.display()));
    succeed(command.args(arguments));
    output
}

fn edit(folder: &Path, extra: usize) -> SearchEdit {
    let mut needed: Vec<Vec<u8>> = ["libone.so", "libtwo.so", "libc.so.6"].map(|name| name.as_bytes().to_vec()).into();
    // Names that all stand for the C library, so that many entries are needed and nothing else is loaded.
    needed.extend((0..extra).map(|number| format!("libalias{number}.so").into_bytes()));
    let path = format!("{0}/farm:{0}", folder.display()).into_bytes();
    SearchEdit { needed, path: Some(SearchPath { kind: PathKind::Runpath, text: path }), ..SearchEdit::default() }
}

/// Rewrites, checks what readelf and patchelf read, runs, and restores.
fn round_trip(folder: &Path, program: &Path, edit: &SearchEdit) -> SearchSummary {
    let farm = folder.join("farm");
    fs::create_dir_all(&farm).unwrap();
    for name in edit.needed.iter().filter(|name| name.starts_with(b"libalias")) {
        let link = farm.join(str::from_utf8(name).unwrap());
        let _ = std::os::unix::fs::symlink("/lib/x86_64-linux-gnu/libc.so.6", link);
    }
    let before = fs::read(program).unwrap();
    let file = ElfFile::parse(&before).unwrap();
    let note = EditNote { name: "bind", content: Some("{\"mode\":\"test\"}") };
    let plan = plan_search(&file, edit, note).unwrap();
    let after = plan.script.to_vec(&before).unwrap();
    let output = program.with_extension("bound");
    fs::write(&output, &after).unwrap();
    fs::set_permissions(&output, fs::Permissions::from_mode(0o755)).unwrap();

    assert_eq!(succeed(&mut Command::new(program)), succeed(&mut Command::new(&output)), "{program:?}");
    let needed = succeed(Command::new("patchelf").arg("--print-needed").arg(&output));
    let wanted: Vec<&str> = edit.needed.iter().map(|name| str::from_utf8(name).unwrap()).collect();
    assert_eq!(needed.lines().collect::<Vec<_>>(), wanted);
    let path = succeed(Command::new("patchelf").arg("--print-rpath").arg(&output));
    assert_eq!(path.trim(), str::from_utf8(&edit.path.as_ref().unwrap().text).unwrap());
    let lint = succeed(Command::new("readelf").arg("-aW").arg(&output));
    assert!(!lint.contains("Warning"), "{lint}");

    let again = ElfFile::parse(&after).unwrap();
    assert_eq!(binding_note(&again), Some("{\"mode\":\"test\"}"));
    let back = plan_unpack(&again, ChangedFile::Refuse).unwrap();
    assert_eq!(back.about.edits, ["bind"]);
    let restored = back.script.to_vec(&after).unwrap();
    back.check(Source::in_memory(&restored)).unwrap();
    assert!(restored == before, "{program:?} is not restored");
    plan.summary
}

#[test]
fn programs_of_every_linker_run_with_few_and_many_names() {
    let folder = tempfile::tempdir().unwrap();
    let linkers = [
        &["-fuse-ld=bfd"][..],
        &["-fuse-ld=bfd", "-no-pie"],
        &["-fuse-ld=bfd", "-Wl,-z,noseparate-code"],
        &["-fuse-ld=bfd", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--hash-style=both"],
        &["-fuse-ld=bfd", "-Wl,-z,max-page-size=0x200000"],
        &["-fuse-ld=gold"],
        &["-fuse-ld=gold", "-no-pie"],
        &["-fuse-ld=lld"],
        &["-fuse-ld=lld", "-no-pie"],
        &["-fuse-ld=lld", "-Wl,-z,now"],
        &["-fuse-ld=mold"],
        &["-fuse-ld=mold", "-no-pie"],
        &["-fuse-ld=bfd", "-s"],
    ];
    for (number, arguments) in linkers.into_iter().enumerate() {
        let program = program(folder.path(), &format!("program{number}"), arguments);
        let few = round_trip(folder.path(), &program, &edit(folder.path(), 0));
        let many = round_trip(folder.path(), &program, &edit(folder.path(), 150));
        assert!(many.dynamic_moved, "{arguments:?}");
        println!("{arguments:?}: {few:?} {many:?}");
    }
}

#[test]
fn a_note_is_loaded_by_a_header_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "program", &[]);
    // namesz 6, descsz 4, a type, owner, content.
    let bytes =
        [&6_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &7_u32.to_le_bytes(), b"NixOS\0\0\0", b"a\0b\0"].concat();
    let loaded_note = Some(LoadedNote { section: ".note.nixos.ldcache".to_owned(), bytes });
    round_trip(folder.path(), &program, &SearchEdit { loaded_note, ..edit(folder.path(), 3) });
    let notes = succeed(Command::new("readelf").arg("-nW").arg(program.with_extension("bound")));
    assert!(notes.contains(".note.nixos.ldcache") && notes.contains("NixOS"), "{notes}");
}

#[test]
fn what_patchelf_made_has_room_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "program", &[]);
    for number in 0..50 {
        let path = format!("{}:/nowhere/{number}", folder.path().display());
        succeed(Command::new("patchelf").args(["--set-rpath", &path]).arg(&program));
    }
    let summary = round_trip(folder.path(), &program, &edit(folder.path(), 150));
    assert_eq!(summary.room, SearchRoom::SegmentGrown);
}

#[test]
fn real_programs_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["/usr/bin/python3.11", "/usr/bin/gdb", "/bin/bash", "/usr/bin/perl", "/usr/bin/git"] {
        if !Path::new(name).exists() {
            println!("skipped: no {name} here");
            continue;
        }
        let bytes = fs::read(name).unwrap();
        let file = ElfFile::parse(&bytes).unwrap();
        let dynamic = file.dynamic().unwrap().unwrap();
        let strings = file.dynamic_strings(&dynamic).unwrap();
        let mut needed: Vec<Vec<u8>> =
            dynamic.all(coldstart_elf::Tag::NEEDED).map(|at| strings.get(at).unwrap().to_vec()).collect();
        needed.extend((0..100).map(|number| format!("libalias{number}.so").into_bytes()));
        let text = format!("{}/farm", folder.path().display()).into_bytes();
        let path = Some(SearchPath { kind: PathKind::Runpath, text });
        let edit = SearchEdit { needed, path, ..SearchEdit::default() };
        let copy = folder.path().join(Path::new(name).file_name().unwrap());
        fs::copy(name, &copy).unwrap();
        let farm = folder.path().join("farm");
        fs::create_dir_all(&farm).unwrap();
        for number in 0..100 {
            let link = farm.join(format!("libalias{number}.so"));
            let _ = std::os::unix::fs::symlink("/lib/x86_64-linux-gnu/libc.so.6", link);
        }
        let plan = plan_search(&file, &edit, EditNote { name: "bind", content: None }).unwrap();
        let output = copy.with_extension("bound");
        fs::write(&output, plan.script.to_vec(&bytes).unwrap()).unwrap();
        fs::set_permissions(&output, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            succeed(Command::new(&output).arg("--version")),
            succeed(Command::new(name).arg("--version")),
            "{name}"
        );
    }
}
