//! Packages of Debian's, built from their sources with `dh_coldstart` in a clean system: what comes out is packed, proven, installed and used, and
//! its debug symbols fit.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::clean_system::{CleanSystem, said};

/// A source package, and how to see that what is built of it works.
struct Rebuilt {
    source: &'static str,
    /// The binary package with the library, the library in it, and one of its functions.
    package: &'static str,
    library: &'static str,
    function: &'static str,
    /// Packages that use the library, and a command of theirs with its output.
    users: &'static [&'static str],
    command: &'static [&'static str],
    output: &'static str,
}

/// One whose rules are the `dh` sequence, and one that calls each helper itself.
const REBUILT: [Rebuilt; 2] = [
    Rebuilt {
        source: "libxml2",
        package: "libxml2",
        library: "libxml2.so.2",
        function: "xmlParseDocument",
        users: &["libxml2-utils"],
        command: &["sh", "-c", "echo '<a><b>text</b></a>' | xmllint --xpath '//b/text()' -"],
        output: "text",
    },
    Rebuilt {
        source: "readline",
        package: "libreadline8",
        library: "libreadline.so.8",
        function: "rl_initialize",
        users: &["gawk", "python3"],
        command: &[
            "python3",
            "-c",
            "import readline; readline.add_history('line'); print(readline.get_history_item(1))",
        ],
        output: "line",
    },
];

/// What building takes beside what each source asks for.
const TOOLS: &str = "build-essential dpkg-dev fakeroot gdb";

/// Builds the packages in a new system of `release`, and prints what became smaller.
pub(super) fn rebuild(release: &str, package: &Path, output: &Path) -> Result<()> {
    let system = CleanSystem::new(release, &output.join("rebuild"))?;
    let inside = |command: &str| system.shell(command);
    system.with_packages(release)?;
    fs::copy(package, system.root().join("tmp/coldstart.deb"))?;
    let install = "DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends";
    inside(&format!("{install} {TOOLS} /tmp/coldstart.deb"))?;
    let multiarch = inside("dpkg-architecture --query DEB_HOST_MULTIARCH")?;
    let multiarch = multiarch.trim();
    for rebuilt in &REBUILT {
        let Rebuilt { source, package, library, function, .. } = rebuilt;
        let home = format!("/build/{source}");
        let library = format!("/usr/lib/{multiarch}/{library}");
        inside(&format!(
            "mkdir -p {home}; cd {home}; {install} {}; apt-get source {source}; apt-get build-dep --yes --no-install-recommends {source}; \
             cp --dereference {library} {home}/before",
            [&[*package], rebuilt.users].concat().join(" ")
        ))
        .with_context(|| format!("getting the sources of {source}"))?;
        let tree = source_tree(&system.root().join(&home[1..]))?;
        let how = use_dh_coldstart(&tree)?;
        let tree = Path::new("/").join(tree.strip_prefix(system.root())?);
        let log = inside(&format!(
            "cd {}; DEB_BUILD_OPTIONS='nocheck parallel=2' DEB_BUILD_PROFILES='nocheck' dpkg-buildpackage --build=binary --no-sign 2>&1",
            tree.display()
        ))
        .with_context(|| format!("building {source}"))?;
        let packed: Vec<&str> = log.lines().filter(|line| line.starts_with("dh_coldstart: ")).collect();
        ensure!(!packed.is_empty(), "{source} was built, and dh_coldstart packed nothing");

        let depends = inside(&format!("dpkg-deb --field {home}/{package}_*.deb Depends"))?;
        ensure!(depends.contains("libc6 (>= 2.36)"), "{package} does not ask for glibc 2.36: {depends}");
        inside(&format!("dpkg --install {home}/{package}_*.deb {home}/{package}-dbgsym_*.deb"))?;
        inside(&format!("coldstart verify --json $(readlink -f {library})"))?;
        let answer = said(&mut system.command(rebuilt.command))?;
        ensure!(
            answer.trim() == rebuilt.output,
            "with the packed {library}: {answer:?} instead of {:?}",
            rebuilt.output
        );
        let line = inside(&format!("gdb --batch -ex 'info line {function}' $(readlink -f {library}) 2>&1"))?;
        ensure!(
            line.contains("Line ") && line.contains("starts at address"),
            "gdb finds no line of {function}: {line}"
        );
        let sizes = inside(&format!("stat --format %s {home}/before $(readlink -f {library})"))?;
        let sizes: Vec<&str> = sizes.split_whitespace().collect();
        println!("{source} ({how}): {library} of {} bytes for {}; debug symbols fit", sizes[1], sizes[0]);
        for line in packed {
            println!("  {line}");
        }
    }
    system.end()
}

/// The directory that `apt-get source` has unpacked.
fn source_tree(home: &Path) -> Result<std::path::PathBuf> {
    for entry in fs::read_dir(home)? {
        let path = entry?.path();
        if path.join("debian/rules").exists() {
            return Ok(path);
        }
    }
    anyhow::bail!("no sources in {}", home.display())
}

/// Has a source package's build call `dh_coldstart`, as its maintainer would, and says how.
fn use_dh_coldstart(tree: &Path) -> Result<&'static str> {
    let (control, rules) = (tree.join("debian/control"), tree.join("debian/rules"));
    let text = fs::read_to_string(&rules)?;
    if text.lines().any(|line| line.trim_start().starts_with("dh $@")) {
        let text = fs::read_to_string(&control)?;
        let with = text.replacen("Build-Depends:", "Build-Depends: dh-sequence-coldstart,", 1);
        ensure!(with != text, "{} has no Build-Depends", control.display());
        fs::write(&control, with)?;
        return Ok("Build-Depends: dh-sequence-coldstart");
    }
    // After each call of dh_strip, for the same packages.
    let mut with = String::new();
    for line in text.lines() {
        with.push_str(&format!("{line}\n"));
        if let Some(options) = line.strip_prefix("\tdh_strip ") {
            let packages: Vec<&str> = options.split(' ').filter(|word| word.starts_with("-p")).collect();
            with.push_str(&format!("\tdh_coldstart {}\n", packages.join(" ")));
        }
    }
    ensure!(with.contains("dh_coldstart"), "{} calls no dh_strip", rules.display());
    fs::write(&rules, with)?;
    Ok("dh_coldstart in debian/rules")
}
