//! A directory with every file that the commands of the table read, made once and copied for each command.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_testing::{Ingredients, built};
pub(crate) use coldstart_testing::{is_root, skip};
use tempfile::TempDir;

use super::table::Output;

/// The file that the scene's program makes: a refusal comes before the program is started.
const RAN: &str = "ran";
const PROGRAM: &str = "#include <stdio.h>\nint main(void) { return fopen(\"ran\", \"w\") == 0; }\n";
/// Enough pointers that packing their relocations makes the file smaller.
const LIBRARY: &str =
    "static int a; int *pointers[4096] = { [0 ... 4095] = &a };\nint first(void) { return *pointers[7]; }\n";
const APP: &str = "int first(void);\nint main(void) { return first(); }\n";

/// What a command came to.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

/// A copy of the scene for one command.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = new_folder();
        run("cp", &["-a", "--", &format!("{}/.", original().display()), &text(folder.path())], folder.path());
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the command of a row with its output called `out`, and `more` words at the front.
    pub(crate) fn run(&self, output: &Output, out: &str, more: &[&str]) -> Answer {
        self.run_by(Command::new(env!("CARGO_BIN_EXE_coldstart")), output, out, more)
    }

    /// As [`Self::run`], with a standard output of its own.
    pub(crate) fn run_to(&self, stdout: Stdio, output: &Output, out: &str, more: &[&str]) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.stdout(stdout);
        self.run_by(command, output, out, more)
    }

    /// As [`Self::run`], by a command that begins so.
    pub(crate) fn run_by(&self, mut command: Command, output: &Output, out: &str, more: &[&str]) -> Answer {
        let words = output.words.iter().map(|word| if *word == "OUT" { out } else { word });
        command.args(output.verb.split(' ')).args(more).args(words);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("COLDSTART_HISTORY", self.path("history.sqlite"));
        let answer = command.output().unwrap();
        Answer { code: answer.status.code(), said: String::from_utf8_lossy(&answer.stderr).into_owned() }
    }

    /// Everything in the directory: names, kinds, and content of files.
    pub(crate) fn state(&self) -> Vec<(PathBuf, String)> {
        let mut state = Vec::new();
        gather(self.folder.path(), &mut state);
        state.sort();
        state
    }

    /// Expects that the command is refused in these words, with nothing touched and nothing started.
    pub(crate) fn refuses(&self, output: &Output, out: &str, more: &[&str], words: &str) {
        let before = self.state();
        let answer = self.run(output, out, more);
        let what = format!("{} {} over {out} {more:?}: {}", output.verb, output.option, answer.said);
        assert_eq!(answer.code, Some(2), "{what}");
        assert!(answer.said.contains(words) && answer.said.contains("hint: "), "{words}: {what}");
        assert!(!self.path(RAN).exists(), "the program was started: {what}");
        assert!(self.state() == before, "something was touched: {what}");
    }

    /// Expects that the command writes its output.
    pub(crate) fn writes(&self, output: &Output, out: &str, more: &[&str]) {
        let answer = self.run(output, out, more);
        let what = format!("{} {} to {out} {more:?}: {}", output.verb, output.option, answer.said);
        assert_eq!(answer.code, Some(0), "{what}");
        let found = self.path(out).symlink_metadata().unwrap();
        assert!(found.is_file() && found.len() > 0, "{what}");
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new(), "{what}");
        assert!(rustix::fs::getxattr(self.path(out), "user.coldstart.staged", &mut [0; 1][..]).is_err(), "{what}");
        let _ = std::fs::remove_file(self.path(RAN));
    }

    /// Temporary files of ours.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let names = self.state().into_iter().map(|(path, _)| path);
        names.filter(|path| text(path).contains(".coldstart-") && !text(path).contains(".coldstart-farm")).collect()
    }
}

fn gather(folder: &Path, state: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // SQLite's own files beside the history come and go.
        if text(&path).contains("history.sqlite") {
            continue;
        }
        let kind = path.symlink_metadata().unwrap().file_type();
        let what = if kind.is_file() {
            digest(&std::fs::read(&path).unwrap())
        } else if kind.is_symlink() {
            format!("link to {}", std::fs::read_link(&path).unwrap().display())
        } else {
            format!("{kind:?}")
        };
        if kind.is_dir() {
            gather(&path, state);
        }
        state.push((path, what));
    }
}

/// Content in short.
fn digest(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:x}", bytes.len(), hasher.finish())
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A directory that everybody may read.
pub(crate) fn new_folder() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn run(program: &str, words: &[&str], folder: &Path) {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).stdin(Stdio::null());
    let answer = command.env("COLDSTART_HISTORY", folder.join("history.sqlite")).output().unwrap();
    assert!(answer.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&answer.stderr));
}

/// The scene itself, which no test may change.
pub(crate) fn original() -> PathBuf {
    let ingredients = Ingredients::new().bytes([PROGRAM, LIBRARY, APP].concat()).program("cc");
    let ingredients = ingredients
        .program(env!("CARGO_BIN_EXE_coldstart"))
        .file(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/outputs/scene.rs"));
    built("outputs", &ingredients, |at| {
        for (name, source) in [("program.c", PROGRAM), ("library.c", LIBRARY), ("app.c", APP)] {
            std::fs::write(at.join(name), source).unwrap();
        }
        std::fs::create_dir(at.join("sub")).unwrap();
        std::fs::write(at.join("input"), [b'i'; 5000]).unwrap();
        std::fs::write(at.join("perf.data"), "not a recording, which is found out after the output is checked")
            .unwrap();
        run("cc", &["-o", "program", "program.c"], at);
        let plain = "-Wl,-z,nopack-relative-relocs";
        run("cc", &["-shared", "-fPIC", plain, "-o", "lib.so", "library.c"], at);
        run("cc", &["-shared", "-fPIC", plain, "-Wl,-soname,libfirst.so", "-o", "sub/libfirst.so", "library.c"], at);
        run("cc", &["-o", "app", "app.c", "-Lsub", "-lfirst", "-Wl,-rpath,$ORIGIN/none:$ORIGIN/sub"], at);
        let script =
            "import zipfile; z = zipfile.ZipFile('app.zip', 'w'); [z.writestr(str(n), bytes(20000)) for n in range(3)]";
        run("python3", &["-c", script], at);
        let coldstart = env!("CARGO_BIN_EXE_coldstart");
        for words in [
            &["trace", "-o", "app.coldtrace", "--", "./program"][..],
            &["trace", "-o", "other.coldtrace", "--", "./program"],
            &["trace", "--layers", "pages,files", "-o", "zip.coldtrace", "--", "cat", "app.zip"],
            &["prefetch", "record", "--exact", "--from", "app.coldtrace", "-o", "app.prefetch"],
            &["pack", "lib.so", "-o", "packed.so"],
            &["bind", "--anyway", "app", "-o", "bound"],
            &["measure", "--state", "hot", "--runs", "2", "--", "./program"],
        ] {
            run(coldstart, words, at);
        }
        std::fs::remove_file(at.join(RAN)).unwrap();
    })
}
