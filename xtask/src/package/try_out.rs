//! The packages as users get them: archives unpacked and run here, another processor's under qemu; all that this machine's processor can run
//! installed in clean systems, used, removed, and nothing left behind.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::name_of;
use crate::architecture::Architecture;
use crate::clean_system::{CleanSystem, said};
use crate::tools::{emptied, install_missing, run};

/// What a new user does first, in a system with nothing but the package: a figure, and an answer about a program.
const USES: &[&[&str]] = &[
    &["coldstart", "--version"],
    &["coldstart", "inspect", "/bin/bash"],
    &["coldstart", "resolve", "/bin/bash"],
    &["coldstart", "measure", "--state", "hot", "--runs", "5", "--", "/bin/true"],
    &["coldstart", "prefetch", "record", "-o", "/tmp/plan", "--", "/bin/true"],
    &["coldstart-run", "/tmp/plan", "--", "/bin/true"],
];

/// The same with the program for surveys.
const SURVEYS: &[&[&str]] = &[
    &["rm", "-rf", "/tmp/tables"],
    &["coldstart", "survey", "/usr/bin", "-o", "/tmp/tables"],
    &["coldstart", "survey", "report", "/tmp/tables"],
];

/// Runs the programs of a processor's archives: an answer about itself, one library packed, proven and unpacked again, and a survey.
///
/// What starts programs in ways that qemu's user mode does not know (`measure`, `prefetch record`) is tried in clean systems.
pub(super) fn archives(archives: &[PathBuf], architecture: Architecture, output: &Path) -> Result<()> {
    let root = emptied(output.join("unpacked"))?;
    for archive in archives {
        unpack(archive, &root)?;
    }
    let mut runner: Vec<OsString> = Vec::new();
    if architecture != Architecture::native()? {
        let emulator = architecture.emulator();
        runner.push(emulator.program.into());
        install_missing(&[emulator])?;
    }
    // Each program itself: one that starts another one does not start it under the emulator.
    let answer = |program: &str, words: &[&OsStr]| {
        let words: Vec<OsString> =
            runner.iter().cloned().chain([root.join(program).into()]).chain(words.iter().map(OsString::from)).collect();
        said(Command::new(&words[0]).args(&words[1..]))
    };
    let coldstart = |words: &[&OsStr]| answer("bin/coldstart", words);
    let version = coldstart(&["--version".as_ref()])?;
    let library = root.join("library.so");
    compile(&library)?;
    let before = fs::read(&library)?;
    let path = library.as_os_str();
    coldstart(&["inspect".as_ref(), path])?;
    coldstart(&["pack".as_ref(), "--in-place".as_ref(), path])?;
    ensure!(fs::read(&library)? != before, "{} was not packed", library.display());
    coldstart(&["verify".as_ref(), path])?;
    coldstart(&["unpack".as_ref(), "--in-place".as_ref(), path])?;
    ensure!(fs::read(&library)? == before, "{} is not what it was before it was packed", library.display());
    let tables = root.join("tables");
    answer("lib/coldstart/coldstart-survey", &["survey".as_ref(), path, "-o".as_ref(), tables.as_os_str()])?;
    fs::remove_dir_all(&root)?;
    println!("{}: {} runs, packs, proves, unpacks and surveys", architecture.name(), version.trim());
    Ok(())
}

/// A library with enough relocations that packing it is worth it.
fn compile(library: &Path) -> Result<()> {
    let source = "static int it; int *all[4096] = { [0 ... 4095] = &it };";
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-x", "c", "-", "-o"]).arg(library).stdin(Stdio::piped());
    let mut compiler = compiler.spawn().context("cannot start cc")?;
    compiler.stdin.take().context("cc has no input")?.write_all(source.as_bytes())?;
    ensure!(compiler.wait()?.success(), "cc does not compile the library that packing is tried with");
    Ok(())
}

fn unpack(archive: &Path, directory: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--file"]).arg(archive);
    run(tar.arg("--directory").arg(directory))
}

/// Tries the packages in new systems of Debian's releases.
pub(super) fn in_clean_systems(
    releases: &[String],
    packages: &[PathBuf],
    archives: &[PathBuf],
    output: &Path,
) -> Result<()> {
    for release in releases {
        let system = CleanSystem::new(release, &output.join(release))?;
        let tried =
            in_system(&system, packages, archives).with_context(|| format!("in a clean system of {release}"))?;
        system.end()?;
        println!("{release}: {tried}");
    }
    Ok(())
}

fn in_system(system: &CleanSystem, packages: &[PathBuf], archives: &[PathBuf]) -> Result<String> {
    let root = system.root();
    let before = files(root)?;
    let mut inside = Vec::new();
    for package in packages {
        let name = name_of(package)?;
        fs::copy(package, root.join("tmp").join(name))?;
        inside.push(format!("/tmp/{}", name.to_string_lossy()));
    }
    let clock = Instant::now();
    let install = ["dpkg", "--install"];
    // The first package alone is what most users install.
    let (base, more) = inside.split_first().context("no package")?;
    system.run(&[&install[..], &[base]].concat())?;
    use_all(system, USES)?;
    let took = clock.elapsed().as_secs_f64();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    system.run(&[&install[..], &more].concat())?;
    use_all(system, SURVEYS)?;
    system.run(&["dpkg", "--verify", "coldstart", "coldstart-survey"])?;
    system.run(&["dpkg", "--purge", "coldstart", "coldstart-survey"])?;
    let left: Vec<_> = files(root)?.into_iter().filter(|path| !before.contains(path)).collect();
    ensure!(left.is_empty(), "left behind after purging: {left:?}");

    let installed = format!("installed and used in {took:.1} s, removed without a trace");
    if archives.is_empty() {
        return Ok(installed);
    }
    for archive in archives {
        unpack(archive, &root.join("usr/local"))?;
    }
    use_all(system, USES)?;
    use_all(system, SURVEYS)?;
    Ok(format!("{installed}; the archives work"))
}

fn use_all(system: &CleanSystem, uses: &[&[&str]]) -> Result<()> {
    uses.iter().try_for_each(|words| system.run(words))
}

/// Installed files: what programs leave in `/tmp`, `/root` and `/var` for themselves is not the package's.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for top in ["etc", "usr", "var/lib/systemd"] {
        for entry in walkdir::WalkDir::new(root.join(top)).into_iter().filter_map(Result::ok) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}
