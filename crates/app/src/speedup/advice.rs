//! What would make the start faster and is no fix of ours: files in another order, code in another order, archives of Java classes. Told with the
//! commands, never done: the files belong to somebody else's build.
//!
//! Not obvious: the predicted saving is that of a plain start. A plan or an image reads the same bytes in a good order already, so that little
//! of it may be left with them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_archive::zip::{ZipArchive, used_entries};
use coldstart_launch::CommandLine;
use coldstart_order::ObjectCalls;
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::trace::{FileCategory, FileId, Trace, TracedObject};
use coldstart_profile::{JsonPath, PageRange, printable};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use coldstart_trace::page_uses;
use rustix::fs::fstat;
use serde::Serialize;

use super::subject::Subject;
use crate::order::appimage::is_appimage;
use crate::order::used_pages::is_unchanged;
use crate::text::{counted, plain, size};

/// The kernel's readahead, in bytes: what lies closer is read in one piece.
const READAHEAD: u64 = 128 << 10;
/// Bytes of a page of a trace.
const PAGE: u64 = 4096;
/// A saving below this share of the recorded cold start is not worth a command.
const LEAST_SHARE: f64 = 0.01;
/// The same in seconds: less cannot be measured.
const LEAST_SECONDS: f64 = 0.001;
/// Code is large from here on, in bytes.
const LARGE_CODE: u64 = 1 << 20;
/// How many programs and libraries are listed: those with the largest savings.
const MOST_OBJECTS: usize = 2;
/// Of code that is touched more densely, another order saves little.
const SPARSE: f64 = 0.5;

/// What is advised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceKind {
    /// The entries of a zip file in the order of the start.
    OrderZip,
    /// The files of an AppImage in the order of the start, or in another compression.
    OrderAppimage,
    /// The functions of a program or library in the order of the start, which needs its last link again.
    OrderFunctions,
    /// An archive of the program's Java classes.
    ClassDataSharing,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What is advised.
    pub kind: AdviceKind,
    /// The file that it is about.
    pub file: JsonPath,
    /// Why: a sentence without a full stop.
    pub why: String,
    /// The commands, one after another.
    pub commands: Vec<String>,
    /// Bytes of the file that the start used.
    pub used_bytes: u64,
    /// In how many pieces, farther apart than the kernel reads ahead.
    pub pieces: u64,
    /// Predicted saving of a plain cold start, in seconds; `None` where it is not predicted.
    pub saved_seconds: Option<f64>,
}

/// What a traced start is judged by.
struct Start<'a> {
    program: &'a CommandLine,
    trace: &'a Trace,
    device: PlannedDevice,
    /// Duration of the cold start.
    seconds: f64,
    /// A trace of this start that is kept.
    kept_trace: Option<&'a Path>,
}

/// The advice for a program, the largest predicted saving first. Files that cannot be read have none.
pub(super) fn advice(subject: &Subject<'_>, kept_trace: Option<&Path>) -> Vec<Advice> {
    let Some(trace) = &subject.trace else { return Vec::new() };
    let start = Start {
        program: subject.program,
        trace,
        device: subject.device(),
        seconds: subject.cold_seconds(),
        kept_trace,
    };
    start.advice()
}

