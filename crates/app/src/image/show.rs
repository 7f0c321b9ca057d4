//! What an image says of itself.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_image::Index;
use coldstart_image::read::{Image, ReadAt, ReadError};
use coldstart_profile::plan::PlanView;
use coldstart_profile::{JsonPath, PAGE_SIZE, printable};
use serde::Serialize;

use super::{open, uuid_text};
use crate::error::{AppError, HintExt};

/// A start image.
#[derive(Clone, Debug, Serialize)]
pub struct ShowOutcome {
    #[serde(flatten)]
    image: JsonPath,
    /// Its UUID.
    pub uuid: String,
    /// Its size.
    pub bytes: u64,
    /// Bytes of inodes and directories in front.
    pub metadata_bytes: u64,
    /// Where the hot range begins.
    pub hot_offset: u64,
    /// Bytes of the hot range.
    pub hot_bytes: u64,
    /// Hot pages of the programs' files.
    pub hot_pages: u64,
    /// Whether files with hot pages are compressed.
    pub compressed: bool,
    /// Runs of consecutive pages of one file.
    pub runs: u64,
    /// Files in it, directories and links among them.
    pub files: u64,
    /// Regular files.
    pub regular_files: u64,
    /// Programs that the order was made for.
    pub programs: Vec<ProgramSummary>,
    /// Directories that were taken whole.
    pub trees: Vec<JsonPath>,
    /// Files with hot pages, in the order of their first one.
    pub hot_files: Vec<HotFileSummary>,
}

/// A program of an image.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramSummary {
    /// Its command.
    pub command: String,
    /// Hot pages that it uses.
    pub pages: u64,
    /// Bytes that a start reads besides the image: metadata of the file system, files that are not covered.
    pub outside_bytes: u64,
    /// Names that it looks up.
    pub outside_names: u64,
}

/// A file with hot pages.
#[derive(Clone, Debug, Serialize)]
pub struct HotFileSummary {
    /// Its path.
    #[serde(skip)]
    pub name: PathBuf,
    #[serde(flatten)]
    path: JsonPath,
    /// Hot pages of it.
    pub pages: u64,
    /// In how many runs.
    pub runs: u64,
    /// Offset of the first of them in the image.
    pub first_offset: u64,
}

/// Reads the index of an image.
///
/// # Errors
/// If it is not a start image, or damaged.
pub fn show(path: &Path) -> Result<ShowOutcome, AppError> {
    let image = open(path)?;
    let index = image.index().with_context(|| format!("cannot use the image `{}`", printable(path)))?;
    let index = index
        .ok_or_else(|| anyhow!("`{}` is an EROFS image, but not a start image: it has no index", printable(path)))
        .hint(|| "make one with `coldstart image make`")?;
    let superblock = image.superblock();
    let pages_of = |bit: usize| {
        let runs = index.runs.iter().filter(|run| run.programs >> bit & 1 == 1);
        runs.map(|run| u64::from(run.pages)).sum()
    };
    let programs = index.programs.iter().enumerate();
    Ok(ShowOutcome {
        image: JsonPath::new(path),
        uuid: uuid_text(&superblock.uuid),
        bytes: superblock.length(),
        metadata_bytes: index.metadata_length,
        hot_offset: index.hot.start,
        hot_bytes: index.hot.end.saturating_sub(index.hot.start),
        hot_pages: index.runs.iter().map(|run| u64::from(run.pages)).sum(),
        compressed: index.packed.is_some(),
        runs: index.runs.len() as u64,
        files: superblock.inodes,
        regular_files: index.originals.len() as u64,
        programs: programs
            .map(|(bit, name)| {
                let (outside_bytes, outside_names) = outside_of(&index, bit);
                let command = printable(Path::new(name));
                ProgramSummary { command, pages: pages_of(bit), outside_bytes, outside_names }
            })
            .collect(),
        trees: index.trees.iter().map(|tree| JsonPath::new(tree)).collect(),
        hot_files: hot_files(&image, &index).with_context(|| format!("cannot use the image `{}`", printable(path)))?,
    })
}

/// Bytes and names that a program's starts read besides the image.
fn outside_of(index: &Index, program: usize) -> (u64, u64) {
    let Some(plan) = index.outside.get(program).and_then(|plan| PlanView::read(plan).ok()) else { return (0, 0) };
    plan.steps().fold((0, 0), |(bytes, names), step| match step.pages {
        Some(pages) => (bytes + pages.length(), names),
        None => (bytes, names + 1),
    })
}

fn hot_files<S: ReadAt>(image: &Image<S>, index: &Index) -> Result<Vec<HotFileSummary>, ReadError> {
    let file = |path: &Path| HotFileSummary {
        name: path.to_owned(),
        path: JsonPath::new(path),
        pages: 0,
        runs: 0,
        first_offset: 0,
    };
    let mut files: Vec<HotFileSummary> = index.files.iter().map(|hot| file(&hot.path)).collect();
    for run in &index.runs {
        if let Some(file) = usize::try_from(run.file).ok().and_then(|number| files.get_mut(number)) {
            if let (0, Some(hot)) = (file.runs, index.files.get(run.file as usize)) {
                let first = u64::from(run.start).saturating_mul(PAGE_SIZE);
                file.first_offset = image.place_of(&image.inode(hot.number)?, first)?.unwrap_or(0);
            }
            file.pages = file.pages.saturating_add(run.pages.into());
            file.runs = file.runs.saturating_add(1);
        }
    }
    Ok(files)
}
