//! `order files`: the files of starts in the order of their first use, for the tools that make images and archives.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use coldstart_archive::list::{ListForm, UsedFile};
use coldstart_image::tree::Collector;
use coldstart_launch::Interrupt;
use coldstart_output::OutputTarget;
use coldstart_profile::trace::{FileCategory, Trace};
use coldstart_profile::{JsonPath, PageRange, printable};
use coldstart_trace::page_uses;
use serde::Serialize;

use super::jlink::resources_of;
use super::used_pages::{RECORD, inputs_of};
use crate::error::{AppError, HintExt};
use crate::image::rooted::RootedFiles;
use crate::kinds;
use crate::prefetch::trace_with_pages;
use crate::reading;
use crate::text::{counted_are, plain};
use crate::writing::{try_out, write_file};

/// Bytes of a page of a trace.
const PAGE: u64 = 4096;

/// What is listed.
#[derive(Clone, Debug)]
pub struct FilesOptions {
    /// Traces of starts.
    pub traces: Vec<PathBuf>,
    /// The directory that becomes the root of the image; this machine's root if `None`.
    pub root: Option<PathBuf>,
    /// What was `/` for the starts, if that was another directory than `root`.
    pub trace_root: Option<PathBuf>,
    /// The form of the list.
    pub form: ListForm,
    /// The list's file; `None` for standard output, which is the front end's.
    pub output: Option<PathBuf>,
    /// Replace any file.
    pub force: bool,
}

