//! Other worlds: a root of its own, and other machines' loaders under emulation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Environment, FileSystem, Hwcaps, LoaderBuild, Probe, Start, resolve};
use coldstart_testing::{Random, is_there, skip, succeed};

use crate::common::{Files, environment, real_loader};
use crate::recipe::Recipe;
use crate::starts::{compare, for_every_seed};
use crate::tree::{Flavour, Target, Tree};

/// Programs that bring different libraries into the root.
const PROGRAMS: [&str; 6] =
    ["/bin/ls", "/bin/bash", "/usr/bin/gdb", "/usr/bin/git", "/usr/bin/curl", "/usr/bin/openssl"];

/// Starts a loader in another root; `chroot` as a program would hear of the variables itself.
const IN_ROOT: &str = "
import os, sys
root, loader, option, program = sys.argv[1:]
os.chroot(root)
os.chdir('/')
variables = {'LD_TRACE_LOADED_OBJECTS': '1', 'LD_DEBUG': 'libs,files'}
os.execve(loader, [loader] + option.split() + [program], variables)
";

#[test]
fn a_root_of_its_own() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    if !is_there("ldconfig")
        || !Command::new("chroot").args(["/", "true"]).status().is_ok_and(|status| status.success())
    {
        return skip("no root of its own can be made here");
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let copy = |from: &Path, to: &str| {
        let to = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, &to).unwrap();
    };
    copy(Path::new(&loader), &loader);
    let here = environment(release);
    let programs: Vec<&str> = PROGRAMS.into_iter().filter(|program| Path::new(program).exists()).collect();
    for (number, program) in programs.iter().enumerate() {
        copy(Path::new(program), program);
        for object in resolve(Path::new(program), &Files::default(), &here).unwrap().objects.iter().skip(1) {
            // Some where only a cache finds them, some under a level of the processor, the rest where all look.
            let name = object.path.file_name().unwrap().to_str().unwrap();
            let folder = match (number + name.len()) % 3 {
                0 => "/opt/odd",
                1 => "/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2",
                _ => "/usr/lib",
            };
            copy(&object.path, &format!("{folder}/{name}"));
        }
    }
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/ld.so.conf"), "/opt/odd\n").unwrap();
    fs::create_dir_all(root.join("lib/x86_64-linux-gnu")).unwrap();
    succeed(Command::new("ldconfig").arg("-r").arg(&root));
    let cache = LdSoCache::parse(&fs::read(root.join("etc/ld.so.cache")).unwrap()).unwrap();
    let inside = Environment {
        start: Start::Loader,
        interpreter: Some(loader.clone().into()),
        cache: Some(cache),
        preload_file: None,
        current_directory: "/".into(),
        ..here
    };
    let counts = for_every_seed(programs.len() as u64 * 2, |number, counts| {
        let rooted = Rooted { root: root.clone(), files: Files::default() };
        let program = programs[number as usize / 2];
        let mut environment = inside.clone();
        let option = if number % 2 == 0 { "" } else { "--inhibit-cache" };
        if !option.is_empty() {
            environment.cache = None;
        }
        let mut command = Command::new("python3");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(["-c", IN_ROOT]);
        command.arg(&root).args([loader.as_str(), option, program]);
        let difference = compare(command, Path::new(program), &environment, &rooted, counts);
        difference.map(|difference| format!("{program}: {difference}")).into_iter().collect()
    });
    assert!(counts.contains_key("ld.so.cache") && counts.contains_key("default directory"));
}

