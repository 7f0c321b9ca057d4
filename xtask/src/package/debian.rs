//! The Debian packages, built by dpkg's own tools: `coldstart`, and `coldstart-survey` with the program for `coldstart survey`.
//!
//! Not obvious: no debhelper and no cargo-deb. What is in the package is a directory, `dpkg-deb` writes it, and `dpkg-shlibdeps` says what the
//! programs depend on; both are on each Debian machine that builds packages.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::content::{self, put};
use super::{Source, text_of};
use crate::cargo::workspace;
use crate::tools::{emptied, run};

const MAINTAINER: &str = "The coldstart developers <coldstart@localhost>";
const DESCRIPTION: &str = "make big Linux programs start fast, and prove it
 coldstart measures how long a program takes to start, shows what it reads
 from the disk meanwhile, and makes it faster without a recompile: prefetch
 plans, start images, packed relocations, libraries found at the first try,
 indexes for interpreters. Each file that it writes is proven to be the same
 to the dynamic loader, and each change can be undone.";

const SURVEY_DESCRIPTION: &str = "what every object of a distribution costs at start-up
 coldstart survey reads packages (.deb, .rpm), squashfs images, AppImages, OCI
 layouts and root file systems, and writes what each ELF object in them costs
 at the start of programs as Parquet tables, for DuckDB, Spark and data
 frames.";

/// What one package has that another has not.
struct Package<'a> {
    name: &'a str,
    programs: &'a [PathBuf],
    /// Packages that it depends on besides libraries.
    depends: Vec<String>,
    /// Further fields of its control file.
    fields: Vec<(&'a str, String)>,
    description: &'a str,
}

/// Builds the package `coldstart` in `output` and returns its path.
pub(super) fn build(programs: &[PathBuf], manual: &Path, source: &Source, output: &Path) -> Result<PathBuf> {
    let staging = emptied(output.join("debian"))?;
    let root = staging.join("root");
    content::lay(programs, manual, &root.join("usr"))?;
    debhelper(&root, source)?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control)?;
    fs::write(control.join("triggers"), text_of("packaging/debian/coldstart.triggers")?)?;
    // debhelper would put what other tools add in place of the mark; nothing does here.
    let script = text_of("packaging/debian/coldstart.postinst")?.replace("\n#DEBHELPER#\n", "");
    let installed = control.join("postinst");
    fs::write(&installed, script)?;
    fs::set_permissions(&installed, std::fs::Permissions::from_mode(0o755))?;
    let package = Package {
        name: "coldstart",
        programs,
        depends: Vec::new(),
        fields: vec![
            // Only a package's build uses what is there for it.
            ("Suggests", "coldstart-survey, debhelper".to_owned()),
            ("Provides", "dh-sequence-coldstart".to_owned()),
        ],
        description: DESCRIPTION,
    };
    finish(&package, &staging, source, output)
}

/// Builds the package `coldstart-survey` in `output` and returns its path; `documents` are laid beside its licence.
pub(super) fn build_survey(program: &Path, documents: &Path, source: &Source, output: &Path) -> Result<PathBuf> {
    let staging = emptied(output.join("debian"))?;
    content::lay_survey(program, documents, &staging.join("root/usr"))?;
    let package = Package {
        name: "coldstart-survey",
        programs: &[program.to_owned()],
        // Both have the same arguments.
        depends: vec![format!("coldstart (= {})", source.version)],
        fields: Vec::new(),
        description: SURVEY_DESCRIPTION,
    };
    finish(&package, &staging, source, output)
}

