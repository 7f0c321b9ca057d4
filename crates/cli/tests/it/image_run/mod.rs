//! `coldstart image run`, `mount` and `umount`: a program starts from its image, or from its own files, and nothing stays behind.
//!
//! The images are below /var/tmp: on a disk, in directories of root's. Needs cc, root, and a kernel that mounts EROFS from files.

mod changed;
mod ends;
mod installed;
mod mounted;
mod rights;
mod same;
mod second_start;
mod several;
mod unusable;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use coldstart_host::mounts::Mounts;
use coldstart_testing::{compile, is_root, skip};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

const PROGRAM: &str = include_str!("program.c");
/// In front of the reason why a program starts from its own files.
const WITHOUT: &str = "coldstart: started without the image: ";

/// A directory with the program `app/program`, its library, and files beside it.
struct Scene {
    directory: TempDir,
}

impl Scene {
    /// `None` where no program can be started from an image; that was said.
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let scene = Self::without_trial();
        scene.image("trial.erofs", &["part", ""]);
        let said = text(&scene.run("trial.erofs", &["exit", "0"]).stderr);
        if said.contains("the image cannot be mounted") {
            skip(&said);
            return None;
        }
        assert_eq!(said, "");
        fs::remove_file(scene.path("trial.erofs")).unwrap();
        Some(scene)
    }

    fn without_trial() -> Self {
        let mut builder = tempfile::Builder::new();
        let directory = builder.permissions(Permissions::from_mode(0o755)).tempdir_in("/var/tmp").unwrap();
        let scene = Self { directory };
        compile("cc", &scene.path("app/lib/libpart.so"), "int part(void) { return 42; }", &["-shared", "-fPIC"]);
        let library = scene.path("app/lib");
        let library = library.to_str().unwrap();
        compile("cc", &scene.path("app/program"), PROGRAM, &["-L", library, "-lpart", "-Wl,-rpath,$ORIGIN/lib"]);
        fs::create_dir(scene.path("app/share")).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(scene.path(&format!("app/share/{name}")), format!("words of {name}\n")).unwrap();
        }
        scene
    }

    /// Without symbolic links, as recordings have it.
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// The name of a file beside the program, as it is given to the program.
    fn share(&self, name: &str) -> String {
        self.path("app/share").join(name).to_str().unwrap().to_owned()
    }

    /// What the program says of a file of its own that comes from the image.
    fn line_of_image(&self, name: &str) -> String {
        format!("{} erofs words of {name}\n", self.share(name))
    }

    /// `coldstart image` with these words and, behind `--`, the program with these orders.
    fn command(&self, words: &[&str], orders: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.arg("image").args(words).current_dir(self.directory.path()).stdin(Stdio::null());
        if !orders.is_empty() {
            command.arg("--").arg(self.path("app/program")).args(orders);
        }
        command
    }

    /// Makes an image of a start with these orders, as warm as it is.
    #[track_caller]
    fn image(&self, name: &str, orders: &[&str]) -> Value {
        self.json(&["make", "--json", "--as-is", "--force", "-o", name], orders)
    }

    /// An image of all files of the program.
    #[track_caller]
    fn whole_image(&self, name: &str) -> Value {
        let (a, b, c) = (self.share("a"), self.share("b"), self.share("c"));
        self.image(name, &["part", "", "look", &a, "look", &b, "look", &c])
    }

    #[track_caller]
    fn json(&self, words: &[&str], orders: &[&str]) -> Value {
        let output = self.command(words, orders).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A start from an image.
    fn run(&self, image: &str, orders: &[&str]) -> Output {
        self.command(&["run", image], orders).output().unwrap()
    }

    /// What the program says, started from an image; nothing else is said.
    #[track_caller]
    fn said(&self, image: &str, orders: &[&str]) -> String {
        let output = self.run(image, orders);
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
        text(&output.stdout)
    }

    /// What `-v` says of a start from an image.
    #[track_caller]
    fn told(&self, image: &str) -> String {
        let output = self.command(&["run", "-v", image], &["exit", "0"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    }

    /// The program, started from an image, waiting for orders.
    fn wait(&self, image: &str) -> Waiting {
        let mut command = self.command(&["run", image], &["-"]);
        Waiting::of(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
    }
}

/// A program that waits for orders. It is killed when this is dropped.
struct Waiting {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Waiting {
    /// Started by a command whose streams are pipes; it has begun.
    #[track_caller]
    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (orders, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut waiting = Self { child, orders, answers };
        assert!(waiting.answer().starts_with("argv "));
        waiting
    }

    /// The answer to an order.
    #[track_caller]
    fn ask(&mut self, order: &str) -> String {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        self.answer()
    }

    #[track_caller]
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line
    }

    /// No more orders: it ends, with this code.
    #[track_caller]
    fn end(mut self) -> Option<i32> {
        self.orders = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Places in our own mount namespace, at or below a path, where something is mounted.
fn mounts_below(path: &Path) -> Vec<PathBuf> {
    let mounts = Mounts::here().unwrap();
    let places = mounts.all().iter().map(|mount| mount.place.clone());
    places.filter(|place| place.starts_with(path)).collect()
}
