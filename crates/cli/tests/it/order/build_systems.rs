//! The lines of docs/order.md for each build system: the first build has an empty list, the second one, made after a list of
//! its start was, has the called functions in front.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use coldstart_testing::{is_there, scratch, skip, succeed};
use tempfile::TempDir;

const DOCUMENT: &str = include_str!("../../../../../docs/order.md");
/// Functions of each file.
const FUNCTIONS: usize = 60;

/// The indented lines behind the line that begins with this title.
fn lines_of(title: &str) -> String {
    let mut lines =
        DOCUMENT.lines().skip_while(|line| !line.starts_with(title)).skip(1).skip_while(|line| line.is_empty());
    let block: Vec<&str> = std::iter::from_fn(|| lines.next()?.strip_prefix("    ")).collect();
    assert!(!block.is_empty(), "docs/order.md has no lines for {title}");
    block.join("\n") + "\n"
}

struct Project {
    directory: TempDir,
}

impl Project {
    /// Two files in C, or one in Rust, with functions of which a start calls every tenth, the last one first; and an empty list.
    fn new(is_rust: bool) -> Self {
        let project = Self { directory: scratch() };
        let mut rust = String::new();
        for file in ["a", "b"] {
            let (mut functions, mut calls) = (String::from("extern volatile int sink;\n"), String::new());
            for number in 0..FUNCTIONS {
                let value = number + usize::from(file.as_bytes()[0]);
                writeln!(functions, "__attribute__((noinline)) void f_{file}{number:02}(void) {{ __asm__ volatile(\".rept 300\\n nop\\n .endr\"); sink = {value}; }}").unwrap();
                // Functions of one code would be merged.
                writeln!(rust, "#[unsafe(no_mangle)] #[inline(never)] pub extern \"C\" fn f_{file}{number:02}() {{ unsafe {{ core::arch::asm!(\".rept 300\", \"nop\", \".endr\", \"/* {file}{number} */\") }}; }}").unwrap();
            }
            for number in (0..FUNCTIONS).rev().step_by(10) {
                writeln!(calls, "f_{file}{number:02}();").unwrap();
            }
            let rest = if file == "a" {
                "volatile int sink; void b(void); int main(void) { a(); b(); return 0; }"
            } else {
                ""
            };
            project.write(&format!("{file}.c"), &format!("{functions}void {file}(void) {{ {calls} }}\n{rest}\n"));
            writeln!(rust, "#[inline(never)] fn {file}() {{ {calls} }}").unwrap();
        }
        if is_rust {
            fs::create_dir(project.path("src")).unwrap();
            project.write("src/main.rs", &format!("{rust}fn main() {{ a(); b(); }}\n"));
        }
        project.write("app.order", "");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn run(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        command.env_remove("CFLAGS").env_remove("LDFLAGS").env_remove("RUSTFLAGS").env_remove("CARGO_TARGET_DIR");
        succeed(command.args(words).current_dir(self.directory.path()))
    }

    /// The functions by address.
    fn functions(&self, program: &str) -> Vec<String> {
        let listed = self.run("nm", &["-n", program]);
        let names = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
        names.filter(|name| name.starts_with("f_")).map(str::to_owned).collect()
    }

    /// Builds, traces, makes the list, and builds again with it.
    #[track_caller]
    fn check(&self, program: &str, build: &dyn Fn()) {
        build();
        let called: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|file| (0..FUNCTIONS).rev().step_by(10).map(move |number| format!("f_{file}{number:02}")))
            .collect();
        assert_ne!(self.functions(program)[..called.len()], called);
        let coldstart = env!("CARGO_BIN_EXE_coldstart");
        let started = format!("./{program}");
        self.run(coldstart, &["trace", "--layers", "functions", "-o", "t", "--", &started]);
        fs::copy(self.path(program), self.path("old")).unwrap();
        self.run(
            coldstart,
            &["order", "functions", "t", "--symbols", "old", "--for", "lld", "--force", "-o", "app.order"],
        );
        build();
        assert_eq!(self.functions(program)[..called.len()], called);
        self.run(&started, &[]);
    }
}

/// Whether these programs are there. Otherwise a reason was printed.
fn are_there(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !is_there(program));
    if let Some(missing) = missing {
        skip(&format!("needs {missing}"));
    }
    missing.is_none()
}

#[test]
fn cmake_links_again_with_a_new_list() {
    if !are_there(&["cmake", "ninja", "ld.lld"]) {
        return;
    }
    let project = Project::new(false);
    let head = "cmake_minimum_required(VERSION 3.20)\nproject(app C)\nadd_executable(app a.c b.c)\n";
    project.write("CMakeLists.txt", &(head.to_owned() + &lines_of("CMake:")));
    project.run("cmake", &["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-S", ".", "-B", "build"]);
    project.check("build/app", &|| drop(project.run("cmake", &["--build", "build"])));
}

#[test]
fn meson_links_again_with_a_new_list() {
    if !are_there(&["meson", "ninja", "ld.lld"]) {
        return;
    }
    let project = Project::new(false);
    let head = "project('app', 'c', 'cpp')\nsources = ['a.c', 'b.c']\n";
    project.write("meson.build", &(head.to_owned() + &lines_of("Meson:")));
    project.run("meson", &["setup", "--buildtype", "release", "build"]);
    project.check("build/app", &|| drop(project.run("ninja", &["-C", "build"])));
}

#[test]
fn autotools_link_again_with_a_new_list() {
    if !are_there(&["autoreconf", "automake", "make", "ld.lld"]) {
        return;
    }
    let project = Project::new(false);
    project.write(
        "configure.ac",
        "AC_INIT([app], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    );
    let lines = lines_of("autotools");
    let (makefile, commands) = lines.split_once('\n').unwrap();
    project.write("Makefile.am", &format!("bin_PROGRAMS = app\napp_SOURCES = a.c b.c\n{makefile}\n"));
    project.run("autoreconf", &["--install"]);
    project.check("app", &|| drop(project.run("sh", &["-ec", commands])));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn cargo_links_again_with_a_new_list() {
    let project = Project::new(true);
    project.write("Cargo.toml", "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n");
    project.write("build.rs", &lines_of("cargo, in"));
    let build = || drop(project.run(env!("CARGO"), &["build", "--release", "--offline", "--target-dir", "target"]));
    project.check("target/release/app", &build);
    // The same by one command, without a build script.
    let ordered = project.functions("target/release/app");
    fs::remove_file(project.path("build.rs")).unwrap();
    build();
    assert_ne!(project.functions("target/release/app"), ordered);
    project.run(
        "sh",
        &["-ec", &lines_of("cargo, for once").replace("cargo rustc", "\"$CARGO\" rustc --offline --target-dir target")],
    );
    assert_eq!(project.functions("target/release/app"), ordered);
}