/// An entry of the cache names its subfolder and the level that the library's own note asks for. A mask hides subfolders;
/// what the processor can do it does not hide.
#[test]
fn a_mask_hides_names_and_not_the_processor() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let own = environment(release);
    if own.hwcaps.levels.len() < 2 {
        return skip("the processor has no level x86-64-v3");
    }
    if !is_there("ldconfig") || !is_there("cc") {
        return skip("no ldconfig or no compiler");
    }
    if !Command::new("chroot").args(["/", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("no root of its own can be made here");
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    // A library for the third level among those for the second, one for the fourth, and plain ones of both names.
    let places = ["opt/odd/glibc-hwcaps/x86-64-v2", "opt/odd/glibc-hwcaps/x86-64-v3", "opt/odd", "etc", "bin", "lib64"];
    places.iter().for_each(|place| fs::create_dir_all(root.join(place)).unwrap());
    let build = |arguments: &[&str]| {
        let plain = ["-nostdlib", "-Wl,--no-as-needed", "-xc", "/dev/null", "-xnone"];
        succeed(Command::new("cc").current_dir(&root).args(plain).args(arguments));
    };
    let library = |path: &str, level: &str| {
        let soname = format!("-Wl,-soname,{}", path.rsplit('/').next().unwrap());
        build(&["-shared", &soname, &format!("-Wl,-z,{level}"), "-o", path]);
    };
    library("opt/odd/glibc-hwcaps/x86-64-v2/libthird.so", "x86-64-v3");
    library("opt/odd/glibc-hwcaps/x86-64-v3/libsecond.so", "x86-64-v2");
    library("opt/odd/glibc-hwcaps/x86-64-v2/libfourth.so", "x86-64-v4");
    for plain in ["opt/odd/libthird.so", "opt/odd/libsecond.so", "opt/odd/libfourth.so"] {
        library(plain, "x86-64-baseline");
    }
    let interpreter = format!("-Wl,-dynamic-linker,{loader}");
    let needed = ["opt/odd/libthird.so", "opt/odd/libsecond.so", "opt/odd/libfourth.so"];
    build(&[&["-pie", "-Wl,-e,0", &interpreter, "-o", "bin/program"][..], &needed].concat());
    let inside = root.join(loader.trim_start_matches('/'));
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(&loader, inside).unwrap();
    fs::write(root.join("etc/ld.so.conf"), "/opt/odd\n").unwrap();
    succeed(Command::new("ldconfig").arg("-r").arg(&root));
    let cache = LdSoCache::parse(&fs::read(root.join("etc/ld.so.cache")).unwrap()).unwrap();
    let masks = ["x86-64-v2", "x86-64-v3", "x86-64-v3:x86-64-v2", "none"];
    for_every_seed(masks.len() as u64, |number, counts| {
        let rooted = Rooted { root: root.clone(), files: Files::default() };
        let mask = masks[number as usize];
        let environment = Environment {
            start: Start::Loader,
            interpreter: Some(loader.clone().into()),
            cache: Some(cache.clone()),
            hwcaps: own.hwcaps.masked(mask.as_bytes()),
            processor_levels: Some(own.hwcaps.levels.clone()),
            preload_file: None,
            current_directory: "/".into(),
            ..own.clone()
        };
        let mut command = Command::new("python3");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(["-c", IN_ROOT]);
        command.arg(&root).args([loader.as_str(), &format!("--glibc-hwcaps-mask {mask}"), "/bin/program"]);
        let closure = resolve(Path::new("/bin/program"), &rooted, &environment).unwrap();
        let third = closure.objects.iter().find(|object| object.name_asked == b"libthird.so").unwrap();
        let is_leveled = third.path.starts_with("/opt/odd/glibc-hwcaps/x86-64-v2");
        assert_eq!(is_leveled, mask.ends_with("x86-64-v2"), "{mask}: {}", third.path.display());
        let difference = compare(command, Path::new("/bin/program"), &environment, &rooted, counts);
        difference.map(|difference| format!("{mask}: {difference}")).into_iter().collect()
    });
}

/// Files of a root that has no links.
struct Rooted {
    root: PathBuf,
    files: Files,
}

impl Rooted {
    fn outside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl FileSystem for Rooted {
    fn object(&self, path: &Path) -> Probe {
        self.files.object(&self.outside(path))
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.files.is_directory(&self.outside(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let real = self.files.canonical(&self.outside(path))?;
        Some(Path::new("/").join(real.strip_prefix(&self.root).ok()?))
    }
}

/// Files as a program under qemu's `-L` sees them: absolute paths are looked for under the prefix first.
struct Under {
    prefix: PathBuf,
    files: Files,
}

impl Under {
    fn seen(&self, path: &Path) -> PathBuf {
        let inside = self.prefix.join(path.strip_prefix("/").unwrap_or(path));
        if path.is_absolute() && inside.exists() { inside } else { path.to_owned() }
    }
}

impl FileSystem for Under {
    fn object(&self, path: &Path) -> Probe {
        self.files.object(&self.seen(path))
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.files.is_directory(&self.seen(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.files.canonical(path)
    }
}

/// Trees for another machine, whose loader runs under qemu.
struct Emulated {
    qemu: &'static str,
    prefix: &'static str,
    loader: &'static str,
    base: Recipe,
    platform: &'static str,
    combined: &'static [&'static str],
}

fn emulated_finds_what_we_find(machine: &Emulated) {
    let real = Path::new(machine.prefix).join(machine.loader.trim_start_matches('/'));
    let Ok(loader) = fs::read(&real) else { return skip("that machine's libraries are not here") };
    if !is_there(machine.qemu) {
        return skip("no emulator for that machine");
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let target = Target { flavour: Flavour::Glibc, base: machine.base.clone(), interpreter: machine.loader.to_owned() };
    let mut environment = Environment {
        platform: Some(machine.platform.into()),
        cache: fs::read("/etc/ld.so.cache").ok().map(|bytes| LdSoCache::parse(&bytes).unwrap()),
        ..Environment::default()
    };
    let build = LoaderBuild::read(&loader);
    build.apply(&mut environment);
    if build.release.is_some_and(|release| release <= 36) {
        let names = machine.combined.iter().map(|name| name.as_bytes().to_vec());
        environment.hwcaps = Hwcaps { levels: Vec::new(), combined: Some(names.collect()) };
    }
    for_every_seed(150, |seed, counts| {
        let root = root.join(seed.to_string());
        let tree = Tree::generate(&target, &root, &mut Random::new(seed + 2_000_000));
        let mut command = Command::new(machine.qemu);
        command.current_dir(&root).env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs,files");
        command.env_clear().args([
            "-L",
            machine.prefix,
            "-E",
            "LD_TRACE_LOADED_OBJECTS=1",
            "-E",
            "LD_DEBUG=libs:files",
        ]);
        for (name, value) in [("LD_LIBRARY_PATH", &tree.ld_library_path), ("LD_PRELOAD", &tree.ld_preload)] {
            // A comma ends a variable there.
            command.args(value.iter().flat_map(|value| ["-E".to_owned(), format!("{name}={value}")]));
        }
        command.arg(&tree.program);
        let environment = Environment {
            ld_library_path: tree.ld_library_path.clone().map(String::into_bytes),
            ld_preload: tree.ld_preload.clone().map(String::into_bytes),
            current_directory: root.clone(),
            ..environment.clone()
        };
        let files = Under { prefix: machine.prefix.into(), files: Files::seen_from(&root) };
        let difference = compare(command, &tree.program, &environment, &files, counts);
        let (list, preload) = (&tree.ld_library_path, &tree.ld_preload);
        let difference = difference.map(|difference| format!("seed {seed}, {list:?}, {preload:?}: {difference}"));
        difference.into_iter().collect()
    });
}

#[test]
fn aarch64_finds_what_we_find() {
    emulated_finds_what_we_find(&Emulated {
        qemu: "qemu-aarch64",
        prefix: "/usr/aarch64-linux-gnu",
        loader: "/lib/ld-linux-aarch64.so.1",
        base: Recipe { machine: 183, ..Recipe::default() },
        platform: "aarch64",
        combined: &["atomics", "aarch64"],
    });
}

#[test]
fn i386_finds_what_we_find() {
    emulated_finds_what_we_find(&Emulated {
        qemu: "qemu-i386",
        prefix: "/usr/i686-linux-gnu",
        loader: "/lib/ld-linux.so.2",
        base: Recipe { machine: 3, wide: false, ..Recipe::default() },
        platform: "i686",
        combined: &["sse2", "i686"],
    });
}
