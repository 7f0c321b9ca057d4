//! C programs of many functions, of which a start calls some, in no order of the source.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::{Linking, Measured, World, made, own_script};

/// Functions of an object file.
const OF_A_FILE: usize = 500;
/// A step through all functions that visits each once: a prime that divides no number of functions here.
const STEP: usize = 7919;

/// A program.
#[derive(Clone, Copy)]
pub(super) struct Generated {
    /// Functions, a multiple of [`OF_A_FILE`].
    pub(super) functions: usize,
    /// So many of them are called.
    pub(super) called: usize,
    /// So often: an instrumented program needs some counts.
    pub(super) repeats: usize,
}

impl Generated {
    /// The sources, one for each object file; the last has the main function.
    fn sources(&self) -> Result<Vec<String>> {
        let mut sources = Vec::new();
        for first in (0..self.functions).step_by(OF_A_FILE) {
            let mut source = String::from("extern volatile int sink;\n");
            for number in first..first + OF_A_FILE {
                writeln!(source, "__attribute__((noinline)) void f_{number:05}(void) {{")?;
                // 60 to 600 bytes, as real functions. BOLT removes instructions without effect.
                for statement in 0..4 + number % 37 {
                    write!(source, " sink += {statement};")?;
                }
                source.push_str(" }\n");
            }
            sources.push(source);
        }
        let mut main = String::from("volatile int sink;\n");
        // The other start calls every second, and some that this one does not.
        let calls = |offset: usize| (0..self.called).map(move |call| (call * STEP + offset) % self.functions);
        for number in calls(0).chain(calls(1).step_by(4)) {
            writeln!(main, "void f_{number:05}(void);")?;
        }
        main.push_str("int main(int count, char **words) {\n  (void)words;\n");
        writeln!(main, "  for (int repeat = 0; repeat < {}; repeat++) {{\n    if (count == 1) {{", self.repeats)?;
        for number in calls(0) {
            writeln!(main, "      f_{number:05}();")?;
        }
        main.push_str("    } else {\n");
        for number in calls(0).step_by(2).chain(calls(1).step_by(4)) {
            writeln!(main, "      f_{number:05}();")?;
        }
        main.push_str("    }\n  }\n  return 0;\n}\n");
        sources.push(main);
        Ok(sources)
    }

    /// Compiles it, each function in a section of its own.
    pub(super) fn objects(&self, workshop: &Workshop, directory: &Path) -> Result<Vec<String>> {
        let mut objects = Vec::new();
        for (number, source) in self.sources()?.iter().enumerate() {
            let (path, object) = (directory.join(format!("{number}.c")), directory.join(format!("{number}.o")));
            fs::write(&path, source)?;
            let options = words(["gcc", "-O1", "-ffunction-sections", "-fasynchronous-unwind-tables", "-c"]);
            workshop.runner.run(&[options, words([&text(&path), "-o", &text(&object)])].concat())?;
            objects.push(text(&object));
        }
        Ok(objects)
    }

    pub(super) fn by_gnu_ld(&self, workshop: &Workshop, directory: &Path) -> Result<Measured> {
        let objects = self.objects(workshop, made(directory)?)?;
        let own = own_script(workshop, directory, &objects)?;
        let linking = GnuLd { objects, own, map: directory.join("map") };
        let world = World {
            name: "3,000 functions by GNU ld",
            directory,
            start: words(["{}"]),
            held_out: words(["{}", "other"]),
        };
        world.measure(workshop, &linking)
    }
}

struct GnuLd {
    objects: Vec<String>,
    /// The linker's own script.
    own: PathBuf,
    map: PathBuf,
}

impl Linking for GnuLd {
    fn list_options(&self) -> Vec<String> {
        words(["--for", "ld", "--map", &text(&self.map), "--script", &text(&self.own)])
    }

    fn link(&self, workshop: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let mut link = words(["gcc", "-fuse-ld=bfd", "-Wl,--build-id=sha1", "-o", &text(output)]);
        link.extend_from_slice(&self.objects);
        link.push(match list {
            Some(list) => format!("-Wl,-T,{}", text(list)),
            None => format!("-Wl,-Map={}", text(&self.map)),
        });
        workshop.runner.run(&link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_called_once() {
        let generated = Generated { functions: 1000, called: 100, repeats: 1 };
        let sources = generated.sources().unwrap();
        assert_eq!(sources.len(), 3);
        let main = sources.last().unwrap().split_once("count == 1").unwrap().1.split_once("else").unwrap().0;
        let mut calls: Vec<&str> = main.lines().filter(|line| line.contains("f_")).collect();
        assert_eq!(calls.len(), 100);
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), 100);
    }
}
