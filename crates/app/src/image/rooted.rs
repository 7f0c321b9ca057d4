//! Starts whose files lie in another root: a chroot, a container.
//!
//! Not obvious: the files of a trace are found by their names in the image, not on this machine. A container's root may be gone, and its
//! files' numbers are those of an overlay.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_image::links::follow;
use coldstart_image::{Entry, EntryKind, FirstTouches};
use coldstart_profile::trace::{FileId, Trace, TracedFile};
use coldstart_profile::{PageRange, WorkingSet};
use coldstart_trace::page_uses;

/// The files of an image, found by the names that starts use.
pub(crate) struct RootedFiles<'entries> {
    /// What was `/` for the starts, as this machine names it, without symbolic links.
    root: Option<PathBuf>,
    entries: HashMap<&'entries Path, &'entries Entry>,
}

/// The pages of a start.
#[derive(Debug, Default)]
pub(crate) struct RootedPages {
    pub(crate) touches: FirstTouches,
    /// Files that have another size or time in the image.
    pub(crate) changed: Vec<PathBuf>,
}

impl<'entries> RootedFiles<'entries> {
    pub(crate) fn new(entries: &'entries [Entry], root: Option<&Path>) -> Self {
        let root = root.map(|root| root.canonicalize().unwrap_or_else(|_| root.to_owned()));
        Self { root, entries: entries.iter().map(|entry| (entry.path.as_path(), entry)).collect() }
    }

    /// The pages of a recorded start: those of files below the root.
    pub(crate) fn of_working_set(&self, program: OsString, set: &WorkingSet) -> RootedPages {
        let mut touches = FirstTouches::of_working_set(program, set);
        touches.pages = touches
            .pages
            .into_iter()
            .filter_map(|(path, range)| Some((Path::new("/").join(self.below_root(&path)?), range)))
            .collect();
        RootedPages { touches, changed: Vec::new() }
    }

    /// The pages of a traced start. If it used files below the root, files that this machine's own root has under their names do not count: they belong
    /// to what started it. If it used none, all its names are those of the image: it was recorded inside the root.
    pub(crate) fn of_trace(&self, program: OsString, trace: &Trace) -> RootedPages {
        let uses = page_uses(trace);
        let used: HashSet<FileId> = uses.iter().map(|(file, _)| *file).collect();
        let mut names: HashMap<FileId, Vec<&Path>> = HashMap::new();
        for (file, number) in trace.files.iter().zip(0u32..).filter(|(_, number)| used.contains(&FileId(*number))) {
            names.entry(FileId(number)).or_default().push(&file.path);
        }
        for lookup in &trace.lookups {
            if let Some(names) = lookup.file.and_then(|file| names.get_mut(&file)) {
                names.push(&lookup.path);
            }
        }
        let is_below = names.values().flatten().any(|name| self.below_root(name).is_some());
        let mut pages = RootedPages::default();
        let mut found: HashMap<FileId, PathBuf> = HashMap::new();
        for (id, names) in names {
            let mut inside: Vec<PathBuf> =
                names.iter().filter_map(|name| Some(Path::new("/").join(self.below_root(name)?))).collect();
            // Of a file that this machine's root does not have under its name, the trace knows no size and time.
            let is_foreign = trace.file(id).is_some_and(|file| file.identity.is_none());
            if inside.is_empty() && is_foreign {
                inside =
                    names.iter().map(|name| name.to_path_buf()).filter(|name| self.regular(name).is_some()).collect();
            } else if !is_below {
                inside = names.iter().map(|name| name.to_path_buf()).collect();
            }
            let names = inside;
            match names.iter().find_map(|name| self.regular(name)) {
                Some((path, entry)) if trace.file(id).is_some_and(|file| is_same(file, entry)) => {
                    found.insert(id, path);
                }
                Some((path, _)) => pages.changed.push(path),
                // It stays under its name, and is told to be not in the image.
                None => found.extend(names.into_iter().next().map(|name| (id, name))),
            }
        }
        pages.changed.sort();
        let touched = |(file, range): (FileId, PageRange)| Some((found.get(&file)?.clone(), range));
        pages.touches = FirstTouches { program, pages: uses.into_iter().filter_map(touched).collect() };
        pages
    }

    fn below_root<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        path.strip_prefix(self.root.as_deref()?).ok()
    }

    /// The regular file that a name of the image leads to, under its name without links.
    fn regular(&self, name: &Path) -> Option<(PathBuf, &'entries Entry)> {
        let mut target_of = |path: &Path| {
            let mut entry = self.entries.get(path);
            if let Some(EntryKind::HardLink(first)) = entry.map(|entry| &entry.kind) {
                entry = self.entries.get(first.as_path());
            }
            Ok::<_, ()>(match entry.map(|entry| &entry.kind) {
                Some(EntryKind::Symlink(target)) => Some(target.clone()),
                _ => None,
            })
        };
        let path = follow(name, &mut target_of).ok()?.path;
        let entry = *self.entries.get(path.as_path())?;
        let entry = match &entry.kind {
            EntryKind::HardLink(first) => *self.entries.get(first.as_path())?,
            _ => entry,
        };
        matches!(entry.kind, EntryKind::Regular(_)).then_some((path, entry))
    }
}

