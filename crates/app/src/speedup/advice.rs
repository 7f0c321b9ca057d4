//! What would make the start faster and is not done here: files in another order, where the fix for that was not tried or not chosen; code in another
//! order, and archives of Java classes, which need a build. Told with the commands.
//!
//! Not obvious: the predicted saving is that of a plain start. A plan or an image reads the same bytes in a good order already, so that little
//! of it may be left with them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_launch::CommandLine;
use coldstart_order::ObjectCalls;
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::trace::{FileCategory, Trace, TracedObject};
use coldstart_profile::{JsonPath, printable};
use serde::Serialize;

use super::archive_uses::{ArchiveKind, ArchiveUse, archive_uses};
use super::commands::waiting;
use super::reading::{PAGE, is_worth, reading};
use super::subject::Subject;
use crate::text::{counted, number, plain, size};

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
    /// Options of a command that starts it: when it is ready.
    waiting: Vec<OsString>,
    trace: &'a Trace,
    device: PlannedDevice,
    /// Duration of the cold start.
    seconds: f64,
    /// A trace of this start that is kept.
    kept_trace: Option<&'a Path>,
    /// Files that the best fixes put into order.
    in_order: &'a [PathBuf],
}

/// The advice for a program, the largest predicted saving first. Files that cannot be read have none, nor have those that the best fixes put into
/// order.
pub(super) fn advice(subject: &Subject<'_>, kept_trace: Option<&Path>, in_order: &[PathBuf]) -> Vec<Advice> {
    let Some(trace) = &subject.trace else { return Vec::new() };
    let start = Start {
        program: subject.program,
        waiting: waiting(subject.launch),
        trace,
        device: subject.device(),
        seconds: subject.cold_seconds(),
        kept_trace,
        in_order,
    };
    start.advice()
}

impl Start<'_> {
    fn advice(&self) -> Vec<Advice> {
        let mut all: Vec<Advice> = Vec::new();
        for found in archive_uses(self.trace, &self.device, self.seconds) {
            match found.kind {
                _ if self.in_order.contains(&found.path) => {}
                ArchiveKind::AppImage => all.push(self.appimage(found)),
                ArchiveKind::Zip => all.extend(self.zip_file(found)),
            }
        }
        all.extend(self.code());
        all.extend(self.java());
        all.sort_by(by_saving);
        all
    }

    /// A zip file whose used entries lie apart.
    fn zip_file(&self, found: ArchiveUse) -> Option<Advice> {
        let ArchiveUse { path, names, entries: all, before, .. } = found;
        let saved = found.saved.ok()?;
        let entries = counted(names.len() as u64, "entry");
        let mut output = path.file_name()?.to_owned();
        output.push(".ordered");
        Some(Advice {
            kind: AdviceKind::OrderZip,
            file: JsonPath::new(&path),
            why: format!(
                "the start used {} of {} in `{}`, which lie in {}",
                plain(&entries),
                plain(&number(all as u64)),
                printable(&path),
                plain(&counted(before.pieces, "separate piece"))
            ),
            commands: self.recorded(&|trace| {
                let words = ["order".into(), "zip".into(), path.clone().into(), "-o".into(), output.clone()];
                vec![ourselves(words.into_iter().chain(["--trace".into(), trace.into()]))]
            }),
            used_bytes: before.bytes,
            pieces: before.pieces,
            saved_seconds: Some(saved),
        })
    }

    /// The program is an AppImage.
    fn appimage(&self, found: ArchiveUse) -> Advice {
        let ArchiveUse { path, before, saved, .. } = found;
        Advice {
            kind: AdviceKind::OrderAppimage,
            file: JsonPath::new(&path),
            why: format!(
                "`{}` is an AppImage, whose compression, blocks and order decide what a start decompresses",
                printable(&path)
            ),
            commands: self.recorded(&|trace| {
                let words: [OsString; 5] =
                    ["order".into(), "appimage".into(), path.clone().into(), "--trace".into(), trace.into()];
                vec![ourselves(words)]
            }),
            used_bytes: before.bytes,
            pieces: before.pieces,
            saved_seconds: saved.ok(),
        }
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
        if !is_worth(saved, self.seconds) {
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
            commands: self.record(&["--functions-of".into(), name.into()], &|trace| {
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

    /// What to do with a trace of files: with that which is kept, or with one that the first command records.
    fn recorded(&self, commands: &dyn Fn(&Path) -> Vec<String>) -> Vec<String> {
        match self.kept_trace {
            Some(kept) => commands(kept),
            None => self.record(&["--layers".into(), "pages,files".into()], commands),
        }
    }

    /// A command that records a trace with these options, and those that use it.
    fn record(&self, options: &[OsString], commands: &dyn Fn(&Path) -> Vec<String>) -> Vec<String> {
        let trace = PathBuf::from("start.coldtrace");
        let words = ["trace".into(), "--cold".into()].into_iter().chain(options.iter().chain(&self.waiting).cloned());
        let words = words.chain(["-o".into(), trace.clone().into(), "--".into(), self.program.program.clone()]);
        let mut all = vec![ourselves(words.chain(self.program.arguments.iter().cloned()))];
        all.extend(commands(&trace));
        all
    }
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