impl Start<'_> {
    fn advice(&self) -> Vec<Advice> {
        let uses = page_uses(self.trace);
        let mut all: Vec<Advice> = self.archives(&uses);
        all.extend(self.appimage());
        all.extend(self.code());
        all.extend(self.java());
        all.sort_by(by_saving);
        all
    }

    /// Zip files whose used entries lie apart.
    fn archives(&self, uses: &[(FileId, PageRange)]) -> Vec<Advice> {
        let mut files: Vec<FileId> = uses.iter().map(|(file, _)| *file).collect();
        files.sort_unstable_by_key(|file| file.0);
        files.dedup();
        let is_object = |file: &FileId| self.trace.objects.iter().any(|object| object.file == *file);
        files.into_iter().filter(|file| !is_object(file)).filter_map(|file| self.archive(file, uses)).collect()
    }

    fn archive(&self, id: FileId, uses: &[(FileId, PageRange)]) -> Option<Advice> {
        let file = self.trace.file(id).filter(|file| is_on_disk(file.category))?;
        let opened = open_regular(&file.path).ok()?;
        if !is_unchanged(file, &fstat(&opened).ok()?) {
            return None;
        }
        let view = FileView::map(&opened).ok()?;
        let archive = ZipArchive::read(view.bytes()).ok()?;
        archive.check_unsigned().ok()?;
        let pages = uses.iter().filter(|(used, _)| *used == id).flat_map(|(_, range)| range.start.0..range.end().0);
        let used = used_entries(&archive, &[pages.collect()]);
        let plan = archive.plan(&used, archive.layout()).ok()?;
        let before: Vec<(u64, u64)> = used
            .iter()
            .filter_map(|number| archive.entries().get(*number))
            .map(|entry| (entry.record.start as u64, entry.record.end as u64))
            .collect();
        let after = used.iter().filter_map(|number| plan.places.get(*number)).map(|place| (place.start, place.end));
        let (before, after) = (reading(before, &self.device), reading(after.collect(), &self.device));
        let saved = before.seconds - after.seconds;
        if view.shrank() || !self.is_worth(saved) {
            return None;
        }
        let (entries, all) = (counted(used.len() as u64, "entry"), archive.entries().len());
        let mut output = file.path.file_name()?.to_owned();
        output.push(".ordered");
        Some(Advice {
            kind: AdviceKind::OrderZip,
            file: JsonPath::new(&file.path),
            why: format!(
                "the start used {} of {all} in `{}`, which lie in {}",
                plain(&entries),
                printable(&file.path),
                plain(&counted(before.pieces, "separate piece"))
            ),
            commands: self.recorded(&|trace| {
                let words = ["order".into(), "zip".into(), file.path.clone().into(), "-o".into(), output.clone()];
                vec![ourselves(words.into_iter().chain(["--trace".into(), trace.into()]))]
            }),
            used_bytes: before.bytes,
            pieces: before.pieces,
            saved_seconds: Some(saved),
        })
    }

    /// The program is an AppImage.
    fn appimage(&self) -> Option<Advice> {
        let path = &self.trace.processes.first()?.program;
        let view = FileView::map(&open_regular(path).ok()?).ok()?;
        is_appimage(view.bytes()).then(|| Advice {
            kind: AdviceKind::OrderAppimage,
            file: JsonPath::new(path),
            why: format!(
                "`{}` is an AppImage, whose compression, blocks and order decide what a start decompresses",
                printable(path)
            ),
            commands: self.recorded(&|trace| {
                let words: [OsString; 5] =
                    ["order".into(), "appimage".into(), path.into(), "--trace".into(), trace.into()];
                vec![ourselves(words)]
            }),
            used_bytes: 0,
            pieces: 0,
            saved_seconds: None,
        })
    }

    /// Large code of which a start touches pages here and there. Of its pages only their distance is predicted to go, because without first calls it
    /// is not known how few they would be.
    fn code(&self) -> Vec<Advice> {
        let mut all: Vec<Advice> = self.trace.objects.iter().filter_map(|object| self.code_of(object)).collect();
        all.sort_by(by_saving);
        all.truncate(MOST_OBJECTS);
        all
    }

    fn code_of(&self, object: &TracedObject) -> Option<Advice> {
        let file = self.trace.file(object.file).filter(|file| is_on_disk(file.category))?;
        let text = object.sections.iter().find(|section| section.name == ".text")?;
        let touched = ObjectCalls::of(&self.trace.events, object.file).code.pages;
        let text_pages = text.offset / PAGE..text.offset.saturating_add(text.size).div_ceil(PAGE);
        let pages: Vec<u64> = touched.into_keys().filter(|page| text_pages.contains(page)).collect();
        let used_bytes = (pages.len() as u64).saturating_mul(PAGE);
        if text.size < LARGE_CODE || used_bytes as f64 > text.size as f64 * SPARSE {
            return None;
        }
        let place = |page: &u64| (page.saturating_mul(PAGE), page.saturating_add(1).saturating_mul(PAGE));
        let before = reading(pages.iter().map(place).collect(), &self.device);
        let after = reading(vec![(0, used_bytes)], &self.device);
        let saved = before.seconds - after.seconds;
        if !self.is_worth(saved) {
            return None;
        }
        let name = file.path.file_name()?;
        let mut list = name.to_owned();
        list.push(".order");
        Some(Advice {
            kind: AdviceKind::OrderFunctions,
            file: JsonPath::new(&file.path),
            why: format!(
                "the start touched {} of {} of code in `{}`, in {}; whoever builds it can link it in the order of the start",
                plain(&size(used_bytes)),
                plain(&size(text.size)),
                printable(&file.path),
                plain(&counted(before.pieces, "separate piece"))
            ),
            commands: record(self.program, &["--functions-of".into(), name.into()], &|trace| {
                let words: [OsString; 9] = [
                    "order".into(),
                    "functions".into(),
                    trace.into(),
                    "--object".into(),
                    name.into(),
                    "--for".into(),
                    "lld".into(),
                    "-o".into(),
                    list.clone(),
                ];
                vec![ourselves(words)]
            }),
            used_bytes,
            pieces: before.pieces,
            saved_seconds: Some(saved),
        })
    }

    /// A Java program without an archive of its own classes.
    fn java(&self) -> Option<Advice> {
        let names = |file: &Path, name: &str| file.file_name().is_some_and(|found| found == name);
        let path_of = |object: &TracedObject| Some(self.trace.file(object.file)?.path.as_path());
        let machine = self.trace.objects.iter().filter_map(path_of).find(|path| names(path, "libjvm.so"))?;
        let is_own_archive = |path: &Path| {
            path.extension().is_some_and(|extension| extension == "jsa") && path.parent() != machine.parent()
        };
        if self.trace.files.iter().any(|file| is_own_archive(&file.path)) {
            return None;
        }
        Some(Advice {
            kind: AdviceKind::ClassDataSharing,
            file: JsonPath::new(machine),
            why: "the start ran Java without an archive of the program's own classes (Java 13 or later); it usually saves more than the order of a jar, which must be in order before"
                .to_owned(),
            commands: ["-XX:ArchiveClassesAtExit=app.jsa", "-XX:SharedArchiveFile=app.jsa"].map(|option| self.with_java_option(option)).into(),
            used_bytes: 0,
            pieces: 0,
            saved_seconds: None,
        })
    }

    /// The program with an option of Java's: among its arguments, or in the environment if something else starts Java.
    fn with_java_option(&self, option: &str) -> String {
        let CommandLine { program, arguments } = self.program;
        if Path::new(program).file_name().is_some_and(|name| name == "java") {
            let arguments = std::iter::once(option.into()).chain(arguments.iter().cloned()).collect();
            return CommandLine { program: program.clone(), arguments }.to_string();
        }
        format!("JAVA_TOOL_OPTIONS={option} {}", self.program)
    }

    fn is_worth(&self, saved: f64) -> bool {
        saved >= LEAST_SECONDS && saved >= self.seconds * LEAST_SHARE
    }

    /// What to do with a trace of files: with that which is kept, or with one that the first command records.
    fn recorded(&self, commands: &dyn Fn(&Path) -> Vec<String>) -> Vec<String> {
        match self.kept_trace {
            Some(kept) => commands(kept),
            None => record(self.program, &["--layers".into(), "pages,files".into()], commands),
        }
    }
}