/// Whether a file of the image is the traced one, as far as the trace knows. A layer of a container often has whole seconds only.
fn is_same(file: &TracedFile, entry: &Entry) -> bool {
    let (Some(then), EntryKind::Regular(content)) = (file.identity, &entry.kind) else { return true };
    let modified = entry.attributes.modified;
    let (seconds, nanoseconds) = (then.modified.div_euclid(1_000_000_000), then.modified.rem_euclid(1_000_000_000));
    let is_rounded = modified.nanoseconds == 0 || nanoseconds == 0;
    then.size == content.size
        && modified.seconds == seconds
        && (is_rounded || i64::from(modified.nanoseconds) == nanoseconds)
}

#[cfg(test)]
mod tests {
    use coldstart_image::{Attributes, Content, Source, Timestamp};
    use coldstart_profile::FileIdentity;
    use coldstart_profile::trace::{Event, EventKind, FileCategory, Lookup, LookupKind, Moment, ThreadId};

    use super::*;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        let modified = Timestamp { seconds: 5, nanoseconds: 0 };
        Entry { path: path.into(), attributes: Attributes { modified, ..Attributes::default() }, kind }
    }

    fn regular(path: &str, size: u64) -> Entry {
        let source = Source::File(path.into());
        entry(path, EntryKind::Regular(Content { size, holes: Vec::new(), source, origin: None }))
    }

    fn image() -> Vec<Entry> {
        vec![
            entry("/", EntryKind::Directory),
            entry("/lib", EntryKind::Symlink("usr/lib".into())),
            regular("/usr/lib/a", 9000),
            entry("/usr/lib/b", EntryKind::HardLink("/usr/lib/a".into())),
            regular("/usr/bin/c", 100),
        ]
    }

    /// A trace that reads page 0 of files with these paths and sizes, each also looked up by another name.
    fn trace(files: &[(&str, u64, &str)]) -> Trace {
        let mut trace = Trace::default();
        trace.run.ended_at = Moment(100);
        for ((path, size, name), number) in files.iter().zip(0u32..) {
            trace.files.push(TracedFile {
                path: path.into(),
                device: 1,
                inode: u64::from(number),
                identity: Some(FileIdentity { size: *size, modified: 5_000_000_123 }),
                category: FileCategory::System,
            });
            let (at, file) = (Moment(u64::from(number)), Some(FileId(number)));
            let kind = EventKind::Read;
            trace.events.push(Event { at, thread: ThreadId(0), kind, file, page: 0, pages: 1, code: None });
            let kind = LookupKind::Open;
            trace.lookups.push(Lookup { at, process: None, path: name.into(), kind, file, failed: false });
        }
        trace
    }

    fn paths(pages: &RootedPages) -> Vec<&str> {
        pages.touches.pages.iter().map(|(path, _)| path.to_str().unwrap()).collect()
    }

    #[test]
    fn files_below_the_root_count_alone_and_under_their_names_of_the_image() {
        let entries = image();
        let files = RootedFiles::new(&entries, Some(Path::new("/no such/root")));
        let mut traced = trace(&[
            ("/usr/bin/c", 100, "/usr/bin/c"),
            ("/no such/root/usr/lib/b", 9000, "/no such/root/lib/b"),
            ("(unnamed 1)", 100, "/no such/root/bin/../usr/bin/c"),
            ("/no such/root/gone", 1, "/no such/root/gone"),
            ("/lib/a", 9000, "/lib/a"),
        ]);
        // The loader, which the kernel opens, is known by its name inside alone.
        traced.files[4].identity = None;
        let pages = files.of_trace("p".into(), &traced);
        assert_eq!(paths(&pages), ["/usr/lib/b", "/usr/bin/c", "/gone", "/usr/lib/a"]);
        assert!(pages.changed.is_empty());
    }

    #[test]
    fn a_trace_from_inside_is_taken_as_it_is_and_changed_files_are_named() {
        let entries = image();
        for root in [Some(Path::new("/no such/root")), None] {
            let files = RootedFiles::new(&entries, root);
            let pages = files.of_trace("p".into(), &trace(&[("/lib/a", 9000, "/lib/a"), ("/usr/bin/c", 99, "/c")]));
            assert_eq!(paths(&pages), ["/usr/lib/a"]);
            assert_eq!(pages.changed, [PathBuf::from("/usr/bin/c")]);
        }
    }
}
