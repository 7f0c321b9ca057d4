//! Resolution notes in programs: laid out as `patchelf --build-resolution-cache` lays them out, found by readelf, harmless to
//! a loader that does not read them, checked against the files, and taken out again byte for byte.
//!
//! Needs gcc, readelf and objcopy (binutils).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::succeed;
use serde_json::Value;

use crate::text;

fn coldstart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart")).args(arguments).env("LC_ALL", "C").output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn run(program: &str, arguments: &[&str]) -> String {
    succeed(Command::new(program).args(arguments).env("LC_ALL", "C"))
}

/// A program with a library, and folders to search.
struct Scene(tempfile::TempDir);

impl Scene {
    /// The run path may name folders of the scene as `@lib`.
    fn new(run_path: &str, more: &[&str]) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        for folder in ["lib", "other", "levels/glibc-hwcaps"] {
            fs::create_dir_all(scene.path(folder)).unwrap();
        }
        fs::write(scene.path("one.c"), "int one(void) { return 1; }").unwrap();
        fs::write(
            scene.path("main.c"),
            "#include <stdio.h>\nint one(void); int main(void) { return printf(\"%d\\n\", one()) - 2; }",
        )
        .unwrap();
        let (library, program) = (scene.text("lib/libone.so"), scene.text("program"));
        let soname = "-Wl,-soname,libone.so";
        run("gcc", &["-shared", "-fPIC", soname, "-o", &library, &scene.text("one.c")]);
        let run_path = format!("-Wl,-rpath,{}", run_path.replace('@', &format!("{}/", scene.0.path().display())));
        let arguments = ["-o", &program, &scene.text("main.c"), &library, &run_path];
        run("gcc", &[&arguments, more].concat());
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn write_note(&self) {
        let output = coldstart(&["ldcache", "write", "--note", &self.text("program"), "-o", &self.text("noted")]);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    }
}

fn starts(program: &Path) {
    assert_eq!(run(program.to_str().unwrap(), &[]), "1\n");
}

