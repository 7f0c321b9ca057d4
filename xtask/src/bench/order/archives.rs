//! `order-archives-hdd`, `order-archives-network`: cold starts from archives as they are built, and in the order of their start: a jar of 50 MB, a zipapp,
//! an AppImage of Debian's Python, and Firefox with its two `omni.ja`.
//!
//! Not obvious: only the archives lie on the slow disk. Interpreters and libraries are on this machine's own, so that a difference is that of the
//! archives. What the starts of the jar and the zipapp use is spread over them, so that these two are best cases.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::bed::{Bed, BedKind, image_of, with_image};
use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, State};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::run_in;
use crate::tools::{Tool, tool};

/// What must be installed.
pub(in crate::bench) const TOOLS: &[Tool] = &[
    tool("gcc", "gcc"),
    tool("python3", "python3"),
    tool("java", "openjdk-17-jre-headless"),
    tool("javac", "openjdk-17-jdk-headless"),
    tool("mksquashfs", "squashfs-tools"),
    tool("squashfuse", "squashfuse"),
    tool("firefox-esr", "firefox-esr"),
    tool("mkfs.ext4", "e2fsprogs"),
    tool("fio", "fio"),
];

/// Makes the archives in the working directory; its head says what they hold.
const MAKE: &str = include_str!("archives.py");
/// A runtime that mounts the image.
const RUNTIME: &str = include_str!("../../../../bench/programs/appimage_runtime.c");
/// Seconds after which a start counts as failed.
const TIME_LIMIT: &str = "300";
const BEFORE: usize = 0;
const AFTER: usize = 1;

/// An archive, as built and in order, and a start from it.
struct Case {
    name: &'static str,
    /// Archives relative to the disk, each with its copy in order.
    archives: Vec<(String, String)>,
    /// The start from those as built and from those in order. `{}` stands for the root of the disk.
    starts: [Vec<String>; 2],
}

/// What was measured.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    name: String,
    /// What `order zip` or `order appimage` said of each archive.
    ordered: Vec<Value>,
    measurement: Value,
}

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record, kind: BedKind) -> Result<()> {
    let directory = empty_directory(workshop, "order")?;
    let source = directory.join("disk");
    fs::create_dir(&source)?;
    build(workshop, &source)?;
    let cases = [jar(), zipapp(), appimage(&directory)?, firefox(&source, &directory)?];
    let mut ordered = Vec::new();
    for case in &cases {
        ordered.push(case.put_into_order(workshop, &source, &directory).with_context(|| case.name)?);
    }
    let image = image_of(workshop, &source)?;
    let runs = record.runs;
    let measured = with_image(workshop, kind, &image, |bed| {
        record.bed = Some(bed.status.clone());
        cases
            .iter()
            .zip(ordered)
            .map(|(case, ordered)| case.measure(workshop, bed, ordered, runs))
            .collect::<Result<Vec<_>>>()
    })?;
    record.add("cases", serde_json::to_value(measured)?);
    record.add(
        "about",
        serde_json::json!(["commands: A from archives as built, B from those in the order of the start"]),
    );
    Ok(fs::remove_dir_all(&directory)?)
}

fn build(workshop: &Workshop, source: &Path) -> Result<()> {
    fs::write(source.join("runtime.c"), RUNTIME)?;
    fs::write(source.join("make.py"), MAKE)?;
    run_in(
        workshop,
        source,
        "python3 make.py
         gcc -O1 -DMOUNT '-DSIGNATURE=\"\"' -o runtime runtime.c
         mksquashfs AppDir image -noappend -no-progress -quiet -comp xz
         cat runtime image > app.AppImage && chmod +x app.AppImage
         rm -r runtime runtime.c make.py image AppDir",
    )
}

fn jar() -> Case {
    let start = |name: &str| words(["java", "-Xshare:auto", "-jar", &format!("{{}}/{name}")]);
    Case {
        name: "a jar of 50 MB",
        archives: vec![("app.jar".into(), "ordered.jar".into())],
        starts: [start("app.jar"), start("ordered.jar")],
    }
}

fn zipapp() -> Case {
    let start = |name: &str| words(["python3", "-I", &format!("{{}}/{name}")]);
    Case {
        name: "a zipapp of 14 MB",
        archives: vec![("app.pyz".into(), "ordered.pyz".into())],
        starts: [start("app.pyz"), start("ordered.pyz")],
    }
}

fn appimage(directory: &Path) -> Result<Case> {
    let mount = directory.join(".mount_python");
    fs::create_dir(&mount)?;
    let start = |name: &str| words([&format!("{{}}/{name}"), &text(&mount)]);
    Ok(Case {
        name: "an AppImage of Python",
        archives: vec![("app.AppImage".into(), "ordered.AppImage".into())],
        starts: [start("app.AppImage"), start("ordered.AppImage")],
    })
}

