//! A program with libraries in several folders, conversations about it, and what its start looks like from outside.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_testing::{Ingredients, built};
pub(crate) use coldstart_testing::{scratch, skip, succeed};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";

/// Where the program's libraries are searched: by its own folder, so that copies of the tree work.
pub(crate) const SEARCH: &str = "$ORIGIN/../zero:$ORIGIN/../one:$ORIGIN/../two:$ORIGIN/../three";

/// What the program of every tree prints by itself.
pub(crate) const PRINTED: &str = "1 2 3\n";

/// A program that prints what its libraries say, opens what it is told to, and lists what it has mapped.
const PROGRAM: &str = include_str!("program.c");

pub(crate) fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        skip(&format!("`{program}` is not here"));
    }
    there
}

/// A command with nothing of the caller's that would change what the loader does.
pub(crate) fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["LD_LIBRARY_PATH", "LD_PRELOAD", "LD_DEBUG", "LD_AUDIT", "LD_BIND_NOW"] {
        command.env_remove(name);
    }
    command
}

/// Compiles C with options.
pub(crate) fn compile(path: &Path, source: &str, options: &[&str]) -> PathBuf {
    compile_by("gcc", path, source, options)
}

pub(crate) fn compile_by(compiler: &str, path: &Path, source: &str, options: &[&str]) -> PathBuf {
    coldstart_testing::compile(compiler, path, source, &[&["-O1", "-w"], options].concat())
}

/// A library with this soname and a function of one number, which needs others.
pub(crate) fn library(path: &Path, soname: &str, function: &str, number: i32, options: &[&str]) -> PathBuf {
    library_by("gcc", path, soname, function, number, options)
}

pub(crate) fn library_by(
    compiler: &str,
    path: &Path,
    soname: &str,
    function: &str,
    number: i32,
    options: &[&str],
) -> PathBuf {
    let named = format!("-Wl,-soname,{soname}");
    let options = [&["-shared", "-fPIC", "-Wl,--no-as-needed", &named], options].concat();
    compile_by(compiler, path, &format!("int {function}(void) {{ return {number}; }}"), &options)
}

/// A tree `bin/app`, `one/libfirst.so`, `two/libsecond.so`, `three/libthird.so`: the program needs the first and the
/// third, the first needs the second.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    _scratch: TempDir,
}

impl Tree {
    /// A copy of a tree that was built once. Its program searches by `$ORIGIN`, its first library, too.
    pub(crate) fn new() -> Self {
        let scratch = scratch();
        let root = scratch.path().canonicalize().unwrap().join("tree");
        copy(&template(), &root);
        Self { root, _scratch: scratch }
    }

    /// A tree that is built anew, in this folder, with this search path and other options for the program.
    pub(crate) fn built(scratch: TempDir, search: &str, options: &[&str]) -> Self {
        let root = scratch.path().canonicalize().unwrap().join("tree");
        build("gcc", &root, search, options);
        Self { root, _scratch: scratch }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn app(&self) -> PathBuf {
        self.at("bin/app")
    }

    /// Runs coldstart in the tree; exit code, what it printed, what it said besides.
    pub(crate) fn said(&self, arguments: &[&str]) -> (i32, String, String) {
        said(&self.root, arguments)
    }

    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        done(&self.root, arguments)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        json(&self.root, arguments)
    }

    /// Binds the program in place.
    pub(crate) fn bind(&self, options: &[&str]) {
        self.done(&[&["bind", "--in-place", "bin/app"], options].concat());
    }

