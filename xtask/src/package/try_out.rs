//! The packages in clean systems: installed, used, removed, and nothing left behind.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::{emptied, name_of};
use crate::tools::{install_missing, run, tool};

/// What a new user does first, in a system with nothing but the package: a figure, and an answer about a program.
const USES: &[&[&str]] = &[
    &["coldstart", "--version"],
    &["coldstart", "inspect", "/bin/bash"],
    &["coldstart", "resolve", "/bin/bash"],
    &["coldstart", "measure", "--state", "hot", "--runs", "5", "--", "/bin/true"],
    &["coldstart", "prefetch", "record", "-o", "/tmp/plan", "--", "/bin/true"],
    &["coldstart-run", "/tmp/plan", "--", "/bin/true"],
];

/// Tries the packages in new systems of Debian's releases.
pub(super) fn try_out(releases: &[String], package: &Path, archive: &Path, output: &Path) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "a clean system needs root\nhint: sudo -E cargo xtask package --try-out"
    );
    install_missing(&[tool("debootstrap", "debootstrap")])?;
    for release in releases {
        let root = emptied(output.join(release))?;
        run(crate::corpus::debootstrap()?.arg(release).arg(&root).stdout(Stdio::null()))?;
        let tried = in_system(&root, package, archive);
        // Whatever happened: what is mounted inside must not be deleted.
        unmount(&root)?;
        fs::remove_dir_all(&root)?;
        println!("{release}: {}", tried.with_context(|| format!("in a clean system of {release}"))?);
    }
    Ok(())
}

fn in_system(root: &Path, package: &Path, archive: &Path) -> Result<String> {
    for name in ["proc", "sys"] {
        run(Command::new("mount").arg("--rbind").arg(format!("/{name}")).arg(root.join(name)))?;
    }
    let before = files(root)?;
    let name = name_of(package)?;
    fs::copy(package, root.join("tmp").join(name))?;
    let clock = Instant::now();
    inside(root, &["dpkg", "--install", &format!("/tmp/{}", name.to_string_lossy())])?;
    for words in USES {
        inside(root, words)?;
    }
    let took = clock.elapsed().as_secs_f64();
    inside(root, &["dpkg", "--verify", "coldstart"])?;
    inside(root, &["dpkg", "--purge", "coldstart"])?;
    let left: Vec<_> = files(root)?.into_iter().filter(|path| !before.contains(path)).collect();
    ensure!(left.is_empty(), "left behind after purging: {left:?}");

    run(Command::new("tar")
        .args(["--extract", "--strip-components=1", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(root.join("usr/local")))?;
    for words in USES {
        inside(root, words)?;
    }
    Ok(format!("installed and used in {took:.1} s, removed without a trace; the archive works"))
}

fn inside(root: &Path, words: &[&str]) -> Result<()> {
    let output = Command::new("chroot").arg(root).args(words).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` ended with {}: {}", words.join(" "), output.status, said.trim());
    Ok(())
}

/// Installed files: what programs leave in `/tmp`, `/root` and `/var` for themselves is not the package's.
fn files(root: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for top in ["etc", "usr", "var/lib/systemd"] {
        for entry in walkdir::WalkDir::new(root.join(top)).into_iter().filter_map(Result::ok) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

fn unmount(root: &Path) -> Result<()> {
    for name in ["sys", "proc"] {
        let directory = root.join(name);
        // Lazily and whole: whatever is mounted below came with it.
        run(Command::new("umount").args(["--recursive", "--lazy"]).arg(&directory))?;
    }
    Ok(())
}
