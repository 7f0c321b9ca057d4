//! How much smaller `coldstart pack` makes real files, beside elfhack and beside linking anew with packed relocations.
//!
//! Sizes do not depend on the machine, so one packing of each is enough; what it says of itself is not asked: the file
//! system is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::figure::{Asked, Figure, Unit};
use super::pack_files::{Packing, SAMPLES, about_elfhack, elfhack, empty_directory, pack, pack_by_elfhack};
use super::pack_relink;
use super::record::Record;
use super::runner::words;
use super::workshop::{Workshop, text};

/// The package whose libraries are packed as a set. Others bring more of LibreOffice; with them the set would depend on
/// what else is installed.
const SET: &str = "libreoffice-core";
const SET_DIRECTORY: &str = "/usr/lib/libreoffice/program";
/// Bytes by which packing is to shrink the set, of 118.7 MB.
const SET_SHRINKS_BY: f64 = 14.0e6;

/// A file before and after.
#[derive(Debug, Serialize, Deserialize)]
struct Sizes {
    name: String,
    before: u64,
    coldstart: Packing,
    /// `None` without elfhack.
    elfhack: Option<Packing>,
}

impl Sizes {
    /// Of a file that was not packed, nothing is saved.
    fn saved(&self, packing: &Packing) -> f64 {
        packing.size.map_or(0.0, |after| self.before as f64 - after as f64)
    }
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "pack-size")?;
    let samples = SAMPLES.iter().map(|sample| sizes(workshop, sample.name, Path::new(sample.path), &directory));
    let samples: Vec<Sizes> = samples.collect::<Result<_>>()?;
    record.add("files", serde_json::to_value(samples)?);
    let set = libraries_of_set(workshop)?;
    let set: Vec<Sizes> =
        set.iter().map(|file| sizes(workshop, &name(file), file, &directory)).collect::<Result<_>>()?;
    record.add("set", serde_json::to_value(set)?);
    record.add("relinked", pack_relink::measure(workshop, &directory)?);
    record.add("about", vec![format!("the set is {SET}'s libraries in {SET_DIRECTORY}"), about_elfhack()].into());
    fs::remove_dir_all(&directory)?;
    Ok(())
}

fn sizes(workshop: &Workshop, name: &str, file: &Path, directory: &Path) -> Result<Sizes> {
    let before = fs::metadata(file)?.len();
    let coldstart = pack(workshop, &[], file, &directory.join("packed"))?;
    let elfhack = elfhack().map(|elfhack| pack_by_elfhack(workshop, &elfhack, file, &directory.join("elfhacked")));
    Ok(Sizes { name: name.to_owned(), before, coldstart, elfhack: elfhack.transpose()? })
}

/// The package's libraries that have relative relocations, as readelf sees it.
fn libraries_of_set(workshop: &Workshop) -> Result<Vec<PathBuf>> {
    let listed = workshop.runner.said(&words(["dpkg", "--listfiles", SET]))?;
    ensure!(listed.status.success(), "dpkg does not know {SET}: {}", listed.stderr.trim());
    let mut libraries = Vec::new();
    for path in listed.stdout.lines().map(Path::new) {
        let is_library =
            path.parent() == Some(Path::new(SET_DIRECTORY)) && path.extension().is_some_and(|end| end == "so");
        if !is_library || path.is_symlink() {
            continue;
        }
        let dynamic = workshop.runner.said(&["readelf".to_owned(), "-dW".to_owned(), text(path)])?;
        if dynamic.stdout.contains("(RELACOUNT)") {
            libraries.push(path.to_owned());
        }
    }
    ensure!(!libraries.is_empty(), "{SET} has no library with relative relocations in {SET_DIRECTORY}");
    Ok(libraries)
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let list = |part| Vec::<Sizes>::deserialize(record.part(part)?).with_context(|| format!("`{part}` holds no sizes"));
    let (files, set) = (list("files")?, list("set")?);
    let mut figures = Vec::new();
    for sample in &SAMPLES {
        let sizes = files.iter().find(|sizes| sizes.name == sample.name);
        let sizes = sizes.with_context(|| format!("the record has no sizes of {}", sample.name))?;
        figures.extend(figures_of(sample.name, std::slice::from_ref(sizes), sample.shrinks_by));
    }
    figures.extend(figures_of(&format!("set of {} libraries", set.len()), &set, SET_SHRINKS_BY));
    figures.extend(pack_relink::figures(record.part("relinked")?)?);
    Ok(figures)
}

/// Three rows: the size before, what coldstart and what elfhack saves.
fn figures_of(name: &str, files: &[Sizes], shrinks_by: f64) -> [Figure; 3] {
    let sum = |of: &dyn Fn(&Sizes) -> Option<f64>| files.iter().map(of).sum::<Option<f64>>();
    let figure = |what, asked, value| Figure::new(format!("{name}: {what}"), Unit::ExactMegabytes, asked, value);
    let by_elfhack = |sizes: &Sizes| sizes.elfhack.as_ref().map(|packing| sizes.saved(packing));
    [
        figure("size before", Asked::Nothing, sum(&|sizes| Some(sizes.before as f64))),
        figure("smaller by", Asked::AtLeast(shrinks_by), sum(&|sizes| Some(sizes.saved(&sizes.coldstart)))),
        figure("smaller by, with elfhack (a crash saves nothing)", Asked::Nothing, sum(&by_elfhack)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sizes(after: Option<u64>, elfhack: Option<u64>) -> Sizes {
        let packing = |size: Option<u64>| json!({"seconds": 0.1, "size": size, "end": "exit status: 0"});
        let elfhack = elfhack.map(|size| packing(Some(size)));
        let sizes = json!({"name": "a", "before": 3_000_000, "coldstart": packing(after), "elfhack": elfhack});
        serde_json::from_value(sizes).unwrap()
    }

    #[test]
    fn a_refused_file_saves_nothing_and_a_missing_peer_has_no_figure() {
        let files = [sizes(Some(1_000_000), Some(2_000_000)), sizes(None, Some(2_500_000))];
        let [before, ours, elfhacks] = figures_of("a", &files, 2e6);
        assert_eq!((before.value, ours.value, elfhacks.value), (Some(6e6), Some(2e6), Some(1.5e6)));
        assert_eq!(ours.is_met(), Some(true));
        let [_, ours, elfhacks] = figures_of("a", &[sizes(None, None)], 2e6);
        assert_eq!((ours.value, ours.is_met(), elfhacks.value), (Some(0.0), Some(false), None));
    }
}