/// A command that records a trace with these options, and those that use it.
fn record(program: &CommandLine, options: &[OsString], commands: &dyn Fn(&Path) -> Vec<String>) -> Vec<String> {
    let trace = PathBuf::from("start.coldtrace");
    let words = ["trace".into(), "--cold".into()].into_iter().chain(options.iter().cloned());
    let words = words.chain(["-o".into(), trace.clone().into(), "--".into(), program.program.clone()]);
    let mut all = vec![ourselves(words.chain(program.arguments.iter().cloned()))];
    all.extend(commands(&trace));
    all
}

/// The largest saving first.
fn by_saving(one: &Advice, other: &Advice) -> std::cmp::Ordering {
    other.saved_seconds.unwrap_or(0.0).total_cmp(&one.saved_seconds.unwrap_or(0.0))
}

fn ourselves(words: impl IntoIterator<Item = OsString>) -> String {
    CommandLine { program: "coldstart".into(), arguments: words.into_iter().collect() }.to_string()
}

fn is_on_disk(category: FileCategory) -> bool {
    !matches!(category, FileCategory::Memory | FileCategory::Metadata)
}

/// What it costs to read ranges of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    pieces: u64,
    /// Of the ranges themselves.
    bytes: u64,
    seconds: f64,
}

/// Reads ranges (from, to), in bytes: one random read for each piece, and all bytes of it at the device's full bandwidth.
fn reading(mut ranges: Vec<(u64, u64)>, device: &PlannedDevice) -> Reading {
    ranges.sort_unstable();
    let bytes = ranges.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
    let (mut pieces, mut read, mut end) = (0u64, 0u64, None);
    for (from, to) in ranges {
        let begin = match end {
            Some(end) if from <= u64::saturating_add(end, READAHEAD) => end,
            _ => {
                pieces = pieces.saturating_add(1);
                from
            }
        };
        read = read.saturating_add(to.saturating_sub(begin));
        end = Some(to.max(begin));
    }
    let seconds = pieces as f64 * device.latency.as_secs_f64() + read as f64 / device.bandwidth.max(1) as f64;
    Reading { pieces, bytes, seconds }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pieces_cost_a_read_each_and_what_lies_between_near_ones_is_read_too() {
        let device =
            PlannedDevice { latency: Duration::from_millis(10), bandwidth: 100_000_000, parallel: 1, seeks: true };
        let near = reading(vec![(200_000, 300_000), (0, 100_000), (0, 50_000)], &device);
        assert_eq!((near.pieces, near.bytes), (1, 250_000));
        assert!((near.seconds - 0.013).abs() < 1e-9, "{near:?}");
        let apart = reading(vec![(0, 100_000), (1_000_000, 1_100_000)], &device);
        assert_eq!(apart.pieces, 2);
        assert!((apart.seconds - 0.022).abs() < 1e-9, "{apart:?}");
        assert_eq!(reading(Vec::new(), &device), Reading { pieces: 0, bytes: 0, seconds: 0.0 });
    }
}
