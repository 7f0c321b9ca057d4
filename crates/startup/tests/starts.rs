//! Starts in sysroots that are made here: small objects built by gcc, with loaders that only hold the strings that are read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_elf::FileKind;
use coldstart_loader::{Error, FoundBy, Rules, Start};
use coldstart_startup::cache::{
    CacheSourceError, ClosureOptions, DirectoryOptions, RelativeLine, files_below, follow, gather,
};
use coldstart_startup::{
    Conditions, Files, Inherit, Levels, ProgramKind, SimulatedStart, StartError, StartOptions, Surroundings,
};
use tempfile::TempDir;

const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";
const MUSL: &str = "/lib/ld-musl-x86_64.so.1";

/// A sysroot.
struct Scene {
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { directory: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    /// A path of the sysroot on this host, whose directory is made.
    fn at(&self, path: &str) -> PathBuf {
        let path = self.directory.path().join("root").join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.at(path), content).unwrap();
    }

    fn compile(&self, path: &str, source: &str, options: &[&str]) {
        let source_path = self.directory.path().join("source.c");
        fs::write(&source_path, source).unwrap();
        let mut command = Command::new("gcc");
        command.arg("-nostdlib").arg("-o").arg(self.at(path)).arg(&source_path).args(options);
        let output = command.output().expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn library(&self, path: &str, options: &[&str]) {
        self.compile(path, "int x;", &[&["-shared", "-fPIC", "-Wl,--no-as-needed"], options].concat());
    }

    /// A program that names a loader and needs libraries of the sysroot.
    fn program(&self, path: &str, interpreter: &str, options: &[&str]) {
        let interpreter = format!("-Wl,-dynamic-linker,{interpreter}");
        let own = ["-fPIE", "-pie", "-Wl,-e,0", "-Wl,--no-as-needed", interpreter.as_str()];
        self.compile(path, "", &[&own[..], options].concat());
    }

    /// A loader as far as it is read: strings, as they stand between zero bytes.
    fn loader(&self, path: &str, strings: &[&str], options: &[&str]) {
        let strings = strings.iter().map(|text| format!("{text}\\0")).collect::<String>();
        let source = format!("__attribute__((used)) static const char strings[] = \"{strings}\"; int x;");
        self.compile(path, &source, &[&["-shared", "-fPIC"], options].concat());
    }

    fn glibc(&self) {
        let release = "ld.so (GNU libc) stable release version 2.40.";
        self.loader(GLIBC, &[release, "", "/lib64/", "/usr/lib64/", "", "/etc/ld.so.cache"], &[]);
    }

    fn musl(&self, path: &str) {
        self.loader(path, &["musl libc (x86_64)", "%.*s/etc/ld-musl-x86_64.path"], &[]);
    }

    fn options(&self, conditions: Conditions) -> StartOptions {
        let sysroot = Some(self.directory.path().join("root"));
        StartOptions { sysroot, current_directory: None, conditions }
    }

    fn start(&self, program: &str) -> SimulatedStart {
        SimulatedStart::new(Path::new(program), &self.options(Conditions::default())).unwrap()
    }

    fn refused(&self, program: &str) -> StartError {
        SimulatedStart::new(Path::new(program), &self.options(Conditions::default())).unwrap_err()
    }
}

/// What is loaded, without the program, each with whether a default directory had it.
fn loaded(start: &SimulatedStart) -> Vec<String> {
    let closure = start.closure().unwrap();
    closure.objects.iter().skip(1).map(|object| object.path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_outside_of_the_sysroot_is_loaded() {
    let scene = Scene::new();
    scene.glibc();
    for (target, link) in [("/usr/lib64", "/lib64/sub"), ("../../../../../usr/lib64/libtwo.so", "/usr/lib64/libone.so")]
    {
        symlink(target, scene.at(link)).unwrap();
    }
    scene.library("/usr/lib64/libtwo.so", &["-Wl,-soname,libtwo.so"]);
    // A library beside the sysroot, to which links would lead if they were followed as on this host.
    let outside = scene.directory.path().join("libout.so");
    fs::copy(scene.at("/usr/lib64/libtwo.so"), &outside).unwrap();
    symlink(&outside, scene.at("/usr/lib64/libabsolute.so")).unwrap();
    symlink("../../../libout.so", scene.at("/usr/lib64/librelative.so")).unwrap();
    scene.library("/stubs/libone.so", &["-Wl,-soname,libone.so"]);
    scene.library("/stubs/libabsolute.so", &["-Wl,-soname,libabsolute.so"]);
    scene.library("/stubs/librelative.so", &["-Wl,-soname,librelative.so"]);
    let stubs = format!("-L{}", scene.at("/stubs/x").parent().unwrap().display());
    scene.program("/usr/bin/app", GLIBC, &[&stubs, "-lone", "-labsolute", "-lrelative"]);
    let start = scene.start("app");
    assert_eq!((start.program.as_path(), start.kind), (Path::new("/usr/bin/app"), ProgramKind::Dynamic));
    let closure = start.closure().unwrap();
    let missing: Vec<&[u8]> = closure.missing.iter().map(|missing| missing.needed.as_slice()).collect();
    assert_eq!(missing, [b"libabsolute.so".as_slice(), b"librelative.so"]);
    assert_eq!(loaded(&start), ["/usr/lib64/libone.so", GLIBC]);
    assert_eq!(start.surroundings.build.release, Some(40));
    // Our own variables do not count in a sysroot.
    assert_eq!(start.surroundings.environment.ld_library_path, None);
}

#[test]
fn a_program_s_origin_is_where_its_link_leads_inside() {
    let scene = Scene::new();
    scene.glibc();
    scene.library("/opt/app/lib/libown.so", &["-Wl,-soname,libown.so"]);
    let own = scene.at("/opt/app/lib/x");
    let search = format!("-L{}", own.parent().unwrap().display());
    scene.program("/opt/app/bin/app", GLIBC, &[&search, "-lown", "-Wl,-rpath,$ORIGIN/../lib"]);
    symlink("/opt/app/bin/app", scene.at("/usr/bin/app")).unwrap();
    assert_eq!(loaded(&scene.start("app")), ["/opt/app/bin/../lib/libown.so", GLIBC]);
    // By a path of this host that is inside.
    let by_host_path = scene.start(scene.at("/usr/bin/app").to_str().unwrap());
    assert_eq!(by_host_path.program, Path::new("/usr/bin/app"));
    assert_eq!(loaded(&by_host_path), ["/opt/app/bin/../lib/libown.so", GLIBC]);
    // A program beside the sysroot is looked at where it is, and searches inside.
    let beside = scene.directory.path().canonicalize().unwrap().join("beside");
    fs::copy(scene.at("/opt/app/bin/app"), &beside).unwrap();
    let beside = scene.start(beside.to_str().unwrap());
    assert_eq!(beside.closure().unwrap().missing.len(), 1);
}

#[test]
fn musl_reads_the_list_that_its_loader_names() {
    let scene = Scene::new();
    scene.musl(MUSL);
    scene.library("/opt/listed/libown.so", &["-Wl,-soname,libown.so"]);
    let search = format!("-L{}", scene.at("/opt/listed/x").parent().unwrap().display());
    // The program names the loader by a link with another name, from which the list's name cannot be guessed.
    symlink(MUSL, scene.at("/opt/ld.so")).unwrap();
    scene.program("/bin/app", MUSL, &[&search, "-lown"]);
    scene.program("/bin/renamed", "/opt/ld.so", &[&search, "-lown"]);
    assert_eq!(scene.start("/bin/app").closure().unwrap().missing.len(), 1);
    scene.write("/etc/ld-musl-x86_64.path", "/opt/listed\n");
    for (program, interpreter) in [("/bin/app", MUSL), ("/bin/renamed", "/opt/ld.so")] {
        let start = scene.start(program);
        assert_eq!(start.surroundings.environment.rules, Rules::Musl);
        assert_eq!(loaded(&start), ["/opt/listed/libown.so", interpreter], "{program}");
    }
    // A loader that is not in /lib has an `etc` of its own.
    scene.musl("/cross/lib/ld-musl-x86_64.so.1");
    scene.program("/bin/cross", "/cross/lib/ld-musl-x86_64.so.1", &[&search, "-lown"]);
    assert_eq!(scene.start("/bin/cross").closure().unwrap().missing.len(), 1);
    scene.write("/cross/etc/ld-musl-x86_64.path", "/opt/listed");
    assert_eq!(loaded(&scene.start("/bin/cross")).first().unwrap(), "/opt/listed/libown.so");
}

#[test]
fn narrow_programs_have_a_loader_and_a_processor_of_their_own() {
    let scene = Scene::new();
    scene.glibc();
    let strings = ["ld.so (GNU libc) stable release version 2.36.", "", "/lib/", "/usr/lib/", "", "/etc/ld.so.cache"];
    scene.loader("/lib/ld-linux.so.2", &strings, &["-m32"]);
    scene.library("/usr/lib/libown.so", &["-m32", "-Wl,-soname,libown.so"]);
    let search = format!("-L{}", scene.at("/usr/lib/x").parent().unwrap().display());
    scene.program("/bin/narrow", "/lib/ld-linux.so.2", &["-m32", &search, "-lown"]);
    let start = scene.start("narrow");
    assert_eq!(loaded(&start), ["/usr/lib/libown.so", "/lib/ld-linux.so.2"]);
    let environment = &start.surroundings.environment;
    assert_eq!(environment.hwcaps, coldstart_loader::Hwcaps::default());
    assert_eq!(environment.platform.as_deref(), Some(b"i686".as_slice()));
    // A library names no loader; the one of its architecture is taken.
    let library = scene.start("/usr/lib/libown.so");
    assert_eq!((library.kind, library.surroundings.environment.start), (ProgramKind::Library, Start::Loader));
    assert_eq!(library.surroundings.interpreter.as_deref(), Some(Path::new("/lib/ld-linux.so.2")));
}

#[test]
fn a_missing_loader_is_told_by_the_rules() {
    let scene = Scene::new();
    scene.program("/bin/app", GLIBC, &[]);
    let start = scene.start("/bin/app");
    let Err(Error::Interpreter { path, .. }) = start.closure() else { panic!("it has no loader") };
    assert_eq!(path, Path::new(GLIBC));
    let given = Conditions { interpreter: Some("/opt/ld.so".into()), ..Conditions::default() };
    let start = SimulatedStart::new(Path::new("/bin/app"), &scene.options(given)).unwrap();
    let Err(Error::Interpreter { path, .. }) = start.closure() else { panic!("it has no loader") };
    assert_eq!(path, Path::new("/opt/ld.so"));
}

#[test]
fn static_programs_and_loaders_load_nothing() {
    let scene = Scene::new();
    scene.glibc();
    scene.compile("/bin/alone", "", &["-static", "-Wl,-e,0"]);
    scene.compile("/bin/alone-pie", "", &["-static-pie", "-Wl,-e,0"]);
    for program in ["/bin/alone", "/bin/alone-pie", GLIBC] {
        let start = scene.start(program);
        assert!(start.loads_nothing(), "{program}");
        assert_eq!(start.closure().unwrap().objects.len(), 1, "{program}");
        assert_eq!(start.closure().unwrap().objects[0].found_by, FoundBy::Program);
    }
    assert_eq!(scene.start("/bin/alone").kind, ProgramKind::Static);
    assert!(scene.start(GLIBC).is_its_own_loader());
}

#[test]
fn what_is_no_program_is_named() {
    let scene = Scene::new();
    scene.write("/bin/script", "#!/usr/bin/env python3\n");
    let StartError::NotAnObject { kind, beginning, program, .. } = scene.refused("script") else { panic!() };
    assert_eq!((kind, program.as_path()), (FileKind::Script, Path::new("/bin/script")));
    assert!(beginning.starts_with(b"#!/usr/bin/env python3"));
    assert!(matches!(scene.refused("no-such-program"), StartError::NotInSysroot { .. }));
    assert!(matches!(scene.refused("/no/such/program"), StartError::NotAnObject { kind: FileKind::Empty, .. }));
    let nowhere = StartOptions { sysroot: Some("/nowhere/x".into()), ..StartOptions::default() };
    assert!(matches!(SimulatedStart::new(Path::new("x"), &nowhere), Err(StartError::Root(_))));
    let file = StartOptions { current_directory: Some("/bin/script".into()), ..scene.options(Conditions::default()) };
    assert!(matches!(SimulatedStart::new(Path::new("script"), &file), Err(StartError::CurrentDirectory { .. })));
}

#[test]
fn nothing_is_inherited_unless_asked() {
    let scene = Scene::new();
    scene.glibc();
    scene.write("/etc/ld.so.preload", "/lib64/libfirst.so\n");
    scene.write("/etc/ld.so.cache", "no cache");
    scene.program("/bin/app", GLIBC, &[]);
    let start = scene.start("app");
    assert_eq!(start.surroundings.environment.preload_file.as_deref(), Some(b"/lib64/libfirst.so\n".as_slice()));
    assert_eq!(start.surroundings.cache_file.as_deref(), Some(Path::new("/etc/ld.so.cache")));
    assert!(start.surroundings.cache_problem.is_some());
    let root = coldstart_startup::Root::open(Some(scene.at("/x").parent().unwrap())).unwrap();
    let files = Files::new(root, None);
    let object = files.object_file(Path::new("/bin/app")).unwrap();
    let conditions =
        Conditions { inherit: Inherit::Nothing, levels: Levels::Every, inhibit_cache: true, ..Conditions::default() };
    let surroundings = Surroundings::of(&object, &files, &conditions);
    assert_eq!((surroundings.environment.preload_file, surroundings.cache_file), (None, None));
    assert_eq!(surroundings.environment.platform, None);
    assert_eq!(surroundings.environment.current_directory, Path::new("/"));
}

#[test]
fn a_relative_search_path_begins_in_the_directory_of_the_start() {
    let scene = Scene::new();
    scene.glibc();
    scene.library("/srv/late/libown.so", &["-Wl,-soname,libown.so"]);
    let search = format!("-L{}", scene.at("/srv/late/x").parent().unwrap().display());
    scene.program("/bin/app", GLIBC, &[&search, "-lown"]);
    let conditions = Conditions { ld_library_path: Some("late".into()), ..Conditions::default() };
    let options = StartOptions { current_directory: Some("srv".into()), ..scene.options(conditions) };
    let start = SimulatedStart::new(Path::new("app"), &options).unwrap();
    assert_eq!(loaded(&start), ["late/libown.so", GLIBC]);
    assert_eq!(start.surroundings.environment.current_directory, Path::new("/srv"));
}

impl Scene {
    fn files(&self) -> Files {
        Files::new(coldstart_startup::Root::open(Some(&self.directory.path().join("root"))).unwrap(), None)
    }
}

#[test]
fn a_library_s_names_are_found_by_the_loader_of_its_own_architecture() {
    let scene = Scene::new();
    scene.glibc();
    let strings =
        ["ld.so (GNU libc) stable release version 2.36.", "", "/lib32/", "/usr/lib32/", "", "/etc/ld.so.cache"];
    scene.loader("/lib/ld-linux.so.2", &strings, &["-m32"]);
    scene.library("/lib32/libown.so", &["-m32", "-Wl,-soname,libown.so"]);
    let search = format!("-L{}", scene.at("/lib32/x").parent().unwrap().display());
    scene.library("/srv/libasks.so", &["-m32", &search, "-lown"]);
    let files = scene.files();
    let following = ClosureOptions { files: &files, arch: None, release: None, levels: None, with_cache: true };
    let followed = follow(&following, &["/srv/libasks.so".into()], true).unwrap();
    assert_eq!((followed.family.name, followed.release, followed.programs), ("x86-64", 36, 1));
    let entries: Vec<(&[u8], &[u8])> =
        followed.entries.iter().map(|entry| (entry.name.as_slice(), entry.path.as_slice())).collect();
    assert_eq!(entries, [(b"libown.so".as_slice(), b"/lib32/libown.so".as_slice())]);
    assert!(followed.missing.is_empty() && followed.conflicts.is_empty());
}

#[test]
fn what_no_cache_can_be_made_of_is_named() {
    let scene = Scene::new();
    scene.musl(MUSL);
    scene.program("/bin/app", MUSL, &[]);
    scene.write("/bin/script", "#!/bin/sh\n");
    let files = scene.files();
    let following = ClosureOptions { files: &files, arch: None, release: None, levels: None, with_cache: true };
    let refused = |program: &str| follow(&following, &[program.into()], true).err().unwrap();
    assert!(matches!(refused("/bin/app"), CacheSourceError::Musl { .. }));
    assert!(matches!(refused("/bin/script"), CacheSourceError::NotAnObject { .. }));
    assert!(matches!(refused("/bin/none"), CacheSourceError::NotAnObject { .. }));
    // Among the files below a store item it is passed over.
    let below = files_below(files.root(), Path::new("/bin")).unwrap();
    assert_eq!(below, [PathBuf::from("/bin/app"), PathBuf::from("/bin/script")]);
    assert_eq!(follow(&following, &["/bin/script".into()], false).unwrap().programs, 0);
}

#[test]
fn a_configuration_names_directories_inside() {
    let scene = Scene::new();
    scene.glibc();
    scene.library("/opt/one/libone.so", &["-Wl,-soname,libone.so"]);
    scene.write("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\nrelative/lib\n");
    scene.write("/etc/ld.so.conf.d/one.conf", "/opt/link\n");
    scene.write("/etc/ld.so.conf.d/.hidden.conf", "/nowhere\n");
    symlink("/opt/one", scene.at("/opt/link")).unwrap();
    let files = scene.files();
    let asked = DirectoryOptions {
        root: files.root(),
        directories: &[],
        recursive: false,
        configuration: None,
        arch: None,
        release: None,
        levels: None,
    };
    let found = gather(asked).unwrap();
    assert_eq!((found.rules.family.name, found.rules.release), ("x86-64", 40));
    let names: Vec<&[u8]> = found.scan.libraries.iter().map(|library| library.entry.path.as_slice()).collect();
    assert!(names.contains(&b"/opt/link/libone.so".as_slice()), "{names:?}");
    assert!(!found.scan.directories.contains(&b"/nowhere".to_vec()));
    let line = RelativeLine { file: "/etc/ld.so.conf".into(), directory: "relative/lib".into() };
    assert_eq!(found.relative, [line]);
    scene.write("/etc/ld.so.conf.d/circle.conf", "include /etc/ld.so.conf\n");
    assert!(matches!(gather(asked).unwrap_err(), CacheSourceError::IncludedTooDeep { .. }));
    let unknown = DirectoryOptions { arch: Some("vax"), directories: &["/opt/one".into()], ..asked };
    assert!(matches!(gather(unknown).unwrap_err(), CacheSourceError::UnknownFamily { .. }));
    let gone = DirectoryOptions { directories: &["/nowhere".into()], ..asked };
    assert!(matches!(gather(gone).unwrap_err(), CacheSourceError::Unusable { .. }));
    let below = DirectoryOptions { directories: &["/opt".into()], recursive: true, arch: Some("amd64"), ..asked };
    assert!(gather(below).unwrap().scan.directories.contains(&b"/opt/one".to_vec()));
}
