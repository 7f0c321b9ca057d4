//! The corpus: Debian systems with the programs of the benchmarks, each in an ext4 image for the slow beds.
//!
//! Each is built in stages under `target/corpus/`, each finished before it is noted in `progress.json`, so an interrupted
//! build goes on where it stopped. All mounts of the build live in mount namespaces of the child processes, so the
//! kernel removes them even if the build is killed.
//!
//! Not obvious: the programs are started twice in the tree *before* the image is made. First starts
//! create profiles and caches, and that work is not what the benchmarks are about.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;

mod apt_sources;
mod chroot;
mod image;
mod recipe;
mod stages;

use chroot::Chroot;
pub(crate) use recipe::Collection;
use recipe::Recipe;
use stages::{Stage, Stages};

/// What [`corpus`] made or found ready.
pub(crate) struct Corpus {
    /// The ext4 image, sparse.
    pub(crate) image: PathBuf,
}

/// Builds a collection of the corpus under `corpus` in cargo's target directory, or finds it ready.
///
/// # Errors
/// When not root, when a tool is missing, when this machine's apt configuration names no mirror of the release, when a
/// download or an installation fails, or when one of the programs does not produce its output file.
pub(crate) fn corpus(collection: Collection) -> Result<Corpus> {
    let home = crate::cargo::target_directory()?.join("corpus").join(collection.directory());
    build(&home, &Recipe::of(collection))
}

fn build(home: &Path, recipe: &Recipe) -> Result<Corpus> {
    let image = home.join("debian.ext4");
    let stamp = home.join("debian.json");
    if image::is_current(&image, &stamp, recipe) {
        return Ok(Corpus { image });
    }
    let _lock = begin(home)?;
    let mut stages = Stages::open(home, recipe)?;
    let system = install(home, &mut stages, recipe)?;
    stages.run(Stage::Documents, || install_documents(&system.tree, recipe))?;
    stages.run(Stage::FirstStarts, || first_starts(&system, recipe))?;
    // The stamp vouches for the image, so it goes first and comes back last.
    remove_if_there(&stamp)?;
    stages.run(Stage::Image, || image::make(&system.tree, &image, recipe))?;
    image::write_stamp(&stamp, &image, recipe, &installed_versions(&system)?)?;
    Ok(Corpus { image })
}

/// A Debian system of this release with these packages, in a directory: built below `home`, or found ready there.
///
/// # Errors
/// As [`corpus`].
pub(crate) fn system(home: &Path, release: &str, packages: &[&str]) -> Result<PathBuf> {
    let recipe = Recipe::of_packages(release, packages);
    let _lock = begin(home)?;
    let mut stages = Stages::open(home, &recipe)?;
    Ok(install(home, &mut stages, &recipe)?.tree)
}

/// Checks what every build needs, and keeps others away from `home` while the result lives.
fn begin(home: &Path) -> Result<fs::File> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "building a system needs root for debootstrap and mount\nhint: run the same command as root, for instance \
         through `sudo -E`"
    );
    for (tool, package) in [
        ("debootstrap", "debootstrap"),
        ("mkfs.ext4", "e2fsprogs"),
        ("e2fsck", "e2fsprogs"),
        ("mount", "mount"),
        ("unshare", "util-linux"),
        ("chroot", "coreutils"),
        ("timeout", "coreutils"),
    ] {
        ensure!(is_on_path(tool), "`{tool}` was not found\nhint: apt-get install {package}");
    }
    fs::create_dir_all(home)?;
    let lock = fs::File::create(home.join("lock"))?;
    lock.file().try_lock().with_context(|| format!("another build of {} is running", home.display()))?;
    Ok(lock)
}

/// The stages that all systems have.
fn install(home: &Path, stages: &mut Stages, recipe: &Recipe) -> Result<Chroot> {
    let system = Chroot { tree: home.join("tree"), archives: home.join("debs") };
    stages.run(Stage::Base, || bootstrap(&system.tree, &system.archives, recipe))?;
    stages.run(Stage::Packages, || install_packages(&system, recipe))?;
    Ok(system)
}

/// A minimal system in `tree`. It grows beside and is renamed when whole; what an earlier attempt left is removed.
fn bootstrap(tree: &Path, archives: &Path, recipe: &Recipe) -> Result<()> {
    let sources = mirrors(&recipe.release)?;
    let growing = tree.with_extension("partial");
    for old in [tree, &growing] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir_all(archives)?;
    let mut debootstrap = debootstrap()?;
    debootstrap.arg("--merged-usr");
    debootstrap.arg(format!("--cache-dir={}", archives.display()));
    debootstrap.arg(&recipe.release).arg(&growing).arg(&sources[0].uri);
    run(&mut debootstrap)?;
    fs::rename(&growing, tree)?;
    Ok(())
}

