//! Programs laid out as Nix, Guix and Spack do it: a directory for each of Debian's packages, and in each object a RUNPATH
//! with the directories of what it needs. Here binding is worth its while.
//!
//! glibc's own package stays where it is: its libraries and the loader must be of one build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::super::ground::Ground;
use super::super::process::{said, stdout};
use super::super::table::Table;
use super::Pair;

const PICTURE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><rect width='20' height='9'/>\
    <text y='25'>start</text></svg>\n";

/// Programs, what they are to do, and the file that it makes, if it makes one. `%` is the trial's directory.
const PROGRAMS: [(&str, &[&str], Option<&str>); 4] = [
    ("/usr/bin/inkscape", &["--export-type=png", "--export-filename=%/out.png", "%/in.svg"], Some("out.png")),
    ("/usr/bin/evince", &["--version"], None),
    ("/usr/bin/qpdfview", &["--help"], None),
    ("/usr/bin/tshark", &["-G", "protocols"], None),
];

pub(in super::super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    ground.write("in.svg", PICTURE)?;
    for (program, arguments, file) in PROGRAMS {
        let name = program.rsplit('/').next().unwrap_or_default();
        let store = ground.side(false).join(name);
        let original = build(ground, Path::new(program), &store)?;
        let bound = original.with_file_name("bound").join(name);
        fs::create_dir_all(bound.parent().context("no directory")?)?;
        match ground.bind(&[original.clone(), "--output".into(), bound.clone()])? {
            Some((0, told)) => table.told(&format!("{name}: bound"), &super::short(&told)),
            Some((_, told)) => {
                table.failed(&format!("{name}: to be bound"), &super::short(&told));
                continue;
            }
            None => drop(fs::copy(&original, &bound)?),
        }
        let pair = Pair { ground, name: name.to_owned(), original, bound, homes: [store.clone(), store] };
        let argument = |text: &&str| text.replace('%', &ground.directory.to_string_lossy());
        let made = |_: bool| {
            let Some(file) = file.map(|file| ground.directory.join(file)) else { return Ok(String::new()) };
            let content = format!("{:?}", fs::read(&file)?);
            fs::remove_file(&file)?;
            Ok(content)
        };
        let prepare = |command: &mut std::process::Command, _: &Path, _: bool| {
            command.args(arguments.iter().map(argument)).env("QT_QPA_PLATFORM", "offscreen");
        };
        pair.compare(table, "its work", prepare, made);
        pair.verify(table, &["--version"]);
    }
    Ok(())
}

/// Lays a program out below `store`; where it lies then.
fn build(ground: &Ground, program: &Path, store: &Path) -> Result<PathBuf> {
    let listed = stdout(ground.command("ldd").arg(program))?;
    let libraries: Vec<(String, PathBuf)> = listed.lines().filter_map(library).collect();
    let mut places: BTreeMap<String, PathBuf> = BTreeMap::new();
    let (mut objects, mut filled) = (BTreeSet::new(), BTreeSet::new());
    for (name, path) in &libraries {
        let real = path.canonicalize()?;
        let package = package(ground, &real)?;
        if package == "libc6" {
            continue;
        }
        let place = store.join(&package).join("lib");
        fs::create_dir_all(&place)?;
        let home = real.parent().context("a library without a directory")?;
        if filled.insert((package.clone(), home.to_owned())) {
            objects.extend(fill(ground, &package, home, &place)?);
        }
        let link = place.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(real.file_name().context("a library without a name")?, link)?;
        }
        places.insert(name.clone(), place);
    }
    let copy = store.join("program/bin").join(program.file_name().context("a program without a name")?);
    fs::create_dir_all(copy.parent().context("no directory")?)?;
    fs::copy(program, &copy)?;
    objects.insert(copy.clone());
    for object in objects {
        let needed = stdout(ground.command("patchelf").arg("--print-needed").arg(&object))?;
        let mut runpath: Vec<String> = Vec::new();
        for place in needed.lines().filter_map(|name| places.get(name)) {
            let text = place.to_string_lossy().into_owned();
            if !runpath.contains(&text) {
                runpath.push(text);
            }
        }
        if !runpath.is_empty() {
            stdout(ground.command("patchelf").arg("--set-rpath").arg(runpath.join(":")).arg(&object))?;
        }
    }
    Ok(copy)
}

/// Copies a package's libraries in `home` to their place, names that are links besides; the files.
fn fill(ground: &Ground, package: &str, home: &Path, place: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for line in stdout(ground.command("dpkg-query").args(["--listfiles", package]))?.lines().map(PathBuf::from) {
        let name = line.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_here = line.parent().and_then(|directory| directory.canonicalize().ok()).as_deref() == Some(home);
        let copy = place.join(&name);
        if !is_here || !name.contains(".so") || !line.is_file() || copy.symlink_metadata().is_ok() {
            continue;
        }
        match fs::read_link(&line) {
            Ok(target) if target.components().count() == 1 => std::os::unix::fs::symlink(target, &copy)?,
            Ok(_) => {}
            Err(_) => {
                fs::copy(&line, &copy)?;
                if fs::read(&copy)?.starts_with(b"\x7fELF") {
                    files.push(copy);
                }
            }
        }
    }
    Ok(files)
}

/// The package of a file. dpkg knows some of them by a path without /usr.
fn package(ground: &Ground, file: &Path) -> Result<String> {
    let short = file.strip_prefix("/usr").map_or_else(|_| file.to_owned(), |rest| Path::new("/").join(rest));
    // It fails for the name that it does not know.
    let told = said(ground.command("dpkg-query").arg("--search").arg(file).arg(short))?;
    let line = told.lines().find(|line| line.contains(": /") && !line.starts_with("diversion"));
    let package = line.and_then(|line| line.split([':', ',']).next()).map(str::to_owned);
    ensure!(package.is_some(), "{} belongs to no package: {told}", file.display());
    package.context("no package")
}

/// `libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)`
fn library(line: &str) -> Option<(String, PathBuf)> {
    let (name, place) = line.trim().split_once(" => ")?;
    let (path, _) = place.rsplit_once(" (0x")?;
    path.starts_with('/').then(|| (name.to_owned(), PathBuf::from(path)))
}
