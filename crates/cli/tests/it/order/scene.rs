//! A program whose start calls one function in ten, of two object files, each a kilobyte long.

use std::path::PathBuf;
use std::process::{Command, Output};

use coldstart_testing::{output_of, scratch, succeed};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

/// Functions of each object file.
pub(crate) const FUNCTIONS: usize = 200;
/// Every which function a start calls.
pub(crate) const CALLED: usize = 10;

pub(crate) struct Scene {
    directory: TempDir,
}

impl Scene {
    /// Without object files.
    pub(crate) fn empty() -> Self {
        Self { directory: scratch() }
    }

    /// With object files `a.o` and `b.o`, which both have a local function `shared`.
    pub(crate) fn new(compiler: &str, options: &[&str]) -> Self {
        let scene = Self::empty();
        for file in ["a", "b"] {
            let mut source = String::from("#define BODY __asm__ volatile(\".rept 1000\\n nop\\n .endr\")\n");
            source.push_str("__attribute__((noinline)) static void shared(void) { BODY; }\n");
            for number in 0..FUNCTIONS {
                source.push_str(&format!("__attribute__((noinline)) void {file}_{number:03}(void) {{ BODY; }}\n"));
            }
            source.push_str(&format!(
                "extern __typeof__({file}_000) {file}_alias __attribute__((alias(\"{file}_000\")));\n"
            ));
            source.push_str(&format!("void {file}_all(void) {{\n"));
            // Against the order in the file.
            for number in (0..FUNCTIONS).rev().filter(|number| number % CALLED == 0) {
                source.push_str(&format!("  {file}_{number:03}();\n"));
            }
            source.push_str("  shared();\n}\n");
            if file == "a" {
                source.push_str("void b_all(void);\nint main(int count, char **words) { (void)words; a_all(); if (count == 1) b_all(); return 0; }\n");
            }
            let usual = ["-O1", "-fno-ipa-ra", "-fasynchronous-unwind-tables"];
            scene.compile(compiler, file, &source, &[&usual[..], options].concat());
        }
        scene
    }

    /// Makes `file.o`, each function in a section of its own.
    pub(crate) fn compile(&self, compiler: &str, file: &str, source: &str, options: &[&str]) {
        let (source_file, object) = (format!("{file}.c"), format!("{file}.o"));
        std::fs::write(self.path(&source_file), source).unwrap();
        let mut compile = self.command(compiler);
        succeed(compile.args(options).args(["-ffunction-sections", "-c", &source_file, "-o", &object]));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path());
        command
    }

    /// Links both object files.
    pub(crate) fn link(&self, output: &str, options: &[&str]) {
        self.link_these(&["a", "b"], output, options);
    }

    /// Links object files.
    pub(crate) fn link_these(&self, files: &[&str], output: &str, options: &[&str]) {
        let objects = files.iter().map(|file| format!("{file}.o"));
        let mut link = self.command("gcc");
        succeed(link.args(objects).args(["-Wl,--build-id=sha1", "-o", output]).args(options));
    }

    pub(crate) fn coldstart(&self, words: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_coldstart"));
        output_of(command.args(words))
    }

    /// The JSON of a verb that ends with this code.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str], code: i32) -> Value {
        let output = self.coldstart(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}{}", text(&output.stderr), text(&output.stdout));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Traces first calls.
    #[track_caller]
    pub(crate) fn trace(&self, output: &str, program: &[&str]) {
        let words = ["trace", "--layers", "functions", "--hide-output", "-o", output, "--"];
        let traced = self.coldstart(&[&words[..], program].concat());
        assert_eq!(traced.status.code(), Some(0), "{}", text(&traced.stderr));
    }

    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str], reason: &str) {
        let answer = self.json(&[words, &["--json"]].concat(), 2);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason) && !answer["error"]["hints"].as_array().unwrap().is_empty(), "{answer}");
    }

    /// Functions by address, as `nm` has them.
    pub(crate) fn functions(&self, program: &str) -> Vec<String> {
        let listed = succeed(self.command("nm").args(["-n", program]));
        let names = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
        names.filter(|name| is_numbered(name)).map(str::to_owned).collect()
    }
}

/// The called functions in the order of their calls.
pub(crate) fn called() -> Vec<String> {
    let of = |file: &'static str| {
        (0..FUNCTIONS).rev().filter(|number| number % CALLED == 0).map(move |number| format!("{file}_{number:03}"))
    };
    of("a").chain(of("b")).collect()
}

/// Whether it is a function of the object files that has a number: `a_010`.
pub(crate) fn is_numbered(name: &str) -> bool {
    let number = name.strip_prefix("a_").or(name.strip_prefix("b_"));
    number.is_some_and(|number| number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