/// A `debootstrap` of a minimal system, which trusts Debian's keys only.
///
/// # Errors
/// When the keys are not on this machine.
pub(crate) fn debootstrap() -> Result<Command> {
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.arg("--variant=minbase");
    // Without the host's keyring debootstrap would trust whatever it downloads (debootstrap(8), --keyring).
    debootstrap.arg(format!("--keyring={}", keyring()?.display()));
    Ok(debootstrap)
}

/// Debian's keys.
///
/// # Errors
/// When they are not on this machine.
pub(crate) fn keyring() -> Result<&'static Path> {
    let keyring = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
    ensure!(keyring.exists(), "{} is missing\nhint: apt-get install debian-archive-keyring", keyring.display());
    Ok(keyring)
}

/// This machine's own mirrors of a Debian release.
///
/// # Errors
/// When its configuration names none.
pub(crate) fn mirrors(release: &str) -> Result<Vec<apt_sources::Source>> {
    let configuration = apt_sources::read_configuration(Path::new("/etc/apt"));
    let sources = apt_sources::release_sources(release, &configuration);
    if sources.is_empty() {
        bail!(
            "/etc/apt names no mirror of Debian {release}\nhint: put a line `deb URI {release} main` into \
             /etc/apt/sources.list.d/{release}.list"
        );
    }
    Ok(sources)
}

fn install_packages(system: &Chroot, recipe: &Recipe) -> Result<()> {
    let lines: Vec<String> = mirrors(&recipe.release)?.iter().map(apt_sources::Source::line).collect();
    fs::write(system.tree.join("etc/apt/sources.list"), lines.join("\n") + "\n")?;
    fs::write(system.tree.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    // No service may start inside the tree while packages are configured (invoke-rc.d(8)).
    let policy = system.tree.join("usr/sbin/policy-rc.d");
    fs::write(&policy, "#!/bin/sh\nexit 101\n")?;
    fs::set_permissions(&policy, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // The name service of this machine is needed for the download only; the image must not know it.
    let resolver = system.tree.join("etc/resolv.conf");
    remove_if_there(&resolver)?;
    fs::write(&resolver, fs::read("/etc/resolv.conf").unwrap_or_default())?;
    let script = format!(
        "export DEBIAN_FRONTEND=noninteractive\n\
         dpkg --configure -a\n\
         apt-get update\n\
         apt-get install --yes --fix-broken --no-install-recommends {packages}\n\
         apt-get dist-upgrade --yes --no-install-recommends\n\
         find /var/lib/apt/lists -mindepth 1 -delete\n\
         rm -f /var/cache/apt/*.bin /etc/resolv.conf /etc/apt/sources.list",
        packages = recipe.packages.join(" ")
    );
    system.run(&script)
}

fn install_documents(tree: &Path, recipe: &Recipe) -> Result<()> {
    for document in &recipe.documents {
        let path = tree.join(document.path.trim_start_matches('/'));
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, &document.text)?;
    }
    for directory in ["proc", "sys", "dev", "tmp", "usr/local/bin"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    Ok(())
}

/// Starts each program twice and checks its output each time.
fn first_starts(system: &Chroot, recipe: &Recipe) -> Result<()> {
    for start in &recipe.starts {
        for round in 1..=2 {
            system
                .run(&format!(
                    "rm -f {output}; timeout --kill-after=5 300 {command}; test -s {output}",
                    output = start.output,
                    command = start.command
                ))
                .with_context(|| format!("start {round} of `{}` left no {}", start.command, start.output))?;
        }
    }
    Ok(())
}

/// `package version` lines of everything installed, as dpkg tells it.
fn installed_versions(system: &Chroot) -> Result<Vec<String>> {
    let output = system.output("dpkg-query --show --showformat='${Package} ${Version}\\n'")?;
    Ok(output.lines().map(str::to_owned).collect())
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Runs a command with its output on our stderr (stdout is for the result) and turns a bad status into an error.
fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command
        .stdin(std::process::Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("cannot start {shown}"))?;
    ensure!(status.success(), "{shown} failed: {status}");
    Ok(())
}