#[test]
fn notes_have_the_layout_of_patchelf_and_change_nothing_else() {
    for more in [&[][..], &["-no-pie"], &["-s"], &["-Wl,-z,noseparate-code"], &["-Wl,--disable-new-dtags"]] {
        let scene = Scene::new("@levels:@lib:$ORIGIN/own", more);
        scene.write_note();
        let (program, noted) = (scene.text("program"), scene.text("noted"));
        starts(&scene.path("noted"));
        // As patchelf has it: owner, type, and pairs of strings in the order of the names.
        let bytes = fs::read(&noted).unwrap();
        let (levels, lib) = (scene.text("levels"), scene.text("lib"));
        let descriptor =
            format!("libc.so.6\0?{levels}:?$ORIGIN/own\0libone.so\0?{levels}:={lib}/libone.so:?$ORIGIN/own\0\0");
        let mut note = [6, descriptor.len() as u32, 0x63a8_6cb6].map(u32::to_le_bytes).concat();
        note.extend(b"NixOS\0\0\0");
        note.extend(descriptor.as_bytes());
        let place = bytes.windows(note.len()).position(|part| part == note).expect("the note is there");
        assert_eq!(place % 4, 0);
        let shown = run("readelf", &["-nW", &noted]);
        let owner = shown.lines().find(|line| line.trim_start().starts_with("NixOS")).expect("its owner is told");
        assert!(owner.contains("0x63a86cb6") && owner.contains(&format!("0x{:08x}", descriptor.len())), "{owner}");
        // One PT_NOTE, readable and aligned to 4, leads to exactly this note; a loaded segment holds it.
        let segments = run("readelf", &["-lW", &noted]);
        let leads = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.first() == Some(&"NOTE")
                && words.get(1).is_some_and(|at| *at == format!("0x{place:06x}"))
                && words.get(4).is_some_and(|size| *size == format!("0x{:06x}", note.len().next_multiple_of(4)))
                && words.last() == Some(&"0x4")
        };
        assert_eq!(segments.lines().filter(leads).count(), 1, "{segments}");
        let section = run("readelf", &["-SW", &noted]);
        let section = section.lines().find(|line| line.contains(".note.nixos.ldcache")).unwrap();
        assert!(section.contains(" NOTE ") && section.contains(" A "), "{section}");
        let lint = Command::new("readelf").args(["-aW", &noted]).env("LC_ALL", "C").output().unwrap();
        assert_eq!(text(&lint.stderr), "", "{more:?}");
        let searched = |file: &str| {
            let table = run("readelf", &["-dW", file]);
            let named =
                |line: &&str| ["(NEEDED)", "(RPATH)", "(RUNPATH)", "(SONAME)"].iter().any(|tag| line.contains(tag));
            table.lines().filter(named).map(|line| line.rsplit(')').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(searched(&program), searched(&noted));

        let checked = coldstart(&["ldcache", "check", &noted]);
        assert_eq!((code(&checked), text(&checked.stdout)), (0, format!("{noted}: 2 names, no faults\n")));
        let removed = coldstart(&["ldcache", "write", "--note", &noted, "--remove", "--in-place"]);
        assert_eq!(code(&removed), 0, "{}", text(&removed.stderr));
        assert!(fs::read(&noted).unwrap() == fs::read(&program).unwrap(), "{more:?} is not restored");
    }
}

#[test]
fn a_library_gets_one_as_well_and_twice_is_once() {
    let scene = Scene::new("@lib", &[]);
    let (library, noted) = (scene.text("libtop.so"), scene.text("libtop-noted.so"));
    let run_path = format!("-Wl,-rpath,{}", scene.text("lib"));
    run(
        "gcc",
        &[
            "-shared",
            "-fPIC",
            "-o",
            &library,
            &scene.text("one.c"),
            &run_path,
            "-Wl,--no-as-needed",
            &scene.text("lib/libone.so"),
        ],
    );
    let output = coldstart(&["ldcache", "write", "--note", &library, "-o", &noted, "--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(written["schema"], "coldstart.ldcache-note/1");
    let file = &written["files"][0];
    assert_eq!((&file["outcome"], &file["entries"][0]["name"]), (&"written".into(), &"libone.so".into()));
    assert_eq!(file["entries"][0]["places"][0]["kind"], "exact");
    let first = fs::read(&noted).unwrap();
    let again = coldstart(&["ldcache", "write", "--note", &noted, "--in-place"]);
    assert_eq!(
        (code(&again), text(&again.stdout)),
        (0, format!("`{noted}` already has this note; nothing was written\n"))
    );
    // A copy that was asked for is made, from the file as it was without the note.
    let copy = scene.text("copy.so");
    assert_eq!(code(&coldstart(&["ldcache", "write", "--note", &noted, "-o", &copy])), 0);
    assert!(fs::read(&copy).unwrap() == first);
    // Another search gives another note in its place.
    fs::remove_file(scene.path("lib/libone.so")).unwrap();
    let refused = coldstart(&["ldcache", "write", "--note", &noted, "--in-place"]);
    assert_eq!(code(&refused), 1);
    assert!(text(&refused.stderr).contains("none of its libraries is on its run path"), "{}", text(&refused.stderr));
    assert!(fs::read(&noted).unwrap() == first);
}

#[test]
fn check_tells_what_a_start_would_find_now() {
    let scene = Scene::new("@other:@lib:@later", &[]);
    scene.write_note();
    let noted = scene.text("noted");
    let kinds = || {
        let output = coldstart(&["ldcache", "check", "--json", &noted]);
        let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = checked["findings"].as_array().unwrap().clone();
        let mut kinds: Vec<String> = findings.iter().map(|found| found["kind"].as_str().unwrap().to_owned()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        (code(&output), kinds.join(" "))
    };
    assert_eq!(kinds(), (0, String::new()));
    fs::copy(scene.path("lib/libone.so"), scene.path("other/libone.so")).unwrap();
    assert_eq!(kinds(), (1, "changed".to_owned()));
    fs::remove_file(scene.path("other/libone.so")).unwrap();
    fs::write(scene.path("lib/libone.so"), "a text").unwrap();
    assert_eq!(kinds(), (1, "no-library".to_owned()));
    fs::remove_file(scene.path("lib/libone.so")).unwrap();
    assert_eq!(kinds(), (1, "changed gone".to_owned()));
    let output = coldstart(&["ldcache", "check", "--only-cache", &noted]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    fs::create_dir(scene.path("later")).unwrap();
    assert!(kinds().1.contains("left-over"), "{:?}", kinds());
}

#[test]
fn notes_of_others_and_later_edits_are_refused_by_name() {
    let scene = Scene::new("@lib", &[]);
    scene.write_note();
    let (noted, foreign, out) = (scene.text("noted"), scene.text("foreign"), scene.text("out"));
    run("objcopy", &["--remove-section", ".note.coldstart", &noted, &foreign]);
    let refused = coldstart(&["ldcache", "write", "--note", &foreign, "-o", &out]);
    assert_eq!(code(&refused), 1);
    assert!(text(&refused.stderr).contains("already has a section .note.nixos.ldcache"), "{}", text(&refused.stderr));
    // It can be read all the same.
    assert_eq!(code(&coldstart(&["ldcache", "check", &foreign])), 0);
    let removed = coldstart(&["ldcache", "write", "--note", &foreign, "--remove", "-o", &out]);
    assert_eq!(code(&removed), 1, "{}", text(&removed.stderr));
    let unbound = coldstart(&["unbind", &noted, "-o", &out]);
    assert_eq!(code(&unbound), 1);
    assert!(text(&unbound.stderr).contains("ldcache write --note FILE --remove"), "{}", text(&unbound.stderr));
    assert!(!Path::new(&out).exists());

    let plain = scene.text("plain");
    run("gcc", &["-o", &plain, "-x", "c", &scene.text("one.c"), "-nostartfiles", "-Wl,-e,one"]);
    for (file, reason) in [(plain.as_str(), "it has no run path"), (&scene.text("lib/libone.so"), "it has no run path")]
    {
        let refused = coldstart(&["ldcache", "write", "--note", file, "-o", &out]);
        assert_eq!(code(&refused), 1, "{file}");
        let told = text(&refused.stderr);
        assert!(told.contains(reason) || told.contains("it needs no libraries"), "{told}");
    }
    for (arguments, expected) in [
        (&["show", &plain][..], 1),
        (&["check", &plain], 1),
        (&["show", "--ldconfig", &noted], 2),
        (&["show", "--name", "libone*", &noted], 0),
        (&["show", "--name", "libtwo*", &noted], 1),
        (&["write", "--note", &noted], 2),
        (&["write", "--in-place", "/opt"], 2),
        (&["write", "--note", "/absent", "-o", &out], 2),
        (&["write", "--note", "/opt", "-o", &out], 2),
    ] {
        let output = coldstart(&[&["ldcache"], arguments].concat());
        assert_eq!(code(&output), expected, "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn damaged_notes_and_files_are_told_and_survived() {
    let scene = Scene::new("@lib", &[]);
    scene.write_note();
    let whole = fs::read(scene.path("noted")).unwrap();
    let place = whole.windows(8).position(|part| part == b"NixOS\0\0\0").unwrap();
    let damaged = scene.text("damaged");
    let answers = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        let codes = [["show", &damaged], ["check", &damaged]].map(|words| {
            let output = coldstart(&[&["ldcache"][..], &words].concat());
            assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
            code(&output)
        });
        let written = coldstart(&["ldcache", "write", "--note", &damaged, "-o", &scene.text("out")]);
        assert!(matches!(written.status.code(), Some(0..=2)), "{written:?}");
        codes
    };
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    // A place without its mark; a descriptor that ends within a string.
    let mark = place + 8 + whole[place + 8..].iter().position(|byte| *byte == b'=').unwrap();
    assert_eq!(answers(&with(mark, b'/')), [2, 1]);
    assert_eq!(answers(&with(place - 8, 3)), [2, 1]);
    // Another owner's note is none of ours.
    assert_eq!(answers(&with(place, b'X')), [1, 1]);
    for length in (0..whole.len()).step_by(whole.len() / 40) {
        answers(&whole[..length]);
    }
    for at in (0..whole.len().min(1200)).step_by(23) {
        answers(&with(at, whole[at] ^ 0xff));
    }
}