/// Adds what every package has to the files in `staging`, and packs them.
fn finish(package: &Package<'_>, staging: &Path, source: &Source, output: &Path) -> Result<PathBuf> {
    let (root, name) = (staging.join("root"), package.name);
    fs::write(root.join("usr/share/doc").join(name).join("copyright"), copyright()?)?;
    let architecture = architecture()?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control)?;
    let installed = content::size(&root.join("usr"))?;
    println!("{name}: {installed} bytes are installed");
    let mut depends = package.depends.clone();
    depends.push(dependencies(package.programs, staging)?);
    let mut fields = vec![
        ("Package", name.to_owned()),
        ("Version", source.version.clone()),
        ("Architecture", architecture.clone()),
        ("Maintainer", MAINTAINER.to_owned()),
        ("Installed-Size", installed.div_ceil(1024).to_string()),
        ("Depends", depends.join(", ")),
    ];
    fields.extend(package.fields.iter().cloned());
    fields.extend([
        ("Section", "utils".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", package.description.to_owned()),
    ]);
    let mut text = String::new();
    for (name, value) in fields {
        writeln!(text, "{name}: {value}")?;
    }
    fs::write(control.join("control"), text)?;
    fs::write(control.join("md5sums"), sums(&root)?)?;
    let path = output.join(format!("{name}_{}_{architecture}.deb", source.version));
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", &source.time).args(["--root-owner-group", "-Zxz", "-z9", "--build"]);
    run(build.arg(&root).arg(&path))?;
    fs::remove_dir_all(staging)?;
    Ok(path)
}

/// What other packages' builds use: `dh_coldstart` with its man page, and the sequence that calls it.
fn debhelper(root: &Path, source: &Source) -> Result<()> {
    let packaging = workspace().join("packaging/debian");
    let program = packaging.join("dh_coldstart");
    put(&program, &root.join("usr/bin/dh_coldstart"), 0o755)?;
    let sequence = root.join("usr/share/perl5/Debian/Debhelper/Sequence/coldstart.pm");
    put(&packaging.join("coldstart.pm"), &sequence, 0o644)?;
    let page = root.join("usr/share/man/man1/dh_coldstart.1");
    let mut manual = Command::new("pod2man");
    manual.args(["--section=1", "--center=coldstart", "--utf8"]).env("SOURCE_DATE_EPOCH", &source.time);
    run(manual.arg(format!("--release={}", source.version)).arg(&program).arg(&page))?;
    content::compress(&page)
}

/// Debian's name of this machine's architecture.
fn architecture() -> Result<String> {
    let output = Command::new("dpkg").arg("--print-architecture").output().context("cannot start dpkg")?;
    ensure!(output.status.success(), "dpkg --print-architecture ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// What the programs need of the system's libraries, in the versions that they need.
fn dependencies(programs: &[PathBuf], staging: &Path) -> Result<String> {
    // It wants the sources' control file, and reads no more of it than this.
    fs::create_dir_all(staging.join("debian"))?;
    fs::write(staging.join("debian/control"), "Source: coldstart\n\nPackage: coldstart\nArchitecture: any\n")?;
    // The launcher is static and depends on nothing, which dpkg-shlibdeps warns of.
    let output = Command::new("dpkg-shlibdeps")
        .args(["-O", "--warnings=0"])
        .args(programs)
        .current_dir(staging)
        .output()
        .context("cannot start dpkg-shlibdeps")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "dpkg-shlibdeps ended with {}: {}", output.status, said.trim());
    let answer = String::from_utf8(output.stdout)?;
    let depends = answer.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    Ok(depends.with_context(|| format!("dpkg-shlibdeps answered {answer:?}"))?.to_owned())
}

/// The licences, in the form of Debian's policy (12.5).
fn copyright() -> Result<String> {
    let mut text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
                    Upstream-Name: coldstart\n\nFiles: *\nCopyright: The coldstart developers\nLicense: MIT or Apache-2.0\n\n\
                    License: MIT\n"
        .to_owned();
    for line in text_of("LICENSE-MIT")?.lines() {
        let _ = if line.trim().is_empty() { writeln!(text, " .") } else { writeln!(text, " {line}") };
    }
    text.push_str("\nLicense: Apache-2.0\n On Debian systems, it is in /usr/share/common-licenses/Apache-2.0.\n");
    Ok(text)
}

/// MD5 of each installed file, as `dpkg --verify` reads them.
fn sums(root: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in walkdir::WalkDir::new(root.join("usr")).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.path().strip_prefix(root)?.to_owned());
        }
    }
    let output = Command::new("md5sum").args(&files).current_dir(root).output().context("cannot start md5sum")?;
    ensure!(output.status.success(), "md5sum ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
