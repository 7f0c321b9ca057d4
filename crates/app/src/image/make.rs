//! Making an image: which files, in which order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_image::tree::Collector;
use coldstart_image::{
    Compression, FirstTouches, HotOrder, LeftOutReason, Plan, WriteError, hot_order, write_image_at,
};
use coldstart_launch::{CommandLine, Interrupt, LaunchError};
use coldstart_output::OutputTarget;
use coldstart_profile::{JsonPath, printable, shell_command};
use serde::Serialize;

use super::closure::{self, LeftOut};
use super::uuid_text;
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::launching::{Launching, inputs_of};
use crate::observer::Observer;
use crate::prefetch::{PlanRecorder, UsedPages, used_by_trace};
use crate::reading;
use crate::text::{counted, counted_are, plain};
use crate::writing::try_out;

/// What an image is made of.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// Directories to take whole. Without any, the files of the starts are taken.
    pub trees: Vec<PathBuf>,
    /// Traces of starts.
    pub traces: Vec<PathBuf>,
    /// A start to be recorded.
    pub start: Option<RecordedStart>,
    /// The image's file; `None` for `PROGRAM.erofs` in the current directory.
    pub output: Option<PathBuf>,
    /// How files with hot pages are stored.
    pub compression: Compression,
    /// Replace a file even if it is not a start image.
    pub force: bool,
}

/// A start to be recorded.
#[derive(Clone, Debug)]
pub struct RecordedStart {
    /// The program.
    pub command: CommandLine,
    /// How it is started and waited for.
    pub launching: Launching,
    /// Make the caches cold first.
    pub make_cold: bool,
}

/// A made image.
#[derive(Clone, Debug, Serialize)]
pub struct MakeOutcome {
    /// Its file.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    image: JsonPath,
    /// Its UUID: equal for equal images.
    pub uuid: String,
    /// Its size.
    pub bytes: u64,
    /// Bytes of inodes and directories in front.
    pub metadata_bytes: u64,
    /// Bytes of the hot range behind them.
    pub hot_bytes: u64,
    /// Hot pages of the programs' files.
    pub hot_pages: u64,
    /// Files in it, directories and links among them.
    pub files: u64,
    /// Programs that the order was made for.
    pub programs: Vec<String>,
    /// Directories that were taken whole.
    pub trees: Vec<JsonPath>,
    /// Pages that the starts used and that are not in the image.
    pub left_out_pages: u64,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// A start, and its text.
struct Start {
    program: OsString,
    used: UsedPages,
}

/// Makes an image and writes it.
///
/// # Errors
/// If a program cannot be started or watched, a file cannot be read or be in an image, or the image cannot be written. An existing
/// image is unchanged then.
pub fn make(options: &MakeOptions, observer: &dyn Observer) -> Result<MakeOutcome, AppError> {
    let interrupt = Interrupt::listen()?;
    for tree in &options.trees {
        reading::directory("the tree", tree)?;
    }
    let early = match (&options.output, &options.start) {
        (Some(path), _) => Some(options.place(path)?),
        (None, Some(start)) => Some(options.place(&default_path(Some(&start.command.program)))?),
        (None, None) => None,
    };
    let starts = options.starts()?;
    let place = match early {
        Some(place) => place,
        // The program's name is in the trace.
        None => {
            options.place(&default_path(starts.first().and_then(|start| start.used.working_set.command.first())))?
        }
    };
    let mut notes: Vec<String> = starts.iter().flat_map(|start| start.used.notes.clone()).collect();
    let (entries, trees) = options.collect(&place, &starts, &mut notes)?;
    let plan = Plan::with_compression(entries, trees.clone(), &order_of(&starts)?, options.compression)?;
    let mut progress = |_| match interrupt.signal() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    };
    let written = write_image_at(&place, &plan, &mut progress).map_err(|error| match (error, interrupt.signal()) {
        (WriteError::Interrupted, Some(signal)) => AppError::from(LaunchError::Interrupted { signal }),
        (error, _) => error.into(),
    })?;
    let left_out_pages = note_left_out(&plan, &mut notes);
    for note in &notes {
        observer.note(note);
    }
    let mut programs: Vec<String> = Vec::new();
    for start in &starts {
        let program = printable(Path::new(&start.program));
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    Ok(MakeOutcome {
        image: JsonPath::new(place.path()),
        path: place.path().to_owned(),
        uuid: uuid_text(&written.uuid),
        bytes: written.size.total,
        metadata_bytes: written.size.metadata,
        hot_bytes: written.size.hot,
        hot_pages: plan.hot_pages(),
        files: written.size.inodes,
        programs,
        trees: trees.iter().map(|tree| JsonPath::new(tree)).collect(),
        left_out_pages,
        notes,
    })
}

impl MakeOptions {
    /// The image's output, checked to be writable.
    fn place(&self, path: &Path) -> Result<OutputTarget, AppError> {
        let start = self.start.as_ref();
        let mut inputs =
            inputs_of(start.map(|start| &start.command), start.and_then(|start| start.launching.input.as_deref()));
        for trace in &self.traces {
            inputs.add(format!("the trace `{}`", printable(trace)), trace);
        }
        let place = OutputTarget::new(path, kinds::START_IMAGE, self.force)?.not_over(inputs);
        try_out([&place])?;
        Ok(place)
    }

