//! A folder with a program that opens what it is told to, libraries that are numbers, and audit libraries.
//!
//! Each library answers `value()` with its number, so the number tells which of several files of one name was taken.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_bind::audit::{Architecture, Found, Group, Place, Requester, Table, build};
use tempfile::TempDir;

/// A compiler, the machine it compiles for, and what runs its programs.
pub(crate) struct Machine {
    pub(crate) architecture: Architecture,
    pub(crate) compiler: &'static str,
    /// An emulator of qemu's, and where the machine's loader and libc are.
    pub(crate) emulator: Option<(&'static str, &'static str)>,
}

/// The machine the tests run on.
pub(crate) fn native() -> Machine {
    let here = if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 };
    Machine { architecture: here, compiler: "gcc", emulator: None }
}

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) machine: Machine,
}

impl Scene {
    /// The program with these directories of the scene as its RUNPATH.
    pub(crate) fn new(runpath: &[&str]) -> Self {
        Self::on(native(), runpath)
    }

    pub(crate) fn on(machine: Machine, runpath: &[&str]) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap(), machine };
        scene.program("program", runpath, &[]);
        scene
    }

    /// The program under another name, with options for the linker.
    pub(crate) fn program(&self, name: &str, runpath: &[&str], options: &[String]) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/audit_scene/program.c");
        let directories: Vec<String> = runpath.iter().map(|entry| self.expanded(entry)).collect();
        let mut options = options.to_vec();
        if !directories.is_empty() {
            options.push(format!("-Wl,--enable-new-dtags,-rpath,{}", directories.join(":")));
        }
        let options: Vec<&str> = options.iter().map(String::as_str).chain(["-pthread", "-ldl"]).collect();
        self.compile(&source, name, &options);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn place(&self, name: &str) -> Place {
        Place::Absolute(self.path(name).as_os_str().as_bytes().to_vec())
    }

    pub(crate) fn library_at(&self, name: &str) -> Requester {
        Requester::Library(self.place(name))
    }

    /// A path of a search path: absolute ones and `$ORIGIN` as they are, others in the scene.
    fn expanded(&self, entry: &str) -> String {
        if entry.starts_with(['/', '$']) { entry.to_owned() } else { self.path(entry).display().to_string() }
    }

    fn compile(&self, source: &Path, output: &str, options: &[&str]) {
        let output = self.path(output);
        std::fs::create_dir_all(output.parent().unwrap()).unwrap();
        let mut command = Command::new(self.machine.compiler);
        command.arg("-O1").arg(source).arg("-o").arg(&output).args(options);
        let result = command.output().unwrap();
        assert!(result.status.success(), "{command:?}: {}", String::from_utf8_lossy(&result.stderr));
    }

    /// A library that is a number, without a libc, so that it stands in any namespace.
    pub(crate) fn number(&self, path: &str, value: u32) {
        let source = self.path("number.c");
        std::fs::write(&source, format!("int value(void) {{ return {value}; }}\n")).unwrap();
        let soname = format!("-Wl,-soname,{}", Path::new(path).file_name().unwrap().to_str().unwrap());
        self.compile(&source, path, &["-shared", "-fPIC", "-nostdlib", &soname]);
    }

    /// A plugin with its own RUNPATH that opens what it is told to.
    pub(crate) fn plugin(&self, path: &str, runpath: &str) {
        let source = self.path("plugin.c");
        let text = "#include <dlfcn.h>\nint value(void) { return 0; }\n\
                    void *through(const char *name) { return dlopen(name, RTLD_NOW); }\n";
        std::fs::write(&source, text).unwrap();
        let runpath = format!("-Wl,--enable-new-dtags,-rpath,{}", self.expanded(runpath));
        self.compile(&source, path, &["-shared", "-fPIC", &runpath, "-ldl"]);
    }

    /// Writes the audit library for a table.
    pub(crate) fn audit(&self, table: &Table) -> PathBuf {
        let path = self.path("audit/libcoldstart-audit.so");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, build(self.machine.architecture, table).unwrap()).unwrap();
        path
    }

    /// Answers of one group: names and files of the scene.
    pub(crate) fn group(&self, requesters: &[Requester], answers: &[(&str, &str)]) -> Group {
        Group { requesters: requesters.iter().cloned().collect(), entries: self.answers(answers) }
    }

    pub(crate) fn answers(&self, answers: &[(&str, &str)]) -> BTreeMap<Vec<u8>, Found> {
        let found = |file: &&str| Found { place: self.place(file), before_library_path: false };
        answers.iter().map(|(name, file)| (name.as_bytes().to_vec(), found(file))).collect()
    }

    /// A table with answers for the program.
    pub(crate) fn table(&self, answers: &[(&str, &str)]) -> Table {
        Table { groups: vec![self.group(&[Requester::Program], answers)], ..Table::default() }
    }

    /// Runs the program with an audit library and words, and gives what it prints, without its last word.
    pub(crate) fn run(&self, audit: &Path, words: &[&str]) -> String {
        self.run_with(audit, words, &[])
    }

    /// The same with variables; a list of directories in `LD_LIBRARY_PATH` is taken from the scene.
    pub(crate) fn run_with(&self, audit: &Path, words: &[&str], variables: &[(&str, &str)]) -> String {
        told(&self.start(audit, words, variables))
    }

    pub(crate) fn start(&self, audit: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
        let program = self.path("program");
        let audit = format!("LD_AUDIT={}", audit.display());
        let mut command = match self.machine.emulator {
            None => {
                let mut command = Command::new("env");
                command.arg(audit).args(variables.iter().map(|(name, value)| format!("{name}={value}")));
                command
            }
            Some((emulator, root)) => {
                let mut command = Command::new(emulator);
                command.args(["-L", root, "-E", &audit]);
                for (name, value) in variables {
                    command.arg("-E").arg(format!("{name}={value}"));
                }
                command
            }
        };
        command.arg(program).args(words).current_dir(self.folder.path());
        for variable in ["LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "COLDSTART_DISABLE"] {
            command.env_remove(variable);
        }
        command.output().unwrap()
    }

    /// The program in the loader's words about its searches (`LD_DEBUG=libs`): the files it tried for a name.
    pub(crate) fn tries(&self, audit: &Path, words: &[&str], name: &str) -> usize {
        let output = self.start(audit, words, &[("LD_DEBUG", "libs")]);
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        told.lines().filter(|line| line.contains("trying file=") && line.ends_with(&format!("/{name}"))).count()
    }
}

/// What a program printed before "end"; it must have got that far.
pub(crate) fn told(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}, signal {:?}", output.status.signal());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.strip_suffix("end\n").unwrap_or_else(|| panic!("no end in {text:?}")).trim_end().to_owned()
}
