//! Which pages of which files of the image are hot, in which order.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use coldstart_profile::PageRange;

use crate::entry::{Content, Entry, EntryKind};
use crate::hot_order::{HotOrder, HotRun};

use super::file_map::holes_in_pages;
use super::layout::blocks_of;
use super::names::Names;
use super::{LeftOut, LeftOutReason, PlannedRun};

/// Hot pages of files of the image.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Nodes with hot pages, in the order of their first one.
    pub(super) files: Vec<(usize, Arc<Path>)>,
    pub(super) runs: Vec<PlannedRun>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Keeps the pages that are in the image, each once.
pub(super) fn choose(entries: &[Entry], names: &Names, hot: &HotOrder) -> Chosen {
    let mut chosen = Chosen::default();
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let mut seen: HashSet<(usize, u64)> = HashSet::new();
    for run in &hot.runs {
        let left_out = |pages: Option<PageRange>, reason| {
            pages.map(|pages| LeftOut { path: Arc::clone(&run.path), pages, reason })
        };
        let Some((node, content)) = file_of(entries, names, &run.path) else {
            chosen.left_out.extend(left_out(Some(run.pages), LeftOutReason::NotInImage));
            continue;
        };
        let end = blocks_of(content.size);
        let (first, last) = (run.pages.start.0.min(end), run.pages.end().0.min(end));
        let past = run.pages.start.0.max(end);
        let beyond = PageRange::new(past, run.pages.end().0.saturating_sub(past));
        chosen.left_out.extend(left_out(beyond, LeftOutReason::PastEnd));
        let (_, holes) = holes_in_pages(&content.holes, content.size, true);
        for page in first..last {
            let hole = holes.partition_point(|hole| hole.end <= page);
            if holes.get(hole).is_some_and(|hole| hole.start <= page) || !seen.insert((node, page)) {
                continue;
            }
            let number = *numbers.entry(node).or_insert_with(|| {
                chosen.files.push((node, Arc::clone(&run.path)));
                (chosen.files.len() - 1) as u32
            });
            add(&mut chosen.runs, number, page as u32, run);
        }
    }
    chosen
}

fn file_of<'entry>(entries: &'entry [Entry], names: &Names, path: &Path) -> Option<(usize, &'entry Content)> {
    let node = names.find(path)?;
    match &entries.get(names.nodes.get(node)?.entry)?.kind {
        EntryKind::Regular(content) => Some((node, content)),
        _ => None,
    }
}

/// Adds a page to the last run if it continues that.
fn add(runs: &mut Vec<PlannedRun>, file: u32, page: u32, of: &HotRun) {
    match runs.last_mut() {
        Some(last) if last.file == file && last.start + last.pages == page && last.programs == of.programs => {
            last.pages += 1;
        }
        _ => runs.push(PlannedRun { file, start: page, pages: 1, programs: of.programs }),
    }
}