    /// Expects a refusal with this code that leaves everything as it was; what was said.
    pub(crate) fn refuses(&self, code: &str, arguments: &[&str]) -> String {
        let before = files_below(&self.root);
        let (exit, report) = self.json(&[arguments, &["--json"]].concat());
        assert_eq!((exit, report["programs"][0]["refusal"]["code"].as_str()), (1, Some(code)), "{report:#}");
        let (exit, stdout, stderr) = self.said(arguments);
        assert_eq!((exit, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.starts_with("error: cannot bind `"), "{stderr}");
        assert!(files_below(&self.root) == before, "{arguments:?} left something behind");
        stderr
    }

    /// Starts the program; what it printed.
    pub(crate) fn start(&self, arguments: &[&str]) -> String {
        succeed(plain(&self.app()).args(arguments))
    }
}

/// Builds the tree.
pub(crate) fn build(compiler: &str, root: &Path, search: &str, options: &[&str]) {
    let to = |folder: &str| format!("-L{}", root.join(folder).display());
    let rpath = |list: &str| format!("-Wl,-rpath,{list}");
    library_by(compiler, &root.join("two/libsecond.so"), "libsecond.so", "second", 2, &[]);
    library_by(compiler, &root.join("three/libthird.so"), "libthird.so", "third", 3, &[]);
    let first = [to("two"), "-lsecond".to_owned(), rpath(search)];
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    library_by(compiler, &root.join("one/libfirst.so"), "libfirst.so", "first", 1, &first);
    std::fs::create_dir_all(root.join("zero")).unwrap();
    let words = [to("one"), to("two"), to("three"), rpath(search)];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let linked = ["-Wl,--no-as-needed", "-lfirst", "-lthird", "-lsecond", "-ldl"];
    compile_by(compiler, &root.join("bin/app"), PROGRAM, &[&words[..], &linked, options].concat());
}

fn template() -> PathBuf {
    let ingredients = Ingredients::new()
        .bytes(PROGRAM)
        .file(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/bind/scene.rs"))
        .program("gcc");
    built("bind", &ingredients, |at| build("gcc", &at.join("tree"), SEARCH, &[])).join("tree")
}

/// Copies a folder with its links and times.
pub(crate) fn copy(from: &Path, to: &Path) {
    succeed(Command::new("cp").arg("-a").arg(from).arg(to));
}

pub(crate) fn coldstart(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = plain(Path::new(env!("CARGO_BIN_EXE_coldstart")));
    command.current_dir(directory).args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn said(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = coldstart(directory, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    (output.status.code().expect("it ends by itself"), stdout, stderr)
}

/// What it prints; it must have succeeded.
pub(crate) fn done(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = said(directory, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stdout}{stderr}");
    stdout
}

pub(crate) fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, stderr) = said(directory, arguments);
    let value = serde_json::from_str(&stdout);
    (code, value.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {stdout}{stderr}")))
}

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All names below a folder with what is in them; links are not followed.
pub(crate) fn files_below(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            let content = if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_dir() {
                directories.push(path.clone());
                Vec::new()
            } else {
                bytes(&path)
            };
            files.push((path, content));
        }
    }
    files.sort();
    files
}

/// Names in a folder, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a start looked like: the real loader's own account (`LD_DEBUG=libs,files`), which no code of ours tells.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) printed: String,
    pub(crate) said: String,
    /// Objects in load order, links followed, the program first.
    pub(crate) objects: Vec<PathBuf>,
    /// Files that were tried in vain.
    pub(crate) failed: Vec<String>,
}

/// Watches a start.
pub(crate) fn seen(command: &mut Command) -> Seen {
    let output = command.env("LD_DEBUG", "libs,files").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut objects = Vec::new();
    let mut tried: Vec<(String, String)> = Vec::new();
    let mut failed = Vec::new();
    let mut loader_says = Vec::new();
    for line in text.lines() {
        // "     12345:\t  trying file=/x/y"
        let Some((_, words)) = line.split_once(":\t") else {
            loader_says.push(line);
            continue;
        };
        let words = words.trim();
        if let Some(path) = words.strip_prefix("trying file=") {
            tried.push((path.to_owned(), String::new()));
        } else if let Some(rest) = words.strip_prefix("file=")
            && rest.contains("generating link map")
        {
            let took = tried.pop().map(|(path, _)| path);
            let name = rest.split(" [").next().unwrap_or_default();
            let path = took.unwrap_or_else(|| name.to_owned());
            objects.push(Path::new(&path).canonicalize().unwrap_or_else(|_| path.into()));
            failed.extend(tried.drain(..).map(|(path, _)| path));
        }
    }
    failed.extend(tried.into_iter().map(|(path, _)| path));
    // What is there was not tried in vain, but found to be loaded.
    failed.retain(|path| !Path::new(path).exists());
    let (printed, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), loader_says.join("\n"));
    Seen { code: output.status.code(), printed, said, objects, failed }
}

pub(crate) fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn readelf(options: &str, path: &Path) -> String {
    succeed(Command::new("readelf").arg(options).arg("-W").arg(path))
}