/// A list.
#[derive(Clone, Debug, Serialize)]
pub struct FilesOutcome {
    /// The list's bytes.
    #[serde(skip)]
    pub list: Vec<u8>,
    /// The files of the starts in the order of first use, below the root; for jlink, classes and other resources of modules.
    pub files: Vec<ListedFile>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// A file that starts used.
#[derive(Clone, Debug, Serialize)]
pub struct ListedFile {
    #[serde(flatten)]
    path: JsonPath,
    /// Offset and length in bytes of what was used, in the order of first use.
    pub ranges: Vec<(u64, u64)>,
}

/// Lists the files of starts.
///
/// # Errors
/// If a trace or the root cannot be read, no file of the root was used, or the list cannot be written.
pub fn order_files(options: &FilesOptions) -> Result<FilesOutcome, AppError> {
    let interrupt = Interrupt::listen()?;
    let place = match &options.output {
        Some(path) => {
            Some(OutputTarget::new(path, kinds::REORDERED, options.force)?.not_over(inputs_of(&options.traces)))
        }
        None => None,
    };
    try_out(&place)?;
    let mut notes = Vec::new();
    // What somebody names is looked at before the traces, which may be large.
    if let Some(root) = &options.trace_root {
        reading::directory("the root of the traces", root)?;
    }
    if let Some(root) = &options.root {
        reading::directory("the root", root)?;
    }
    let traces = options.traces.iter().map(|path| trace_with_pages(path)).collect::<Result<Vec<_>, _>>()?;
    let files = match options.form {
        ListForm::Jlink => resources_of(options, &traces, &mut notes)?,
        _ => merged(&starts_below_root(options, &traces, &interrupt, &mut notes)?),
    };
    if files.is_empty() {
        let root = options.root.as_deref().unwrap_or(Path::new("/"));
        return Err(AppError::new(format!("no traced start used a file below `{}`", printable(root))))
            .hint(|| format!("{RECORD}, or name with `--trace-root` the directory that was `/` for it"));
    }
    let list = options.form.make(&files);
    if let Some(first) = list.unnamed.first() {
        notes.push(format!(
            "{} left out, because the list cannot hold their names; the first: {}",
            plain(&counted_are(list.unnamed.len() as u64, "file")),
            printable(first)
        ));
    }
    if list.unranked > 0 {
        notes.push(format!("mksquashfs has no more priorities: the last {} files are in no order", list.unranked));
    }
    if let Some(place) = &place {
        write_file(place, &list.bytes)?;
    }
    let listed = |file: UsedFile| ListedFile { path: JsonPath::new(&file.path), ranges: file.ranges };
    Ok(FilesOutcome { list: list.bytes, files: files.into_iter().map(listed).collect(), notes })
}

/// For each start the pages of its files, by their names below the root.
fn starts_below_root(
    options: &FilesOptions,
    traces: &[Trace],
    interrupt: &Interrupt,
    notes: &mut Vec<String>,
) -> Result<Vec<Vec<(PathBuf, PageRange)>>, AppError> {
    let Some(root) = &options.root else { return Ok(traces.iter().map(of_this_machine).collect()) };
    let mut collector = Collector::new(root)?;
    collector.add_tree_watched(Path::new("/"), &mut |_| match interrupt.signal() {
        Some(_) => std::ops::ControlFlow::Break(()),
        None => std::ops::ControlFlow::Continue(()),
    })?;
    let (entries, _) = collector.finish();
    let files = RootedFiles::new(&entries, options.trace_root.as_deref().or(Some(root)));
    let known: HashSet<&Path> = entries.iter().map(|entry| entry.path.as_path()).collect();
    let mut starts = Vec::new();
    for trace in traces {
        let pages = files.of_trace(Default::default(), trace);
        if let Some(first) = pages.changed.first() {
            notes.push(format!(
                "{} left out because of changes since the recording; the first: {}",
                plain(&counted_are(pages.changed.len() as u64, "file")),
                printable(first)
            ));
        }
        let mut pages = pages.touches.pages;
        pages.retain(|(path, _)| known.contains(path.as_path()));
        starts.push(pages);
    }
    Ok(starts)
}

/// The pages of a start by the names that its files have on this machine.
fn of_this_machine(trace: &Trace) -> Vec<(PathBuf, PageRange)> {
    let named = page_uses(trace).into_iter().filter_map(|(id, range)| {
        let file = trace.file(id)?;
        let is_named =
            file.path.is_absolute() && !matches!(file.category, FileCategory::Memory | FileCategory::Metadata);
        is_named.then(|| (file.path.clone(), range))
    });
    named.collect()
}

/// Files in the order of their smallest rank in any start, with what was used of them.
pub(super) fn merged(starts: &[Vec<(PathBuf, PageRange)>]) -> Vec<UsedFile> {
    let mut ranks: HashMap<&Path, (usize, usize)> = HashMap::new();
    let mut ranges: HashMap<&Path, Vec<(u64, u64)>> = HashMap::new();
    for (number, start) in starts.iter().enumerate() {
        let mut rank = 0usize;
        let mut seen: HashMap<&Path, ()> = HashMap::new();
        for (path, range) in start {
            if seen.insert(path, ()).is_none() {
                let best = ranks.entry(path).or_insert((rank, number));
                *best = (*best).min((rank, number));
                rank = rank.saturating_add(1);
            }
            add(ranges.entry(path).or_default(), *range);
        }
    }
    let mut files: Vec<(&Path, (usize, usize))> = ranks.into_iter().collect();
    files.sort_by(|(one, rank), (other, other_rank)| rank.cmp(other_rank).then_with(|| one.cmp(other)));
    let file = |path: &Path, ranges: Vec<(u64, u64)>| UsedFile {
        path: path.strip_prefix("/").unwrap_or(path).to_owned(),
        ranges,
    };
    files.into_iter().map(|(path, _)| file(path, ranges.remove(path).unwrap_or_default())).collect()
}

/// Adds pages to ranges in the order of first use; what continues the last range makes it longer.
fn add(ranges: &mut Vec<(u64, u64)>, pages: PageRange) {
    for page in pages.start.0..pages.end().0 {
        let at = page.saturating_mul(PAGE);
        if ranges.iter().any(|(offset, length)| (*offset..offset.saturating_add(*length)).contains(&at)) {
            continue;
        }
        match ranges.last_mut().filter(|(offset, length)| offset.saturating_add(*length) == at) {
            Some((_, length)) => *length = length.saturating_add(PAGE),
            None => ranges.push((at, PAGE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(path: &str, start: u64, count: u64) -> (PathBuf, PageRange) {
        (path.into(), PageRange::new(start, count).unwrap())
    }

    #[test]
    fn files_come_by_their_earliest_use_in_any_start_and_ranges_by_theirs() {
        let first = vec![pages("/a", 4, 2), pages("/b", 0, 1), pages("/c", 0, 1), pages("/a", 6, 1), pages("/a", 0, 1)];
        let second = vec![pages("/c", 0, 1), pages("/a", 5, 1), pages("/d", 9, 1)];
        let files = merged(&[first, second]);
        let shown: Vec<_> = files.iter().map(|file| (file.path.to_str().unwrap(), file.ranges.as_slice())).collect();
        assert_eq!(
            shown,
            [
                ("a", &[(16384, 12288), (0, 4096)][..]),
                ("c", &[(0, 4096)]),
                ("b", &[(0, 4096)]),
                ("d", &[(36864, 4096)]),
            ]
        );
    }
}
