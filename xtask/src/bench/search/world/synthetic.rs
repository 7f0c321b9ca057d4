//! 150 small libraries, each in a directory of its own, and every object's RUNPATH lists all 150 directories.
//!
//! Not obvious: the number of failed probes does not depend on the dependencies. The loader walks the directories for each
//! library once, so library n costs n failed probes; and in a new directory
//! it also tries ten subdirectories for processors (glibc up to 2.36, elf/dl-load.c, `open_path`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::bench::runner::{Runner, shown, words};
use crate::bench::workshop::text;

/// Libraries, numbered from 0.
pub(in crate::bench) const COUNT: usize = 150;
/// The library that the second program opens. It needs all with lower numbers, directly or not.
pub(in crate::bench) const OPENED: usize = 120;

/// What stands there.
pub(in crate::bench) struct Synthetic {
    /// Linked with all libraries; prints the sum of what each says.
    pub(in crate::bench) program: PathBuf,
    /// Linked with none of them; opens `libsyn120.so.1` by that name and prints what it says.
    pub(in crate::bench) opener: PathBuf,
    /// The directories of the libraries.
    pub(in crate::bench) directories: Vec<PathBuf>,
}

/// The name by which a library is needed.
pub(in crate::bench) fn soname(number: usize) -> String {
    format!("libsyn{number}.so.1")
}

/// Builds the world below `directory`, which must be empty and is named in the objects: it cannot be moved.
///
/// # Errors
/// When the compiler is missing or fails.
pub(in crate::bench) fn build(runner: &Runner, directory: &Path) -> Result<Synthetic> {
    let directories: Vec<PathBuf> = (0..COUNT).map(|number| directory.join(format!("lib/{number:03}"))).collect();
    let runpath = format!(
        "-Wl,--enable-new-dtags,-rpath,{}",
        directories.iter().map(|one| text(one)).collect::<Vec<_>>().join(":")
    );
    let source = directory.join("source.c");
    for (number, own) in directories.iter().enumerate() {
        fs::create_dir_all(own)?;
        fs::write(&source, library_source(number))?;
        let library = own.join(soname(number));
        let mut command = compiler(&library, &source, &runpath);
        command.extend(words(["-shared", "-fPIC"]));
        command.push(format!("-Wl,-soname,{}", soname(number)));
        command.extend(needs(number).map(|needed| text(&directories[needed].join(soname(needed)))));
        runner.run(&command)?;
    }
    let program = directory.join("program");
    fs::write(&source, program_source())?;
    let mut command = compiler(&program, &source, &runpath);
    command.extend(directories.iter().enumerate().map(|(number, own)| text(&own.join(soname(number)))));
    runner.run(&command)?;
    let opener = directory.join("opener");
    fs::write(&source, opener_source())?;
    runner.run(&compiler(&opener, &source, &runpath))?;
    fs::remove_file(&source)?;
    let world = Synthetic { program, opener, directories };
    says(runner, &world.program, COUNT * (COUNT - 1) / 2)?;
    says(runner, &world.opener, OPENED)?;
    Ok(world)
}

/// The libraries that one needs: its neighbour, so that none is left out, and two that others need as well.
fn needs(number: usize) -> impl Iterator<Item = usize> {
    let lower = [number.checked_sub(1), number.checked_sub(7), (number >= 20).then_some(number / 2)];
    lower.into_iter().flatten()
}

/// Programs of several distributions leave out what nothing is used of and bind at once by default; here that is said.
fn compiler(output: &Path, source: &Path, runpath: &str) -> Vec<String> {
    let mut command = words(["gcc", "-O1", "-Wl,--no-as-needed", "-Wl,-z,relro,-z,lazy", runpath, "-o"]);
    command.extend([text(output), text(source)]);
    command
}

/// It uses its neighbour only: each symbol is searched for in all libraries loaded before its own, and this world is about
/// the search for files.
fn library_source(number: usize) -> String {
    let mut source = String::new();
    let mut table = String::new();
    for needed in needs(number).take(1) {
        // Writing to a String cannot fail.
        let _ = writeln!(source, "int syn{needed}(void);");
        let _ = write!(table, "syn{needed}, ");
    }
    source + &format!("int (*needed{number}[])(void) = {{{table}0}};\nint syn{number}(void) {{ return {number}; }}\n")
}

fn program_source() -> String {
    let mut source = "#include <stdio.h>\n".to_owned();
    let mut table = String::new();
    for number in 0..COUNT {
        let _ = writeln!(source, "int syn{number}(void);");
        let _ = write!(table, "syn{number}, ");
    }
    source
        + &format!(
            "static int (*all[])(void) = {{{table}}};\n\
             int main(void) {{\n  int sum = 0;\n  for (int i = 0; i < {COUNT}; i++) sum += all[i]();\n\
             \x20 printf(\"%d\\n\", sum);\n  return 0;\n}}\n"
        )
}

fn opener_source() -> String {
    format!(
        "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) {{\n\
         \x20 void *library = dlopen(\"{}\", RTLD_NOW);\n\
         \x20 if (!library) {{ fprintf(stderr, \"%s\\n\", dlerror()); return 1; }}\n\
         \x20 printf(\"%d\\n\", ((int (*)(void))dlsym(library, \"syn{OPENED}\"))());\n  return 0;\n}}\n",
        soname(OPENED)
    )
}

fn says(runner: &Runner, program: &Path, expected: usize) -> Result<()> {
    let command = [text(program)];
    let said = runner.said(&command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
    let sum: usize = said.stdout.trim().parse().with_context(|| format!("{} printed no number", program.display()))?;
    ensure!(sum == expected, "{} printed {sum}, not {expected}", program.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opened_library_needs_all_lower_ones_and_no_other() {
        let mut seen = std::collections::BTreeSet::from([OPENED]);
        let mut waiting = vec![OPENED];
        while let Some(number) = waiting.pop() {
            waiting.extend(needs(number).filter(|needed| seen.insert(*needed)));
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..=OPENED).collect::<Vec<_>>());
    }

    #[test]
    fn sources_name_what_they_need() {
        let source = library_source(40);
        assert!(source.starts_with("int syn39(void);\nint (*"), "{source}");
        assert!(source.contains("needed40[])(void) = {syn39, 0};"), "{source}");
        assert!(opener_source().contains("dlopen(\"libsyn120.so.1\", RTLD_NOW)"));
    }
}
