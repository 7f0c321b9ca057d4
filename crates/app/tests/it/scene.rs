//! A library with many relative relocations, and a program that finds one at the second place of its search path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use coldstart_app::error::AppError;
use coldstart_app::observer::Observer;

/// Words of the library that are relocated: so many that packing them saves pages.
const WORDS: usize = 4000;

/// A directory with what was built in it.
pub(crate) struct Scene {
    pub(crate) library: PathBuf,
    pub(crate) program: PathBuf,
    directory: tempfile::TempDir,
}

impl Scene {
    /// Builds both; `None` where there is no compiler.
    pub(crate) fn build() -> Option<Self> {
        if Command::new("cc").arg("--version").output().is_err() {
            coldstart_testing::skip("no compiler");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        let words: String = (0..WORDS).map(|number| format!("&w[{}],", number % 7)).collect();
        write("words.c", &format!("static int w[7]; int *words[] = {{ {words} }};\n"));
        write("answer.c", "int answer(void) { return 0; }\n");
        write("main.c", "int answer(void); int main(void) { return answer(); }\n");
        fs::create_dir(root.join("empty")).unwrap();
        fs::create_dir(root.join("lib")).unwrap();
        let cc = |words: &[&str]| {
            let status = Command::new("cc").current_dir(&root).args(words).status().unwrap();
            assert!(status.success(), "{words:?}");
        };
        cc(&["-shared", "-fPIC", "-Wl,-z,nopack-relative-relocs", "words.c", "-o", "libwords.so"]);
        cc(&["-shared", "-fPIC", "answer.c", "-o", "lib/libanswer.so"]);
        let path = "-Wl,-rpath,$ORIGIN/empty:$ORIGIN/lib";
        cc(&["main.c", "-Llib", "-lanswer", path, "-o", "program"]);
        Some(Self { library: root.join("libwords.so"), program: root.join("program"), directory })
    }

    /// A path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }
}

/// Counts what it is told.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) steps: Mutex<usize>,
    pub(crate) errors: Mutex<Vec<String>>,
    pub(crate) hints: Mutex<Vec<String>>,
}

impl Observer for Heard {
    fn step(&self) {
        *self.steps.lock().unwrap() += 1;
    }

    fn error(&self, error: AppError) {
        self.errors.lock().unwrap().push(error.sentence());
        self.hints.lock().unwrap().extend(error.hints());
    }
}

/// What a serialisable outcome is as JSON.
pub(crate) fn json(outcome: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(outcome).unwrap()
}

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}
