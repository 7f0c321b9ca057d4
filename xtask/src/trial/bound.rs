//! Bound programs beside the originals: the same output, the same libraries, and nothing more that is tried in vain.
//!
//! Not obvious: a program may be wholly right when it has started, and go wrong later, when a library looks
//! for a plug-in beside the path it was opened by. So each program does real work, all of its processes are watched to
//! their end, and what they map is compared by the files behind the links.

mod programs;
mod store;
mod trees;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};
use watch::{Watched, watch};

pub(super) use programs::make as make_programs;
pub(super) use store::make as make_store;
pub(super) use trees::make as make_trees;

pub(super) const TOOLS: &[Tool] = &[
    tool("strace", "strace"),
    tool("patchelf", "patchelf"),
    tool("readelf", "binutils"),
    tool("gdb", "gdb"),
    tool("node", "nodejs"),
    tool("inkscape", "inkscape"),
    tool("evince", "evince"),
    tool("zenity", "zenity"),
    tool("qpdfview", "qpdfview"),
    tool("tshark", "tshark"),
    tool("sudo", "sudo"),
    tool("busybox", "busybox"),
    tool("musl-gcc", "musl-tools"),
    tool("/usr/lib/firefox-esr/firefox-esr", "firefox-esr"),
    tool("/usr/lib/chromium/chromium", "chromium"),
    tool("/usr/lib/libreoffice/program/soffice.bin", "libreoffice-core"),
    tool("/usr/lib/libreoffice/program/libswlo.so", "libreoffice-writer"),
    tool("/usr/lib/jvm/java-17-openjdk-amd64/bin/javac", "openjdk-17-jdk-headless"),
    tool("/usr/lib/llvm-14/bin/clang", "clang-14"),
];

/// A program and its bound form.
pub(super) struct Pair<'a> {
    ground: &'a Ground,
    name: String,
    original: PathBuf,
    bound: PathBuf,
    /// The tree of each, by which its own files are told from the system's.
    homes: [PathBuf; 2],
}

impl<'a> Pair<'a> {
    /// Binds a program to a directory of its own, under its own name, whether it gains by it or not. `None` when that is
    /// refused, which the table tells.
    fn bind_copy(ground: &'a Ground, table: &mut Table, name: &str, original: &Path) -> Result<Option<Self>> {
        let directory = ground.side(true).join(name);
        fs::create_dir_all(&directory)?;
        let bound = directory.join(original.file_name().context("a program without a name")?);
        let pair = Self {
            ground,
            name: name.to_owned(),
            original: original.to_owned(),
            bound: bound.clone(),
            homes: [ground.side(false), ground.side(true)],
        };
        match ground.bind(&[original.into(), "--output".into(), bound.clone()])? {
            None => drop(fs::copy(original, &bound)?),
            Some((0, told)) => table.told(&format!("{name}: bound"), &short(&told)),
            Some((_, told)) => {
                table.told(&format!("{name}: refused"), &short(&told));
                return Ok(None);
            }
        }
        Ok(Some(pair))
    }

    /// Binds a program of the bound side, in place.
    fn bind_in_place(ground: &'a Ground, table: &mut Table, name: &str, program: &str) -> Result<Option<Self>> {
        let (original, bound) = (ground.side(false).join(program), ground.side(true).join(program));
        match ground.bind(&["--in-place".into(), bound.clone()])? {
            Some((0, told)) => table.told(&format!("{name}: bound"), &short(&told)),
            Some((_, told)) => {
                table.failed(&format!("{name}: to be bound"), &short(&told));
                return Ok(None);
            }
            None => {}
        }
        let homes = [ground.side(false), ground.side(true)];
        Ok(Some(Self { ground, name: name.to_owned(), original, bound, homes }))
    }