/// Two directories of Firefox, of links to this machine's own, but for the program, which looks for the others beside itself, and the archives.
fn firefox(source: &Path, directory: &Path) -> Result<Case> {
    let installed =
        fs::canonicalize("/usr/bin/firefox-esr").or_else(|_| fs::canonicalize("/usr/lib/firefox-esr/firefox-esr"))?;
    let installed = installed.parent().context("Firefox has no directory")?;
    for side in ["firefox-built", "firefox-ordered"] {
        linked(installed, &source.join(side), &["firefox-esr", "firefox-bin", "omni.ja"])?;
        let browser = source.join(side).join("browser");
        fs::remove_file(&browser)?;
        linked(&installed.join("browser"), &browser, &["omni.ja"])?;
    }
    let page = directory.join("page.html");
    fs::write(&page, "<p>a page</p>")?;
    let start = |side: &str| {
        let profile = directory.join(format!("profile-{side}"));
        fs::create_dir_all(&profile)?;
        let mut start =
            words([&format!("{{}}/{side}/firefox-esr"), "--headless", "--no-remote", "--profile", &text(&profile)]);
        start.extend(words([
            "--screenshot",
            &text(&directory.join("page.png")),
            &format!("file://{}", page.display()),
        ]));
        anyhow::Ok(start)
    };
    let archives = ["omni.ja", "browser/omni.ja"]
        .map(|name| (format!("firefox-built/{name}"), format!("firefox-ordered/{name}")))
        .into();
    Ok(Case { name: "Firefox", archives, starts: [start("firefox-built")?, start("firefox-ordered")?] })
}

/// A directory with links to what is in another one, and copies of some files.
fn linked(from: &Path, to: &Path, copied: &[&str]) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        match copied.iter().any(|copied| name == **copied) {
            true => drop(fs::copy(path.canonicalize()?, to.join(&name))?),
            false => symlink(&path, to.join(&name))?,
        }
    }
    Ok(())
}

impl Case {
    fn command(&self, side: usize, root: &Path) -> Vec<String> {
        self.starts.get(side).into_iter().flatten().map(|word| word.replace("{}", &text(root))).collect()
    }

    /// Traces a start from the archives as built, and puts them into its order.
    fn put_into_order(&self, workshop: &Workshop, source: &Path, directory: &Path) -> Result<Vec<Value>> {
        let trace = directory.join("start.coldtrace");
        // The first start does work that later ones do not.
        workshop.runner.run(&self.command(BEFORE, source))?;
        let mut traced =
            workshop.coldstart(["trace", "--cold", "--layers", "pages,files", "--hide-output", "--force", "-o"]);
        traced.extend(words([&text(&trace), "--"]));
        traced.extend(self.command(BEFORE, source));
        workshop.runner.run(&traced)?;
        let mut ordered = Vec::new();
        for (built, new) in &self.archives {
            let (built, new): (PathBuf, PathBuf) = (source.join(built), source.join(new));
            let verb = if built.extension().is_some_and(|ending| ending == "AppImage") { "appimage" } else { "zip" };
            let mut order = workshop.coldstart(["order", verb, &text(&built), "--json", "--force", "-o", &text(&new)]);
            order.extend(words(["--trace", &text(&trace)]));
            ordered.push(workshop.runner.json(&order, &[0])?);
            let mode = fs::metadata(&built)?.permissions().mode();
            fs::set_permissions(&new, PermissionsExt::from_mode(mode))?;
        }
        workshop.runner.run(&self.command(AFTER, source))?;
        Ok(ordered)
    }

    fn measure(&self, workshop: &Workshop, bed: &Bed<'_>, ordered: Vec<Value>, runs: u32) -> Result<Measured> {
        eprintln!("bench: {}", self.name);
        let [before, after] = [BEFORE, AFTER].map(|side| self.command(side, &bed.root));
        // Caches of the programs' own know archives by their path, which has changed.
        for command in [&before, &after] {
            workshop.runner.run(command)?;
        }
        let options = words(["--state", "cold", "--runs", &runs.to_string(), "--time-limit", TIME_LIMIT]);
        let measurement = workshop.measure(&options, &[after], &before)?;
        Ok(Measured { name: self.name.to_owned(), ordered, measurement })
    }
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let cases = Vec::<Measured>::deserialize(record.part("cases")?).context("`cases` holds no cases")?;
    let mut figures = Vec::new();
    for case in &cases {
        let measurement = Measurement::from_json(&case.measurement)?;
        let row = |what: &str| format!("{}: {what}", case.name);
        for (command, what) in [(BEFORE, "as built, cold"), (AFTER, "in order, cold")] {
            figures.push(Figure::of_summary(row(what), Asked::Nothing, measurement.summary(command, State::Cold)));
        }
        let paired = measurement.ratio(AFTER, BEFORE, State::Cold);
        let ratio =
            Figure::of_estimate(row("in order / as built"), Unit::Times, Asked::Nothing, paired.ratio, paired.pairs);
        figures.push(ratio);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::both_states;
    use serde_json::json;

    #[test]
    fn each_archive_has_its_times_and_their_ratio() {
        let cold: [&[f64]; 2] = [&[4.0, 4.0, 4.0], &[2.0, 2.1, 1.9]];
        let measurement = both_states(&cold, &[&[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]]);
        let mut record = Record::begin(Benchmark::OrderArchivesHdd, "2025-01-02", 3).unwrap();
        record.add("cases", json!([{"name": "a jar", "ordered": [], "measurement": measurement}]));
        let found = figures(&record).unwrap();
        let names: Vec<&str> = found.iter().map(|figure| figure.what.as_str()).collect();
        assert_eq!(names, ["a jar: as built, cold", "a jar: in order, cold", "a jar: in order / as built"]);
        assert!((found[2].value.unwrap() - 0.5).abs() < 0.01, "{found:?}");
    }
}
