//! Packages to install: `.deb`s, a wheel for Python, and tar archives with static programs. The same sources give the same bytes.
//!
//! | step | file |
//! |---|---|
//! | what is installed where | `package/content.rs` |
//! | what the programs are built of, and its licences | `package/components.rs` |
//! | the Debian packages | `package/debian.rs` |
//! | the archives for all distributions | `package/archive.rs` |
//! | the Python package | `package/wheel.rs` |
//! | installed, used and removed in clean systems | `package/try_out.rs` |
//! | packages of Debian's built with `dh_coldstart` | `package/rebuild.rs` |

mod archive;
mod components;
mod content;
mod debian;
mod rebuild;
mod try_out;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::architecture::Architecture;
use crate::cargo::{target_directory, workspace};
use crate::tools::{Tool, install_missing, tool};

/// What building packages takes.
const TOOLS: &[Tool] = &[
    tool("dpkg-deb", "dpkg"),
    tool("dpkg-shlibdeps", "dpkg-dev"),
    tool("gzip", "gzip"),
    tool("pod2man", "perl"),
    tool("tar", "tar"),
    tool("xz", "xz-utils"),
];

/// How packages are built.
#[derive(clap::Args)]
pub(crate) struct PackageArguments {
    /// Directory for the packages, instead of `package` in cargo's target directory
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Processors to build archives of static programs for, instead of this machine's
    #[arg(long, value_name = "PROCESSOR", num_args = 1..)]
    architecture: Vec<Architecture>,
    /// Install, use and remove the Debian package in clean systems of these releases, made with debootstrap (needs root)
    #[arg(long, value_name = "RELEASE", num_args = 0.., default_missing_values = ["bookworm", "trixie"])]
    try_out: Option<Vec<String>>,
    /// Build two packages of this release of Debian's from their sources with `dh_coldstart`, in a clean system, and try them (needs root)
    #[arg(long, value_name = "RELEASE", num_args = 0..=1, default_missing_value = "bookworm")]
    rebuild: Option<String>,
}

/// Builds the packages and prints their sizes and paths.
pub(crate) fn package(arguments: &PackageArguments) -> Result<()> {
    install_missing(TOOLS)?;
    let output = match &arguments.output {
        Some(directory) => std::path::absolute(directory)?,
        None => target_directory()?.join("package"),
    };
    fs_err::create_dir_all(&output)?;
    let source = Source::of_workspace()?;
    let manual = output.join("manual");
    crate::checks::manual(&manual)?;

    let native = Architecture::native()?;
    let documents = manual.join("documents");
    components::write(components::PROGRAMS, &native.target(), &source, &documents)?;
    let package = debian::build(&crate::release::programs()?, &manual, &source, &output)?;
    let of_survey = output.join("documents");
    components::write(components::SURVEY, &native.target(), &source, &of_survey)?;
    let survey = debian::build_survey(&crate::release::survey_program()?, &of_survey, &source, &output)?;
    let wheel = wheel::build(&source, &output)?;
    let architectures = if arguments.architecture.is_empty() { &[native][..] } else { &arguments.architecture };
    let mut archives = Vec::new();
    for &architecture in architectures {
        let target = architecture.target();
        components::write(components::PROGRAMS, &target, &source, &documents)?;
        let programs = crate::release::static_programs(architecture)?;
        let lay = |root: &Path| content::lay(&programs, &manual, root);
        let base = archive::build("coldstart", architecture, &source, &output, lay)?;
        components::write(components::SURVEY, &target, &source, &of_survey)?;
        let program = crate::release::static_survey_program(architecture)?;
        let lay = |root: &Path| content::lay_survey(&program, &of_survey, root);
        let survey = archive::build("coldstart-survey", architecture, &source, &output, lay)?;
        archives.push((architecture, [base, survey]));
    }
    fs_err::remove_dir_all(&of_survey)?;
    fs_err::remove_dir_all(&manual)?;
    let packages = [package, survey];
    for path in packages.iter().chain([&wheel]).chain(archives.iter().flat_map(|(_, archives)| archives)) {
        println!("{} {}", fs_err::metadata(path)?.len(), path.display());
    }
    wheel::try_out(&wheel, &output)?;
    for (architecture, archives) in &archives {
        try_out::archives(archives, *architecture, &output)?;
    }
    if let Some(releases) = &arguments.try_out {
        let native = archives.iter().find(|(architecture, _)| *architecture == native);
        let archives = native.map_or(&[][..], |(_, archives)| archives);
        try_out::in_clean_systems(releases, &packages, archives, &output)?;
    }
    if let Some(release) = &arguments.rebuild {
        rebuild::rebuild(release, &packages[0], &output)?;
    }
    Ok(())
}

/// What the packages are built from.
struct Source {
    version: String,
    /// Seconds since 1970 of the last commit: the time of all files, so that the same sources give the same bytes.
    time: String,
}

impl Source {
    fn of_workspace() -> Result<Self> {
        let git = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(workspace()).output();
        let commit = git.ok().filter(|output| output.status.success());
        let time = commit.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
        // An archive of the sources has no history; the name of this variable is that of reproducible-builds.org.
        let given = std::env::var("SOURCE_DATE_EPOCH").ok();
        let time = given.unwrap_or_else(|| time.trim().to_owned());
        ensure!(
            time.parse::<u32>().is_ok(),
            "the time of the sources is not known\nhint: build from a clone, or set SOURCE_DATE_EPOCH"
        );
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), time })
    }
}

