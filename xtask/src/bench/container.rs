//! `container`: a container of Debian with Python and numpy, started by runc on a network disk: from its unpacked layers (overlayfs over
//! directories of ext4, as container engines keep them), and from a start image of the same files (overlayfs over EROFS).
//!
//! Not obvious: mounting is part of each start, because the metadata of a mounted file system stays in memory. The mounts are private to
//! the start, so that none is left. runc itself lies on this machine's disk and is as cold for one as for the other.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fs_err as fs;
use serde_json::{Value, json};

use super::bed::{Bed, BedKind, image_of, with_image};
use super::figure::{Asked, Figure};
use super::measurement::{Measurement, State};
use super::pack_files::empty_directory;
use super::record::Record;
use super::runner::words;
use super::workshop::{Workshop, text};
use crate::tools::{Tool, tool};

pub(super) const TOOLS: &[Tool] = &[
    tool("debootstrap", "debootstrap"),
    tool("runc", "runc"),
    tool("unshare", "util-linux"),
    tool("mkfs.ext4", "e2fsprogs"),
    tool("losetup", "mount"),
];

/// The ways of starting, in the order of the measurement.
const WAYS: [&str; 3] = ["unpacked layers", "start image", "start image, its front read beside"];
/// What the container does, and what it prints then.
const PROGRAM: [&str; 3] = ["python3", "-c", "import numpy; print(int(numpy.ones(3).sum()))"];
const PRINTED: &str = "3\n";
/// The upper of the two layers: what `pip install` or another `RUN` would add.
const UPPER_LAYER: &str = "usr/lib/python3";

/// `$1` is the way, `$2` the bed's root, `$3` a directory with the bundle, `$4` the bytes of the image's front.
const START: &str = r#"#!/bin/sh -e
case "$1" in
0)
    lower="$2/app:$2/base" ;;
*)
    [ "$1" = 1 ] || head -c "$4" "$2/image.erofs" > /dev/null &
    mount -t erofs -o ro "$2/image.erofs" "$3/lower"
    lower="$3/lower" ;;
esac
mount -t overlay -o "lowerdir=$lower,upperdir=$2/upper,workdir=$2/work" overlay "$3/bundle/rootfs"
exec runc --root "$3/state" run --bundle "$3/bundle" "bench$1"
"#;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "container")?;
    let rootfs = directory.join("rootfs");
    let packages = "--include=python3,python3-numpy";
    eprintln!("bench: container: debootstrap, about two minutes");
    workshop
        .runner
        .run(&[words(["debootstrap", "--variant=minbase", packages, "bookworm"]), vec![text(&rootfs)]].concat())?;
    // Downloads are no part of a container.
    fs::remove_dir_all(rootfs.join("var/cache/apt"))?;
    fs::create_dir(rootfs.join("var/cache/apt"))?;
    let bundle = bundle(workshop, &directory, &rootfs)?;
    let runc = |bundle: &Path| {
        let state = text(&directory.join("state"));
        [words(["runc", "--root"]), vec![state, "run".into(), "--bundle".into(), text(bundle), "trace".into()]].concat()
    };
    // Once before, so that Python's own caches are the image's, too.
    let printed = workshop.runner.said(&runc(&bundle))?;
    ensure!(printed.stdout == PRINTED, "the container prints {:?}: {}", printed.stdout, printed.stderr);
    let trace = directory.join("start.coldtrace");
    let tracing = workshop.coldstart(["trace", "--cold", "--layers", "pages,files", "--json", "--output"]);
    workshop.runner.run(&[tracing, vec![text(&trace), "--".into()], runc(&bundle)].concat())?;
    let staging = directory.join("bed");
    for name in ["app", "upper", "work"] {
        fs::create_dir_all(staging.join(name))?;
    }
    let make = workshop.coldstart(["image", "make", "--json", "--root"]);
    let image = staging.join("image.erofs");
    let words_of_make = [text(&rootfs), "--trace".into(), text(&trace), "--output".into(), text(&image)];
    let made = workshop.runner.json(&[make, words_of_make.to_vec()].concat(), &[0])?;
    let verify = workshop.coldstart(["image", "verify", "--json"]);
    let against = [text(&image), "--against".into(), text(&rootfs)];
    let verified = workshop.runner.json(&[verify, against.to_vec()].concat(), &[0])?;
    ensure!(verified["good"] == true, "the image is not the same as its root");
    // The two layers, as they lie unpacked.
    let app = staging.join("app").join(UPPER_LAYER);
    if let Some(parent) = app.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&rootfs, staging.join("base"))?;
    fs::rename(staging.join("base").join(UPPER_LAYER), &app)?;
    // The root of the overlay is the upper directory.
    workshop
        .runner
        .run(&words(["chmod", "755"]).into_iter().chain([text(&staging.join("upper"))]).collect::<Vec<_>>())?;
    let disk = image_of(workshop, &staging)?;
    fs::remove_dir_all(&staging)?;
    with_image(workshop, BedKind::Net, &disk, |bed| {
        record.bed = Some(bed.status.clone());
        on_bed(workshop, record, bed, &directory, &made)
    })?;
    Ok(fs::remove_dir_all(&directory)?)
}