    /// Starts both, watches them, and compares: how they end, what they say, which files they map, what `made` finds of
    /// what they have made. `prepare` gets a command for the program at this path, and whether it is the bound one.
    fn compare(
        &self,
        table: &mut Table,
        what: &str,
        prepare: impl Fn(&mut Command, &Path, bool),
        made: impl Fn(bool) -> Result<String>,
    ) {
        let mut starts = [const { None }, const { None }];
        table.compare(&format!("{}: {what}", self.name), |bound| {
            let program = if bound { &self.bound } else { &self.original };
            let watched = watch(self.ground, program, |command| prepare(command, program, bound))?;
            let names = self.names(bound);
            let evidence = format!("{}\n{}\n{}", watched.said(&names), made(bound)?, watched.mapped(&names));
            starts[usize::from(bound)] = Some(watched);
            Ok(evidence)
        });
        if let [Some(before), Some(after)] = &starts {
            self.tell_probes(table, what, before, after);
        }
    }

    /// What a start tried in vain. A program that was bound although it gains nothing may try more: below its links.
    fn tell_probes(&self, table: &mut Table, what: &str, before: &Watched, after: &Watched) {
        let shown = format!("{}: {what}, libraries tried in vain by all processes", self.name);
        let (old, new) = (self.names(false), self.names(true));
        let known = before.tried(&old);
        let stray: Vec<String> = after.tried(&new).into_iter().filter(|path| !known.contains(path)).collect();
        let stray = stray.iter().filter(|path| !path.contains(".libs/"));
        let detail = format!(
            "{} before, {} after; {} elsewhere than before, as {:?}",
            before.tried.len(),
            after.tried.len(),
            stray.clone().count(),
            stray.clone().next()
        );
        table.told(&shown, &detail);
    }

    /// What `coldstart verify --run` says, which is to end with 0.
    fn verify(&self, table: &mut Table, arguments: &[&str]) {
        let what = format!("{}: verify --run", self.name);
        let Some(mut command) = self.ground.coldstart("verify") else { return };
        command.arg("--run").arg(&self.bound).arg("--").args(arguments);
        match said(&mut command) {
            Ok(told) if told.starts_with("exit status: 0\n") => table.told(&what, "the same"),
            Ok(told) => table.failed(&what, &told),
            Err(error) => table.failed(&what, &format!("{error:#}")),
        }
    }

    /// Texts to be replaced before both sides can be compared.
    fn names(&self, bound: bool) -> [String; 3] {
        let program = if bound { &self.bound } else { &self.original };
        let directory = program.parent().unwrap_or(Path::new("/")).to_owned();
        [directory, self.homes[usize::from(bound)].clone(), self.made(bound)]
            .map(|path| path.to_string_lossy().into_owned())
    }

    /// Where a side puts what it makes, if it makes something.
    fn made(&self, bound: bool) -> PathBuf {
        self.ground.directory.join(if bound { "made-bound" } else { "made-original" })
    }
}

/// Gives both sides a copy of a tree: names of the same files where the disk can have them.
fn trees(ground: &Ground, tree: &Path) -> Result<()> {
    for bound in [false, true] {
        let copy = |options: &[&str]| stdout(ground.command("cp").args(options).arg(tree).arg(ground.side(bound)));
        if copy(&["--archive", "--link"]).is_err() {
            if ground.side(bound).exists() {
                fs::remove_dir_all(ground.side(bound))?;
            }
            copy(&["--archive"])?;
        }
    }
    Ok(())
}

/// Replaces the text of a file that may have names elsewhere.
fn replace_text(file: &Path, from: &str, to: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    ensure!(text.contains(from), "{} does not say `{from}`", file.display());
    fs::remove_file(file)?;
    Ok(fs::write(file, text.replace(from, to))?)
}

/// The lines of `coldstart bind` that say what was found and why.
fn short(told: &str) -> String {
    let told_of =
        |line: &&str| ["search ", "error", "note:", "warning:"].iter().any(|start| line.trim().starts_with(start));
    told.lines().filter(told_of).map(str::trim).collect::<Vec<_>>().join("; ")
}