    fn starts(&self) -> Result<Vec<Start>, AppError> {
        let mut starts = Vec::new();
        for trace in &self.traces {
            starts.push(Start::of(used_by_trace(trace)?));
        }
        if let Some(start) = &self.start {
            let options = start.launching.options()?;
            let recorder = PlanRecorder {
                command: &start.command,
                options: &options,
                strategy: None,
                make_cold: start.make_cold.into(),
            };
            starts.push(Start::of(recorder.used()?));
        }
        Ok(starts)
    }

    /// The entries of the image, and the trees that are taken whole.
    fn collect(
        &self,
        place: &OutputTarget,
        starts: &[Start],
        notes: &mut Vec<String>,
    ) -> Result<(Vec<coldstart_image::Entry>, Vec<PathBuf>), AppError> {
        let mut collector = Collector::new(Path::new("/"))?;
        for tree in &self.trees {
            let absolute = std::path::absolute(tree).with_context(|| format!("cannot use `{}`", printable(tree)))?;
            let tree = collector.add_path(&absolute)?;
            // An earlier image would become a part of the next one.
            if place.real_path().starts_with(&tree) {
                let (output, tree) = (printable(place.path()), printable(&tree));
                return Err(anyhow!("the image `{output}` would lie inside the tree `{tree}` that it is made of"))
                    .hint(|| "name an output elsewhere with `-o`");
            }
            collector.add_tree(&tree)?;
        }
        if self.trees.is_empty() {
            let mut left_out = LeftOut::default();
            for start in starts {
                closure::add(&mut collector, &start.used.working_set, &mut left_out)?;
            }
            if let Some(first) = left_out.large.first() {
                notes.push(format!(
                    "{} left out, because the starts only looked them up and they are large; the first: {}",
                    plain(&counted_are(left_out.large.len() as u64, "file")),
                    printable(first)
                ));
            }
        }
        Ok(collector.finish())
    }
}

impl Start {
    fn of(used: UsedPages) -> Self {
        let words = used.working_set.command.iter().map(OsString::as_os_str);
        Self { program: shell_command(words).into(), used }
    }
}

fn default_path(program: Option<&OsString>) -> PathBuf {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or(OsStr::new("image"));
    let mut name = name.to_os_string();
    name.push(".erofs");
    PathBuf::from(name)
}

fn order_of(starts: &[Start]) -> Result<HotOrder, AppError> {
    let touches: Vec<FirstTouches> = starts
        .iter()
        .map(|start| FirstTouches::of_working_set(start.program.clone(), &start.used.working_set))
        .collect();
    hot_order(&touches)
        .ok_or_else(|| {
            anyhow!("an image can be made for {} programs at most", coldstart_image::hot_order::MOST_PROGRAMS)
        })
        .hint(|| "make several images")
}

/// Says which hot pages are not in the image. Returns how many.
fn note_left_out(plan: &Plan, notes: &mut Vec<String>) -> u64 {
    let mut files: BTreeMap<&Path, u64> = BTreeMap::new();
    for left in plan.left_out().iter().filter(|left| left.reason == LeftOutReason::NotInImage) {
        let pages = files.entry(&left.path).or_default();
        *pages = pages.saturating_add(left.pages.count);
    }
    let pages = files.values().sum();
    if let Some((first, _)) = files.iter().max_by_key(|(_, pages)| **pages) {
        notes.push(format!(
            "{} of {} that the starts used are not in the image; most of them: {}",
            plain(&counted(pages, "page")),
            plain(&counted(files.len() as u64, "file")),
            printable(first)
        ));
    }
    pages
}