/// A bundle with the configuration that runc suggests, and our program.
fn bundle(workshop: &Workshop, directory: &Path, rootfs: &Path) -> Result<PathBuf> {
    let bundle = directory.join("bundle");
    for name in ["bundle/rootfs", "lower"] {
        fs::create_dir_all(directory.join(name))?;
    }
    workshop.runner.run(&[words(["runc", "spec", "--bundle"]), vec![text(&bundle)]].concat())?;
    let path = bundle.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path)?)?;
    config["process"]["terminal"] = false.into();
    config["process"]["args"] = json!(PROGRAM);
    config["root"] = json!({"path": text(rootfs), "readonly": false});
    fs::write(&path, config.to_string())?;
    Ok(bundle)
}

fn on_bed(workshop: &Workshop, record: &mut Record, bed: &Bed<'_>, directory: &Path, made: &Value) -> Result<()> {
    let path = directory.join("bundle/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path)?)?;
    config["root"]["path"] = "rootfs".into();
    fs::write(&path, config.to_string())?;
    let script = directory.join("start.sh");
    fs::write(&script, START)?;
    let front = made["metadata_bytes"].as_u64().unwrap_or(0) + made["hot_bytes"].as_u64().unwrap_or(0);
    let command = |way: usize| {
        let mut command = words(["unshare", "--mount", "--propagation", "private", "sh"]);
        command.extend([text(&script), way.to_string(), text(&bed.root), text(directory), front.to_string()]);
        command
    };
    let commands: Vec<Vec<String>> = (0..WAYS.len()).map(command).collect();
    for (command, way) in commands.iter().zip(WAYS) {
        let said = workshop.runner.said(command)?;
        ensure!(said.stdout == PRINTED, "`{way}` prints {:?}: {}", said.stdout, said.stderr);
    }
    bed.flush()?;
    let mut arguments = words(["--state", "cold", "--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    let others = commands.get(1..).unwrap_or_default();
    let first = commands.first().cloned().unwrap_or_default();
    record.add("measurement", workshop.measure(&arguments, others, &first)?);
    record.add("image", made.clone());
    let letters: Vec<String> = WAYS.iter().zip('A'..).map(|(way, letter)| format!("{letter} {way}")).collect();
    record.add("about", json!([format!("commands: {}", letters.join("; "))]));
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let measurement = Measurement::from_json(record.part("measurement")?)?;
    let mut figures = Vec::new();
    for (state, name) in [(State::Cold, "cold"), (State::Hot, "hot")] {
        for (command, way) in WAYS.iter().enumerate() {
            let summary = measurement.summary(command, state);
            let mut figure = Figure::of_summary(format!("{way}, {name}"), Asked::Nothing, summary);
            figure.ratio = measurement.comparison(command, state).and_then(|comparison| comparison.estimate());
            figures.push(figure);
        }
    }
    Ok(figures)
}