/// The text of a file of the workspace.
fn text_of(path: &str) -> Result<String> {
    Ok(fs_err::read_to_string(workspace().join(path))?)
}

/// The last part of a path.
fn name_of(path: &Path) -> Result<&std::ffi::OsStr> {
    path.file_name().with_context(|| format!("{} has no name", path.display()))
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    /// Both packages of two small programs.
    fn built(directory: &Path) -> [PathBuf; 2] {
        let (programs, manual) = (directory.join("programs"), directory.join("manual"));
        for below in [&programs, &manual.join("man1"), &manual.join("completions"), &manual.join("documents")] {
            fs::create_dir_all(below).unwrap();
        }
        let programs = ["coldstart", "coldstart-run"].map(|name| programs.join(name));
        for program in &programs {
            fs::copy("/bin/true", program).unwrap();
        }
        for name in [
            "man1/coldstart.1",
            "completions/coldstart.bash",
            "completions/_coldstart",
            "completions/coldstart.fish",
            "documents/sbom.cdx.json",
        ] {
            fs::write(manual.join(name), name).unwrap();
        }
        let source = Source { version: "1.2".to_owned(), time: "1700000000".to_owned() };
        [
            debian::build(&programs, &manual, &source, directory).unwrap(),
            archive::build("coldstart", Architecture::native().unwrap(), &source, directory, |root| {
                content::lay(&programs, &manual, root)
            })
            .unwrap(),
        ]
    }

    fn said(command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn packages_hold_what_a_user_looks_for_and_are_the_same_bytes_each_time() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ([package, archive], again) = (built(one.path()), built(other.path()));
        for (path, again) in [&package, &archive].into_iter().zip(&again) {
            assert_eq!(path.file_name(), again.file_name());
            assert!(fs::read(path).unwrap() == fs::read(again).unwrap(), "{} differs", path.display());
        }
        let listed = said(Command::new("dpkg-deb").arg("--contents").arg(&package));
        let packed = said(Command::new("tar").args(["--list", "--file"]).arg(&archive));
        for (name, in_archive) in [
            ("usr/bin/coldstart", "bin/coldstart"),
            ("usr/bin/coldstart-run", "bin/coldstart-run"),
            ("usr/share/man/man1/coldstart.1.gz", "share/man/man1/coldstart.1.gz"),
            ("usr/share/bash-completion/completions/coldstart", "share/bash-completion/completions/coldstart"),
            ("usr/share/zsh/vendor-completions/_coldstart", "share/zsh/vendor-completions/_coldstart"),
            ("usr/share/fish/vendor_completions.d/coldstart.fish", "share/fish/vendor_completions.d/coldstart.fish"),
            ("usr/share/doc/coldstart/changelog.gz", "share/doc/coldstart/changelog.gz"),
            ("usr/share/doc/coldstart/sbom.cdx.json.gz", "share/doc/coldstart/sbom.cdx.json.gz"),
        ] {
            assert!(
                listed.lines().any(|line| line.contains("root/root") && line.ends_with(&format!("./{name}"))),
                "{listed}"
            );
            assert!(packed.lines().any(|line| line.ends_with(&format!("-linux/{in_archive}"))), "{packed}");
        }
        let survey = one.path().join("coldstart-survey");
        fs::copy("/bin/true", &survey).unwrap();
        let documents = one.path().join("manual/documents");
        let source = Source { version: "1.2".to_owned(), time: "1700000000".to_owned() };
        let survey = debian::build_survey(&survey, &documents, &source, one.path()).unwrap();
        assert!(survey.file_name().unwrap().to_str().unwrap().starts_with("coldstart-survey_1.2_"));
        let contents = said(Command::new("dpkg-deb").arg("--contents").arg(&survey));
        for name in [
            "lib/coldstart/coldstart-survey",
            "share/doc/coldstart-survey/sbom.cdx.json.gz",
            "share/doc/coldstart-survey/copyright",
        ] {
            assert!(contents.lines().any(|line| line.ends_with(&format!("./usr/{name}"))), "{contents}");
        }
        let depends = said(Command::new("dpkg-deb").arg("--field").arg(&survey).arg("Depends"));
        assert!(depends.starts_with("coldstart (= 1.2), libc6"), "{depends}");
        for name in [
            "bin/dh_coldstart",
            "share/man/man1/dh_coldstart.1.gz",
            "share/perl5/Debian/Debhelper/Sequence/coldstart.pm",
        ] {
            assert!(listed.lines().any(|line| line.ends_with(&format!("./usr/{name}"))), "{listed}");
        }
        // Debian's tools alone use it.
        assert!(!packed.contains("dh_coldstart"), "{packed}");
        let field = |name: &str| said(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name));
        assert!(field("Depends").contains("libc6"), "{}", field("Depends"));
        assert_eq!(field("Version").trim(), "1.2");
        let scripts = one.path().join("control");
        said(Command::new("dpkg-deb").arg("--control").arg(&package).arg(&scripts));
        assert!(!fs::read_to_string(scripts.join("postinst")).unwrap().contains("#DEBHELPER#"));
        assert!(fs::read_to_string(scripts.join("triggers")).unwrap().contains("/usr/lib"));
    }
}
