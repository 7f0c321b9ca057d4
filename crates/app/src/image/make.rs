//! Making an image: which files, in which order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_image::tree::Collector;
use coldstart_image::{Compression, Entry, FirstTouches, HotOrder, LeftOutReason, Plan, hot_order};
use coldstart_launch::{CommandLine, Interrupt, LaunchError, LaunchOptions};
use coldstart_oci::{Layout, NewLayout, Reference};
use coldstart_output::OutputTarget;
use coldstart_profile::trace::Trace;
use coldstart_profile::{JsonPath, WorkingSet, printable, shell_command};
use serde::Serialize;

use super::closure::{self, LeftOut};
use super::complete::Completing;
use super::exclude::leave_out;
use super::in_place::keep_coverable;
use super::outside;
use super::rooted::RootedFiles;
use super::target::Target;
use super::uuid_text;
use crate::error::{AppError, HintExt};
use crate::index::IndexInUse;
use crate::kinds;
use crate::launching::{Launching, inputs_of};
use crate::observer::Observer;
use crate::prefetch::{MakeCold, PlanRecorder, UsedPages, trace_with_pages, used_by_trace};
use crate::reading;
use crate::text::{counted, counted_are, plain};
use crate::writing::try_out;

/// What an image is made of.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// Directories to take whole. Without any, and without a root, the files of the starts are taken.
    pub trees: Vec<PathBuf>,
    /// Files and directories that are left out, with all below them: paths as the image has them.
    pub exclude: Vec<PathBuf>,
    /// A directory that becomes the root of the image, whole.
    pub root: Option<PathBuf>,
    /// An image of an OCI layout, `LAYOUT` or `LAYOUT:TAG`, whose files become the image.
    pub oci: Option<OsString>,
    /// A new OCI layout, `LAYOUT` or `LAYOUT:TAG`, with the image as its layer; instead of a file.
    pub oci_output: Option<OsString>,
    /// What was `/` for the traced starts, if it was not this machine's; of a root itself it is that root.
    pub trace_root: Option<PathBuf>,
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
    /// Where it is started; `None` for the current directory.
    pub working_directory: Option<PathBuf>,
    /// What is made cold first.
    pub make_cold: MakeCold,
    /// The index of modules that it is started with. Its files are not in the image.
    pub index: Option<IndexInUse>,
}

