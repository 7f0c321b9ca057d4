//! A root file system with a few real programs, and small libraries with one known property each.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{compile, succeed};

/// Programs of the system; those that are missing are left out.
const PROGRAMS: [&str; 7] = ["ls", "cat", "tar", "bash", "grep", "python3", "perl"];
const TABLE: &str = "static int x; int *table[500] = { [0 ... 499] = &x };\n";
const THREE: &str = "#define I(n) __attribute__((constructor)) static void start##n(void) { x++; }\nI(1) I(2) I(3)\n";
/// An address in the code.
const TEXT: &str = "int x; __asm__(\".text\\n.balign 8\\n.quad x\\n\");";
const FAR: &str = "static int x;
#define I(n) __attribute__((constructor, aligned(262144))) static void start##n(void) { x += n; }
I(1) I(2)";
/// Nothing but the file itself: no start files, no C library.
const BARE: [&str; 4] = ["-shared", "-fPIC", "-nostdlib", "-Wl,--build-id"];

/// The files of each package, and its version.
type Packages = Vec<(&'static str, &'static str, Vec<String>)>;

pub(crate) struct KnownRoot {
    root: PathBuf,
    system: Vec<String>,
}

impl KnownRoot {
    /// Version 1: `libtable.so` has no initialisers, and all libraries of `app` are there.
    pub(crate) fn new(root: PathBuf) -> Self {
        let mut known = Self { root, system: Vec::new() };
        known.write("etc/os-release", b"ID=test\n");
        known.system = known.system_files();
        known.library("app", "libtable.so", TABLE, &["-Wl,-soname,libtable.so"]);
        known.library("app", "libidle.so", "int idle;", &["-Wl,-soname,libidle.so", "-s"]);
        known.library("app", "libpacked.so", TABLE, &["-Wl,-z,pack-relative-relocs"]);
        known.library("copy", "libone.so", TABLE, &["-Wl,-soname,libone.so", "-s"]);
        let one = fs::read(known.path("usr/lib/copy/libone.so")).unwrap();
        known.write("usr/lib/other/libone.so.copy", &one);
        known.library("other", "libtable.so", "int other;", &["-Wl,-soname,libtable.so", "-s"]);
        known.library("odd", "libtext.so", TEXT, &["-Wl,-z,notext", "-s"]);
        let many: String = (0..3000).map(|n| format!("int g{n};\n")).collect();
        known.library("odd", "libsysv.so", &many, &["-Wl,--hash-style=sysv,--build-id=none", "-s"]);
        known.library("odd", "libboth.so", &many, &["-Wl,--hash-style=both", "-s"]);
        known.library("odd", "libfar.so", FAR, &["-s"]);
        let functions: String = (0..100).map(|n| format!("int f{n}(void) {{ return {n}; }}\n")).collect();
        let names: Vec<String> = (0..100).map(|n| format!("f{n}")).collect();
        let own = format!("{functions}int (*table[])(void) = {{ {} }};", names.join(", "));
        known.library("odd", "libown.so", &own, &["-s"]);
        known.library("odd", "libforeign.so", "int foreign;", &["-s"]);
        let foreign = fs::File::options().write(true).open(known.path("usr/lib/odd/libforeign.so")).unwrap();
        // Another architecture, IBM S/390 for a little-endian file of x86-64 or aarch64.
        foreign.write_all_at(&22_u16.to_le_bytes(), 18).unwrap();
        known.write("usr/lib/odd/libcut.so", &one[..one.len() / 8]);
        for module in ["a", "b", "c"] {
            known.write(&format!("usr/lib/python3/dist-packages/{module}.py"), b"x = 1\n");
        }
        known.program(&[]);
        known.register("1");
        known
    }

    /// Version 2 of `app`: three initialisers more, and a library that no package has.
    pub(crate) fn update(&self) {
        fs::remove_file(self.path("usr/lib/app/libtable.so")).unwrap();
        self.library("app", "libtable.so", &format!("{TABLE}{THREE}"), &["-Wl,-soname,libtable.so"]);
        let gone = self.root.with_extension("libgone.so");
        compile("cc", &gone, "int gone;", &[&BARE[..], &["-Wl,-soname,libgone.so.1"]].concat());
        self.program(&[gone.to_str().unwrap()]);
        self.register("2");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn library(&self, package: &str, name: &str, source: &str, options: &[&str]) {
        let path = self.path(&format!("usr/lib/{package}/{name}"));
        compile("cc", &path, source, &[&BARE[..], options].concat());
    }

    /// Ten directories without its libraries stand before the one with them; one of the libraries is not used.
    fn program(&self, more: &[&str]) {
        let missed: Vec<String> = (0..10).map(|number| format!("/usr/share/{number}")).collect();
        for directory in &missed {
            fs::create_dir_all(self.path(&directory[1..])).unwrap();
        }
        let run_path = format!("-Wl,-rpath,{}:/usr/lib/app", missed.join(":"));
        let library = self.path("usr/lib/app/libtable.so");
        let idle = self.path("usr/lib/app/libidle.so");
        let source = "extern int *table[]; int main(void) { return !table[0]; }";
        let libraries = ["-Wl,--no-as-needed", library.to_str().unwrap(), idle.to_str().unwrap()];
        let options = [&libraries[..], &["-fPIE", "-pie", "-Wl,--build-id", "-s", &run_path]].concat();
        compile("cc", &self.path("usr/bin/app"), source, &[&options[..], more].concat());
    }

    /// Copies of the system's programs and of all libraries that they load; their names.
    fn system_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut copy = |from: &Path, to: &str| {
            let target = self.path(to.trim_start_matches('/'));
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            if !target.exists() {
                fs::copy(from, target).unwrap();
                files.push(to.to_owned());
            }
        };
        // Not what a PATH leads to, which may be a script that starts the real one.
        for path in
            PROGRAMS.iter().map(|program| format!("/usr/bin/{program}")).filter(|path| fs::exists(path).unwrap())
        {
            copy(Path::new(&path), &path);
            for line in succeed(Command::new("ldd").arg(&path)).lines() {
                if let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) {
                    copy(Path::new(path), path);
                }
            }
        }
        files
    }

    /// The package manager's files.
    fn register(&self, version: &'static str) {
        let below = |name: &str| {
            let entries = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap().file_name());
            entries.map(|file| format!("/{name}/{}", file.to_str().unwrap())).collect::<Vec<_>>()
        };
        let packages: Packages = vec![
            ("app", version, [below("usr/lib/app"), vec!["/usr/bin/app".to_owned()]].concat()),
            ("copy", "1", below("usr/lib/copy")),
            ("other", "1", below("usr/lib/other")),
            ("odd", "1", below("usr/lib/odd")),
            ("snakes", "1", below("usr/lib/python3/dist-packages")),
            ("system", "1", self.system.clone()),
        ];
        let mut status = String::new();
        for (package, version, files) in packages {
            status.push_str(&format!("Package: {package}\nStatus: install ok installed\nArchitecture: amd64\n"));
            status.push_str(&format!("Version: {version}\nMaintainer: x\nDescription: x\n\n"));
            self.write(&format!("var/lib/dpkg/info/{package}.list"), (files.join("\n") + "\n").as_bytes());
        }
        self.write("var/lib/dpkg/status", status.as_bytes());
    }
}
