//! What the tests share: libraries and programs whose lists and search paths are exactly as asked for, and the real
//! loader's account of a start.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_bind::{BindPlan, Binding, MachineFiles, Options, Program, Refusal, machine_environment, plan};
use coldstart_elf::ElfFile;
use coldstart_loader::Environment;
use coldstart_prove::{PathKind, SearchEdit};
use coldstart_rewrite::{EditNote, plan_search};
pub(crate) use coldstart_testing::skip;
use coldstart_testing::{output_of, succeed};

pub(crate) const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";
pub(crate) const MUSL: &str = "/lib/ld-musl-x86_64.so.1";

/// Whether the tools and the loader are here.
pub(crate) fn ready(loader: &str) -> bool {
    let there = |tool: &str| Command::new(tool).arg("--version").stdin(Stdio::null()).output().is_ok();
    let ready = Path::new(loader).exists() && there("cc") && there("ld");
    if !ready {
        skip("no loader of this kind, or no compiler");
    }
    ready
}

/// A search path as a linker is told it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Search<'a> {
    None,
    Rpath(&'a str),
    Runpath(&'a str),
}

/// A folder in which objects are linked.
pub(crate) struct Workshop {
    pub(crate) root: PathBuf,
    tools: PathBuf,
    stubs: HashMap<String, PathBuf>,
    _scratch: tempfile::TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let (root, tools) = (base.join("root"), base.join("tools"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&tools).unwrap();
        fs::write(tools.join("empty.c"), "int empty;").unwrap();
        succeed(Command::new("cc").current_dir(&tools).args(["-fPIC", "-c", "empty.c"]));
        fs::write(tools.join("dl.c"), "void *dlopen(const char *, int); void *f(void) { return dlopen(\"x\", 1); }")
            .unwrap();
        succeed(Command::new("cc").current_dir(&tools).args(["-fPIC", "-c", "dl.c"]));
        fs::write(tools.join("asks.c"), "int dladdr(const void *, void *); int f(void *p) { return dladdr(p, p); }")
            .unwrap();
        succeed(Command::new("cc").current_dir(&tools).args(["-fPIC", "-c", "asks.c"]));
        Self { root, tools, stubs: HashMap::new(), _scratch: scratch }
    }

    /// A path below the root.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A library that is called so, to link against.
    fn stub(&mut self, name: &str) -> PathBuf {
        let path = self.tools.join(format!("{}.so", self.stubs.len()));
        let tools = &self.tools;
        let build = || {
            succeed(Command::new("ld").args(["-shared", "-soname", name, "-o"]).arg(&path).arg(tools.join("empty.o")));
            path.clone()
        };
        self.stubs.entry(name.to_owned()).or_insert_with(build).clone()
    }

    /// Links an object with exactly these names and this path.
    pub(crate) fn link(&mut self, output: &Path, kind: &[&str], needed: &[&str], path: Search<'_>) {
        self.link_of("empty.o", output, kind, needed, path);
    }

    fn link_of(&mut self, object: &str, output: &Path, kind: &[&str], needed: &[&str], path: Search<'_>) {
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        let stubs: Vec<PathBuf> = needed.iter().map(|name| self.stub(name)).collect();
        let mut command = Command::new("ld");
        command
            .args(kind)
            .args(["-e", "0", "--no-as-needed", "--build-id", "-o"])
            .arg(output)
            .arg(self.tools.join(object));
        command.args(stubs);
        match path {
            Search::None => {}
            Search::Rpath(list) => drop(command.args(["--disable-new-dtags", "-rpath", list])),
            Search::Runpath(list) => drop(command.args(["--enable-new-dtags", "-rpath", list])),
        }
        succeed(&mut command);
    }

    /// A library with the soname of its file's name.
    pub(crate) fn library(&mut self, path: &str, needed: &[&str], search: Search<'_>) -> PathBuf {
        let output = self.at(path);
        let name = output.file_name().unwrap().to_str().unwrap().to_owned();
        self.link(&output, &["-shared", "-soname", &name], needed, search);
        output
    }

    /// The same, one that imports `dlopen`.
    pub(crate) fn opener(&mut self, path: &str, needed: &[&str], search: Search<'_>) -> PathBuf {
        let output = self.at(path);
        let name = output.file_name().unwrap().to_str().unwrap().to_owned();
        self.link_of("dl.o", &output, &["-shared", "-soname", &name], needed, search);
        output
    }

    /// The same, one that imports `dladdr`, with this soname.
    pub(crate) fn asker(&mut self, path: &str, soname: &str, needed: &[&str], search: Search<'_>) -> PathBuf {
        let output = self.at(path);
        self.link_of("asks.o", &output, &["-shared", "-soname", soname], needed, search);
        output
    }

    /// Links a library that imports `dlopen`.
    pub(crate) fn library_that_opens(&mut self, output: &Path, kind: &[&str], needed: &[&str], path: Search<'_>) {
        self.link_of("dl.o", output, kind, needed, path);
    }

    /// A position-independent program.
    pub(crate) fn program(&mut self, path: &str, loader: &str, needed: &[&str], search: Search<'_>) -> PathBuf {
        let output = self.at(path);
        self.link(&output, &["-pie", "-dynamic-linker", loader], needed, search);
        output
    }

    /// Puts the program with an edit in its place: links it anew, with what the edit says.
    pub(crate) fn apply(&mut self, output: &Path, loader: &str, edit: &SearchEdit) {
        let needed: Vec<String> = edit.needed.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        let text = edit.path.as_ref().map(|path| String::from_utf8(path.text.clone()).unwrap());
        let path = match (&text, edit.path.as_ref().map(|path| path.kind)) {
            (Some(text), Some(PathKind::Rpath)) => Search::Rpath(text),
            (Some(text), _) => Search::Runpath(text),
            (None, _) => Search::None,
        };
        fs::remove_file(output).ok();
        self.link(output, &["-pie", "-dynamic-linker", loader], &needed, path);
    }
}

/// Writes what was planned into a program, with its note: `from` as it is, `to` as it will be.
pub(crate) fn rewrite(from: &Path, to: &Path, plan: &BindPlan) {
    let before = fs::read(from).unwrap();
    let file = ElfFile::parse(&before).unwrap();
    let text = plan.binding.to_json().unwrap();
    let search = plan_search(&file, &plan.edit, EditNote { name: "bind", content: Some(&text) }).unwrap();
    let after = search.script.to_vec(&before).unwrap();
    fs::remove_file(to).ok();
    fs::write(to, after).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What this machine has around a program.
pub(crate) fn environment(program: &Path) -> Environment {
    machine_environment(program, &MachineFiles::new(), false)
}

/// Plans for this machine.
pub(crate) fn planned(program: &Path, options: &Options) -> Result<BindPlan, Refusal> {
    let subject = Program { path: program.to_owned(), ..Program::default() };
    plan(&subject, &MachineFiles::new(), &environment(program), options)
}

/// What has changed, for this machine.
pub(crate) fn changes(binding: &Binding, program: &Path) -> Vec<coldstart_bind::Change> {
    coldstart_bind::status(binding, program, &MachineFiles::new(), &environment(program)).unwrap()
}

/// The real loader's account of a start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// The files it loads, in order, links followed.
    pub(crate) files: Vec<PathBuf>,
    /// The paths as it writes them.
    pub(crate) paths: Vec<PathBuf>,
    /// Files it tried in vain.
    pub(crate) failed: Vec<PathBuf>,
}

/// Lets the real loader list what a program loads.
pub(crate) fn account(program: &Path, loader: &str, variables: &[(&str, &str)]) -> Account {
    let mut command = Command::new(if loader == MUSL { MUSL } else { program.to_str().unwrap() });
    if loader == MUSL {
        command.arg("--list").arg(program);
    }
    let command = command.env_clear().envs(variables.iter().copied());
    read(&output_of(command.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs")))
}

fn read(output: &Output) -> Account {
    let mut account = Account::default();
    for line in String::from_utf8_lossy(&output.stdout).lines().map(str::trim) {
        assert!(!line.contains("not found"), "{output:?}");
        let Some((pair, _)) = line.rsplit_once(" (0x").filter(|_| !line.starts_with("linux-vdso")) else { continue };
        let path = PathBuf::from(pair.split_once(" => ").unwrap_or((pair, pair)).1);
        account.files.push(path.canonicalize().unwrap_or_else(|_| path.clone()));
        account.paths.push(path);
    }
    let mut last: Option<PathBuf> = None;
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((_, text)) = line.split_once(":\t") else { continue };
        if let Some(path) = text.trim_start().strip_prefix("trying file=") {
            account.failed.extend(last.replace(PathBuf::from(path)).filter(|path| !path.exists()));
        }
    }
    account.failed.extend(last.filter(|path| !path.exists()));
    account.failed.iter_mut().for_each(|path| *path = without_dots(path));
    account
}

/// A path with its dots worked out; there are no links among the folders here.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