impl RecordedStart {
    fn options(&self) -> Result<LaunchOptions, AppError> {
        let options = self.launching.options()?;
        let options = LaunchOptions { working_directory: self.working_directory.clone(), ..options };
        Ok(IndexInUse::added_to(self.index.as_ref(), options))
    }
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
    /// Of an OCI layout: the image's name in its index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Of an OCI layout: the digest of its manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// Of an OCI layout: the digest of its layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// A start, and its text.
struct Start {
    program: OsString,
    /// The program itself.
    name: Option<OsString>,
    used: StartPages,
    notes: Vec<String>,
}

/// The pages of a start.
enum StartPages {
    /// Of files of this machine.
    Here(WorkingSet),
    /// Of files of another root, by their names.
    Traced(Box<Trace>),
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
    if let Some(root) = &options.trace_root {
        reading::directory("the root of the traces", root)?;
    }
    if let Some(root) = &options.root {
        reading::directory("the root", root)?;
    }
    let source = options.oci.as_deref().map(|text| Layout::open(&Reference::parse(text))).transpose()?;
    let early = match (&options.output, &options.oci_output, &options.start) {
        (Some(path), ..) => Some(Target::File(options.place(path)?)),
        (None, Some(text), _) => {
            let reference = Reference::parse(text);
            let layout = NewLayout::begin(&reference, source.as_ref())?;
            Some(Target::Layout(reference, layout))
        }
        (None, None, Some(start)) => Some(Target::File(options.place(&default_path(Some(&start.command.program)))?)),
        (None, None, None) => None,
    };
    let starts = options.starts()?;
    let place = match early {
        Some(place) => place,
        // The program's name is in the trace.
        None => {
            let root = options.root.as_ref().and_then(|root| root.canonicalize().ok()).map(OsString::from);
            let layout = options.oci.as_deref().map(|text| Reference::parse(text).directory.into_os_string());
            let name = starts.first().and_then(|start| start.name.clone()).or(root).or(layout);
            Target::File(options.place(&default_path(name.as_ref()))?)
        }
    };
    let mut notes: Vec<String> = starts.iter().flat_map(|start| start.notes.clone()).collect();
    let ended = |_: &Path| match interrupt.signal() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    };
    let is_interrupted = |error: AppError| match interrupt.signal() {
        Some(signal) => AppError::from(LaunchError::Interrupted { signal }),
        None => error,
    };
    observer.begin(None);
    let mut watch = |path: &Path| {
        observer.step();
        ended(path)
    };
    let collected = match &source {
        Some(layout) => entries_of(layout, &place, &mut watch),
        None => options.collect(&place, &starts, &mut notes, &mut watch),
    };
    observer.end();
    let (mut entries, mut trees) = collected.map_err(is_interrupted)?;
    let mut hot = order_of(options.touches(&starts, &entries, &mut notes))?;
    if !options.is_rooted() {
        keep_coverable(&mut hot, &mut entries, !options.trees.is_empty());
    }
    if !options.exclude.is_empty() {
        leave_out(&options.excluded()?, &mut entries, &mut trees, &mut hot);
    }
    if !options.is_rooted() {
        let sets: Vec<_> = starts.iter().filter_map(Start::here).collect();
        hot.outside = outside::plans(&hot, &sets)?;
    }
    let path = place.path().to_owned();
    // A start is made again from the image itself, where that is for this machine.
    let again = options.start.as_ref().filter(|start| start.make_cold != MakeCold::Nothing && !options.is_rooted());
    let (written, layout, plan) = if let (Target::File(output), Some(start)) = (&place, again) {
        let completing = Completing {
            entries,
            trees: trees.clone(),
            compression: options.compression,
            output,
            command: &start.command,
            launch: &start.options()?,
            drop_caches: start.make_cold == MakeCold::Everything,
            program: starts.last().map(|start| start.program.clone()).unwrap_or_default(),
            interrupt: &interrupt,
            observer,
        };
        let completed = completing.write(hot)?;
        notes.extend(completed.untried.map(|error| format!("no start from the image was tried: {}", error.sentence())));
        (completed.written, None, completed.plan)
    } else {
        let plan = Plan::with_compression(entries, trees.clone(), &hot, options.compression)?;
        observer.begin_bytes(plan.content_bytes());
        let mut progress = |bytes| {
            observer.advance(bytes);
            ended(Path::new("/"))
        };
        let written = place.write(&plan, source.as_ref(), &mut progress);
        observer.end();
        let (written, layout) = written.map_err(is_interrupted)?;
        (written, layout, plan)
    };
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
        image: JsonPath::new(&path),
        path,
        uuid: uuid_text(&written.uuid),
        bytes: written.size.total,
        metadata_bytes: written.size.metadata,
        hot_bytes: written.size.hot,
        hot_pages: plan.hot_pages(),
        files: written.size.inodes,
        programs,
        trees: trees.iter().map(|tree| JsonPath::new(tree)).collect(),
        left_out_pages,
        tag: layout.as_ref().map(|layout| layout.tag.clone()),
        manifest: layout.as_ref().map(|layout| layout.manifest.clone()),
        layer: layout.map(|layout| layout.layer),
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

    /// What is left out, by absolute paths: as they were named, and of this machine also without links, as entries are.
    fn excluded(&self) -> Result<Vec<PathBuf>, AppError> {
        let mut excluded = Vec::new();
        for path in &self.exclude {
            excluded.push(std::path::absolute(path).context("cannot determine the working directory")?);
            excluded.extend(path.canonicalize().ok().filter(|_| !self.is_rooted()));
        }
        Ok(excluded)
    }

    fn starts(&self) -> Result<Vec<Start>, AppError> {
        let mut starts = Vec::new();
        for trace in &self.traces {
            starts.push(match self.is_rooted() {
                true => Start::traced(trace_with_pages(trace)?),
                false => Start::of(used_by_trace(trace)?),
            });
        }
        if let Some(start) = &self.start {
            let options = start.options()?;
            let recorder = PlanRecorder {
                command: &start.command,
                options: &options,
                strategy: None,
                make_cold: start.make_cold,
                without: start.index.as_ref().map(IndexInUse::directory),
            };
            starts.push(Start::of(recorder.used()?));
        }
        Ok(starts)
    }

    /// Whether paths of the image are not those of this machine.
    fn is_rooted(&self) -> bool {
        self.root.is_some() || self.oci.is_some()
    }

