//! Bound programs: by `coldstart bind` in each of its modes, and by patchelf as others do it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use fs_err as fs;

use super::super::runner::{Said, shown, words};
use super::super::workshop::{Workshop, text};

/// How `coldstart bind` has the libraries found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// By name, in one directory of links.
    Soname,
    /// By whole paths.
    Absolute,
    /// By paths from where the program lies.
    Origin,
    /// By a table that an audit library reads.
    Audit,
}

impl Mode {
    pub(super) const ALL: [Self; 4] = [Self::Soname, Self::Absolute, Self::Origin, Self::Audit];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Soname => "soname",
            Self::Absolute => "absolute",
            Self::Origin => "origin",
            Self::Audit => "audit",
        }
    }
}

/// What came of binding.
#[derive(Debug)]
pub(super) enum Bound {
    /// A bound copy, and where its farm is, if it has one.
    Program { program: PathBuf, farm: Option<PathBuf> },
    /// It was refused, for this reason.
    Refused(String),
}

/// Binds a copy of a program, beside it: `PROGRAM.MODE`, with the directory of links `PROGRAM.farm`.
///
/// # Errors
/// When `coldstart bind` fails otherwise than by refusing, which is code 1, or leaves no program.
pub(super) fn bind(workshop: &Workshop, program: &Path, mode: Mode) -> Result<Bound> {
    let bound = beside(program, mode.name());
    let farm = (mode == Mode::Soname).then(|| beside(program, "farm"));
    let mut command = workshop.coldstart(["bind"]);
    command.extend([text(program), "-o".to_owned(), text(&bound), "--mode".to_owned(), mode.name().to_owned()]);
    if let Some(farm) = &farm {
        command.extend(["--farm".to_owned(), text(farm)]);
    }
    let said = workshop.runner.said(&command)?;
    match said.status.code() {
        Some(0) if bound.is_file() => Ok(Bound::Program { program: bound, farm }),
        Some(1) => Ok(Bound::Refused(complaint(&said))),
        Some(0) => bail!("`{}` ended with 0, but there is no {}", shown(&command), bound.display()),
        _ => bail!("`{}` ended with {}: {}", shown(&command), said.status, complaint(&said)),
    }
}

/// `PROGRAM.SUFFIX`.
fn beside(program: &Path, suffix: &str) -> PathBuf {
    let mut path = program.as_os_str().to_owned();
    path.push(".");
    path.push(suffix);
    path.into()
}

/// What was said against it, on one line.
fn complaint(said: &Said) -> String {
    let lines: Vec<&str> = said.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Replaces what a copy of a program needs by the whole paths of all libraries that are loaded with it, in the one call
/// of patchelf that adding them takes. patchelf does not keep the order, which is what makes it a peer worth measuring:
/// symbols are searched for in the order of loading.
///
/// # Errors
/// When ldd or patchelf fails, or a library is missing.
pub(super) fn absolute_by_patchelf(workshop: &Workshop, program: &Path) -> Result<PathBuf> {
    let bound = beside(program, "patchelf");
    fs::copy(program, &bound)?;
    let printed = successful(workshop, &[&words(["patchelf", "--print-needed"])[..], &[text(program)]].concat())?;
    let mut command = words(["patchelf"]);
    for needed in printed.lines() {
        command.extend(["--remove-needed".to_owned(), needed.to_owned()]);
    }
    for (_, path) in loaded(workshop, program)? {
        command.extend(["--add-needed".to_owned(), text(&path)]);
    }
    command.push(text(&bound));
    successful(workshop, &command)?;
    Ok(bound)
}

/// The libraries that are loaded with a program, with the paths at which the loader finds them, in the order of loading.
/// The loader itself and the kernel's own are left out.
///
/// # Errors
/// When ldd fails, or a library is missing.
pub(super) fn loaded(workshop: &Workshop, program: &Path) -> Result<Vec<(String, PathBuf)>> {
    let printed = successful(workshop, &words(["ldd", &text(program)]))?;
    let missing: BTreeSet<&str> = printed.lines().filter(|line| line.ends_with("not found")).collect();
    ensure!(missing.is_empty(), "{} lacks {missing:?}", program.display());
    Ok(printed.lines().filter_map(library).collect())
}

/// `libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)`
fn library(line: &str) -> Option<(String, PathBuf)> {
    let (name, place) = line.trim().split_once(" => ")?;
    let (path, _) = place.rsplit_once(" (0x")?;
    path.starts_with('/').then(|| (name.to_owned(), PathBuf::from(path)))
}

/// Runs a tool that must succeed, and returns what it printed.
pub(super) fn successful(workshop: &Workshop, command: &[String]) -> Result<String> {
    let said = workshop.runner.said(command)?;
    let program = command.first().map_or("", String::as_str);
    ensure!(said.status.success(), "{program} ended with {}: {}", said.status, complaint(&said));
    Ok(said.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_programs_stand_beside_the_plain_one() {
        assert_eq!(beside(Path::new("/w/bin/a.b"), "soname"), Path::new("/w/bin/a.b.soname"));
    }

    #[test]
    fn lines_of_ldd_are_read() {
        let line = "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f0000000000)";
        assert_eq!(library(line), Some(("libz.so.1".into(), "/lib/x86_64-linux-gnu/libz.so.1".into())));
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffc0)"), None);
        assert_eq!(library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f00)"), None);
        assert_eq!(library("\tlibno.so => not found"), None);
    }
}
