//! Rules that a trace cannot show, on files that exist in memory only, and secure programs, which do not let themselves
//! be traced.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_host::process::own;
use coldstart_loader::{
    Class, Disk, Environment, Error, FileSystem, FoundBy, Hwcaps, Identity, Machine, ObjectFacts, Probe, ProbeFailure,
    resolve,
};
use coldstart_testing::{is_there, skip, succeed};

use crate::common::{Files, environment, real_loader};

const INTERPRETER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Files by their path; the directories are those they stand in.
#[derive(Default)]
struct Memory(Vec<(PathBuf, ObjectFacts)>);

impl Memory {
    fn with(mut self, path: &str, facts: ObjectFacts) -> Self {
        self.0.push((path.into(), facts));
        self
    }
}

impl FileSystem for Memory {
    fn object(&self, path: &Path) -> Probe {
        match self.0.iter().position(|file| file.0 == path) {
            Some(place) => {
                let identity = Identity { device: 1, inode: place as u64 };
                Probe::Object { identity, facts: self.0[place].1.clone() }
            }
            None => Probe::Absent(ErrorKind::NotFound),
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.0.iter().any(|file| file.0.starts_with(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }
}

fn object(needed: &[&str]) -> ObjectFacts {
    let needed = needed.iter().map(|name| name.as_bytes().to_vec()).collect();
    ObjectFacts { class: Class::Bits64, little_endian: true, machine: 62, needed, ..ObjectFacts::default() }
}

fn program(needed: &[&str]) -> ObjectFacts {
    ObjectFacts { interpreter: Some(INTERPRETER.into()), ..object(needed) }
}

fn paths(closure: &coldstart_loader::Closure) -> Vec<&str> {
    closure.objects.iter().map(|object| object.path.to_str().unwrap()).collect()
}

#[test]
fn a_directory_is_asked_about_once() {
    let files = Memory::default()
        .with("/app", ObjectFacts { runpath: Some("/gone:/here".into()), ..program(&["liba.so", "libb.so"]) })
        .with(INTERPRETER, object(&[]))
        .with("/here/liba.so", object(&[]))
        .with("/here/libb.so", object(&[]));
    let hwcaps = Hwcaps { levels: vec![b"x86-64-v2".to_vec()], combined: None };
    let closure = resolve(Path::new("/app"), &files, &Environment { hwcaps, ..Environment::default() }).unwrap();
    let failed: Vec<_> = closure.failed_probes.iter().map(|probe| probe.path.to_str().unwrap()).collect();
    let levels = ["/gone/glibc-hwcaps/x86-64-v2/liba.so", "/gone/liba.so", "/here/glibc-hwcaps/x86-64-v2/liba.so"];
    assert_eq!(failed, levels);
    let looks: Vec<_> =
        closure.directory_probes.iter().map(|probe| (probe.path.to_str().unwrap(), probe.exists)).collect();
    let expected = ["/gone/glibc-hwcaps/x86-64-v2", "/gone", "/here/glibc-hwcaps/x86-64-v2"];
    assert_eq!(looks, expected.map(|path| (path, false)));
}

#[test]
fn secure_programs_hear_less() {
    let app = ObjectFacts { rpath: Some("$ORIGIN/../lib/app:$ORIGIN/lib".into()), ..program(&["liba.so", "libb.so"]) };
    let files = Memory::default()
        .with("/usr/bin/app", app)
        .with(INTERPRETER, object(&[]))
        .with("/usr/bin/../lib/app/liba.so", object(&[]))
        .with("/usr/bin/lib/libb.so", object(&[]))
        .with("/mine/libb.so", object(&[]))
        .with("/lib/libplain.so", object(&[]))
        .with("/lib/libmarked.so", ObjectFacts { set_user_id: true, ..object(&[]) });
    let environment = |secure| Environment {
        secure,
        ld_library_path: Some("/mine".into()),
        ld_preload: Some("libplain.so libmarked.so:/mine/libb.so".into()),
        ..Environment::default()
    };
    let closure = resolve(Path::new("/usr/bin/app"), &files, &environment(true)).unwrap();
    let expected = ["/usr/bin/app", "/lib/libmarked.so", "/usr/bin/../lib/app/liba.so", INTERPRETER];
    assert_eq!(paths(&closure), expected);
    let missing: Vec<_> = closure.missing.iter().map(|missing| missing.needed.as_slice()).collect();
    assert_eq!(missing, [b"libplain.so".as_slice(), b"libb.so"]);
    let unmarked = closure.failed_probes.iter().filter(|probe| probe.failure == ProbeFailure::NotSetUserId);
    assert_eq!(unmarked.count(), 1);
    let closure = resolve(Path::new("/usr/bin/app"), &files, &environment(false)).unwrap();
    assert!(closure.missing.is_empty());
    assert_eq!(closure.objects[3].path, Path::new("/mine/libb.so"));
    let rules: Vec<_> = closure.objects.iter().skip(4).map(|object| object.found_by).collect();
    assert_eq!(rules, [FoundBy::Rpath { of: 0 }, FoundBy::Rpath { of: 0 }, FoundBy::Interpreter]);

    let files = Memory::default().with("/app", program(&["$ORIGIN/liba.so"])).with(INTERPRETER, object(&[]));
    let stopped = resolve(Path::new("/app"), &files, &environment(true)).unwrap().stopped.unwrap();
    assert_eq!(stopped.reason, ProbeFailure::TokenInSecureProgram);
}

#[test]
fn names_what_cannot_be_asked_about() {
    let files = Memory::default().with("/app", program(&[])).with("/odd", object(&[]));
    let gone = ProbeFailure::Absent(ErrorKind::NotFound);
    let error = resolve(Path::new("/none"), &files, &Environment::default()).unwrap_err();
    assert_eq!(error, Error::Program { path: "/none".into(), reason: gone.clone() });
    let error = resolve(Path::new("/app"), &files, &Environment::default()).unwrap_err();
    assert_eq!(error, Error::Interpreter { program: "/app".into(), path: INTERPRETER.into(), reason: gone });
    // A library may be asked about without an interpreter.
    assert_eq!(resolve(Path::new("/odd"), &files, &Environment::default()).unwrap().objects.len(), 1);
}

#[test]
fn the_disk_tells_what_is_absent_from_what_is_no_object() {
    let disk = Disk::new(|path: &Path| {
        let bytes = std::fs::read(path)?;
        let broken = || std::io::Error::new(ErrorKind::InvalidData, "no ELF magic");
        if bytes.starts_with(b"\x7fELF") { Ok((Identity::default(), object(&[]))) } else { Err(broken()) }
    });
    assert_eq!(disk.object(Path::new("/nowhere")), Probe::Absent(ErrorKind::NotFound));
    assert_eq!(disk.object(Path::new(own::MAPS)), Probe::NotAnObject("no ELF magic".to_owned()));
    assert!(matches!(disk.object(Path::new("/")), Probe::NotAnObject(_)));
    assert!(matches!(disk.object(Path::new(own::PROGRAM)), Probe::Object { .. }));
    assert!(disk.is_directory(Path::new("/")) && !disk.is_directory(Path::new(own::MAPS)));
}

#[test]
fn machines_have_their_own_directories_and_marks() {
    let hard_float = ObjectFacts {
        class: Class::Bits32,
        little_endian: true,
        machine: 40,
        flags: 0x0500_0400,
        ..ObjectFacts::default()
    };
    let machine = Machine::of(&hard_float).unwrap();
    assert_eq!((machine.multiarch, machine.cache_flags), ("arm-linux-gnueabihf", [0x0903, 3].as_slice()));
    assert_eq!(Machine::of(&object(&[])).unwrap().plain_directories(), [b"/lib64".to_vec(), b"/usr/lib64".to_vec()]);
    assert_eq!(Machine::of(&ObjectFacts::default()), None);
}

/// A real secure start: set-user-ID to somebody else than the one who starts it. It cannot be traced, so it is run.
#[test]
fn secure_starts_end_where_we_say() {
    let Some((_, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    if !is_there("cc") {
        return skip("no compiler");
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    let source = root.join("program.c");
    std::fs::write(&source, "#include <sys/auxv.h>\nint main(void) { return getauxval(AT_SECURE) ? 42 : 43; }")
        .unwrap();
    let library = root.join("libdemo.so");
    succeed(
        Command::new("cc")
            .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"])
            .arg(&library)
            .arg("-Wl,-soname,libdemo.so"),
    );
    let build = |name: &str, runpath: &str, library: Option<&Path>| {
        let program = root.join(name);
        let mut command = Command::new("cc");
        command.arg(&source).arg("-o").arg(&program).arg("-Wl,--no-as-needed").arg(format!("-Wl,-rpath,{runpath}"));
        succeed(command.args(library));
        let owned = std::os::unix::fs::chown(&program, Some(65534), Some(65534));
        owned.and_then(|()| std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755))).map(|()| program)
    };
    let start = |program: &Path| Command::new(program).env("LD_LIBRARY_PATH", &root).output().unwrap().status.code();
    match build("bare", "/nowhere", None) {
        Ok(program) if start(&program) == Some(42) => {}
        _ => return skip("set-user-ID programs cannot be made here"),
    }
    for (name, runpath, found) in
        [("variable", "/nowhere", false), ("origin", "$ORIGIN", false), ("absolute", root.to_str().unwrap(), true)]
    {
        let program = build(name, runpath, Some(&library)).unwrap();
        let ld_library_path = Some(root.to_str().unwrap().into());
        let environment = Environment { secure: true, ld_library_path, ..environment(release) };
        let closure = resolve(&program, &Files::seen_from(&root), &environment).unwrap();
        assert_eq!(closure.missing.is_empty(), found, "{name}");
        assert_eq!(start(&program) == Some(42), found, "{name}");
    }
}