    /// The pages of the starts, under the paths of the image.
    fn touches(&self, starts: &[Start], entries: &[Entry], notes: &mut Vec<String>) -> Vec<FirstTouches> {
        let files =
            self.is_rooted().then(|| RootedFiles::new(entries, self.trace_root.as_deref().or(self.root.as_deref())));
        let mut touches = Vec::new();
        for start in starts {
            let program = start.program.clone();
            let pages = match (&start.used, &files) {
                (StartPages::Here(set), None) => {
                    touches.push(FirstTouches::of_working_set(program, set));
                    continue;
                }
                (StartPages::Here(set), Some(files)) => files.of_working_set(program, set),
                (StartPages::Traced(trace), Some(files)) => files.of_trace(program, trace),
                (StartPages::Traced(_), None) => continue,
            };
            if let Some(first) = pages.changed.first() {
                notes.push(format!(
                    "{} left out of the order because of changes since the recording; the first: {}",
                    plain(&counted_are(pages.changed.len() as u64, "file")),
                    printable(first)
                ));
            }
            if pages.touches.pages.is_empty() {
                notes.push(format!("no page of the image was used by `{}`", printable(Path::new(&start.program))));
            }
            touches.push(pages.touches);
        }
        touches
    }

    /// The entries of the image, and the trees that are taken whole.
    fn collect(
        &self,
        place: &Target,
        starts: &[Start],
        notes: &mut Vec<String>,
        watch: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> Result<(Vec<Entry>, Vec<PathBuf>), AppError> {
        if let Some(root) = &self.root {
            not_inside(place, root)?;
            let mut collector = Collector::new(root)?;
            collector.add_tree_watched(Path::new("/"), watch)?;
            return Ok(collector.finish());
        }
        let mut collector = Collector::new(Path::new("/"))?;
        for tree in &self.trees {
            let absolute = std::path::absolute(tree).with_context(|| format!("cannot use `{}`", printable(tree)))?;
            let tree = collector.add_path(&absolute)?;
            not_inside(place, &tree)?;
            collector.add_tree_watched(&tree, watch)?;
        }
        if self.trees.is_empty() {
            let mut left_out = LeftOut::default();
            for start in starts {
                if let StartPages::Here(set) = &start.used {
                    closure::add(&mut collector, set, &mut left_out)?;
                }
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
        let command = &used.working_set.command;
        Self {
            program: text_of(command),
            name: command.first().cloned(),
            used: StartPages::Here(used.working_set),
            notes: used.notes,
        }
    }

    /// Its program and what it read, if its files are those of this machine.
    fn here(&self) -> Option<(&OsStr, &WorkingSet)> {
        match &self.used {
            StartPages::Here(set) => Some((&self.program, set)),
            StartPages::Traced(_) => None,
        }
    }

    fn traced(trace: Trace) -> Self {
        let command = &trace.run.command;
        Self {
            program: text_of(command),
            name: command.first().cloned(),
            used: StartPages::Traced(Box::new(trace)),
            notes: Vec::new(),
        }
    }
}

pub(super) fn text_of(command: &[OsString]) -> OsString {
    shell_command(command.iter().map(OsString::as_os_str)).into()
}

/// The files of a layout's image, which are all there are.
fn entries_of(
    layout: &Layout,
    place: &Target,
    watch: &mut dyn FnMut(&Path) -> ControlFlow<()>,
) -> Result<(Vec<Entry>, Vec<PathBuf>), AppError> {
    not_inside(place, layout.directory())?;
    let root = PathBuf::from("/");
    let entries = layout.entries(&place.scratch(), &mut || watch(&root).is_continue())?;
    Ok((entries, vec![root]))
}

/// An earlier image would become a part of the next one.
fn not_inside(place: &Target, tree: &Path) -> Result<(), AppError> {
    let real = tree.canonicalize().unwrap_or_else(|_| tree.to_owned());
    if !place.real_path().starts_with(&real) {
        return Ok(());
    }
    let (output, tree) = (printable(place.path()), printable(tree));
    Err(anyhow!("the image `{output}` would lie inside the tree `{tree}` that it is made of"))
        .hint(|| "name an output elsewhere with `-o`")
}

fn default_path(program: Option<&OsString>) -> PathBuf {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or(OsStr::new("image"));
    let mut name = name.to_os_string();
    name.push(".erofs");
    PathBuf::from(name)
}

fn order_of(touches: Vec<FirstTouches>) -> Result<HotOrder, AppError> {
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
