//! One file to rows: an object, or an archive with all objects in it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use coldstart_app::survey::Limits;
use coldstart_elf::{ElfError, FileKind};
use coldstart_image::{Content, EntryKind, Source as ContentSource};
use coldstart_inspect::{Inspection, ObjectKind, Refusal, SearchCost};
use coldstart_oci::{Layout, Reference};
use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use coldstart_tables::{Inspected, ModuleRow, Place, ProblemRow};
use rayon::prelude::*;

use crate::archive::{self, Bytes, Format, PackageName, Room, Scratch};
use crate::items::Item;
use crate::root::{RootSystem, inside};
use crate::source::{Source, SourceKind};

/// What looking needs to know.
#[derive(Debug)]
pub(crate) struct Looker<'a> {
    pub(crate) sources: &'a [Source],
    /// By source; only root file systems have one.
    pub(crate) roots: &'a [Option<RootSystem>],
    pub(crate) limits: Limits,
    pub(crate) scratch: Scratch,
    /// The program that reads what libraries read ([`archive::apart`]); this process without one.
    pub(crate) reader: Option<&'a Path>,
}

/// The rows of some files.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) inspected: Inspected,
    pub(crate) modules: Vec<ModuleRow>,
    pub(crate) problems: Vec<ProblemRow>,
}

impl Rows {
    pub(crate) fn append(&mut self, mut other: Self) {
        let (these, those) = (&mut self.inspected, &mut other.inspected);
        these.objects.append(&mut those.objects);
        these.findings.append(&mut those.findings);
        these.needed.append(&mut those.needed);
        these.initialisers.append(&mut those.initialisers);
        these.owners.append(&mut those.owners);
        self.modules.append(&mut other.modules);
        self.problems.append(&mut other.problems);
    }

    fn problem(&mut self, place: &Place, problem: impl ToString) {
        self.problems.push(ProblemRow {
            source: place.source.clone(),
            archive: place.archive.clone(),
            path: place.path.clone(),
            problem: problem.to_string(),
        });
    }

    fn module(&mut self, place: &Place) {
        if let Some(language) = language(&place.path) {
            self.modules.push(ModuleRow {
                source: place.source.clone(),
                archive: place.archive.clone(),
                path: place.path.clone(),
                package: place.package.clone(),
                language,
            });
        }
    }

    fn object(&mut self, place: &Place, inspected: Result<Inspection, Refusal>, search: Option<&SearchCost>) {
        match inspected {
            Ok(inspection) => self.inspected.add(place, &inspection, search),
            // Kernel modules, core dumps and debug files are no objects of a start.
            Err(Refusal::Elf(error)) if !matches!(error, ElfError::NotElf(_)) => self.problem(place, error),
            Err(_) => {}
        }
    }
}

impl Looker<'_> {
    /// Looks at a file. A panic of a library that reads archives is a problem of that file; a program that is built to end at a panic
    /// does so.
    pub(crate) fn look(&self, item: &Item) -> Rows {
        catch_unwind(AssertUnwindSafe(|| self.look_closely(item))).unwrap_or_else(|_| {
            let mut rows = Rows::default();
            let source = self.sources.get(item.source).map(|source| source.name.clone()).unwrap_or_default();
            let place = Place { source, path: printable(&item.path), ..Place::default() };
            rows.problem(&place, "a reader panicked; please report this file");
            rows
        })
    }

    fn look_closely(&self, item: &Item) -> Rows {
        let mut rows = Rows::default();
        let Some(source) = self.sources.get(item.source) else { return rows };
        let root = self.roots.get(item.source).and_then(Option::as_ref);
        let mut place = Place { source: source.name.clone(), path: printable(&item.path), ..Place::default() };
        match &source.kind {
            SourceKind::Layout(reference) => self.layout(reference, place, &mut rows),
            kind => {
                let path =
                    if item.path.as_os_str().is_empty() { source.path.clone() } else { source.path.join(&item.path) };
                match self.file(&path, item, kind, root, &mut place, &mut rows) {
                    Ok(()) => {}
                    // It was removed since the walk; a named one must be there.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && !item.path.as_os_str().is_empty() => {}
                    Err(error) => rows.problem(&place, error),
                }
            }
        }
        rows
    }

    fn file(
        &self,
        path: &Path,
        item: &Item,
        kind: &SourceKind,
        root: Option<&RootSystem>,
        place: &mut Place,
        rows: &mut Rows,
    ) -> io::Result<()> {
        let is_module = language(&place.path).is_some();
        let start = beginning(path)?;
        let format = Format::of(&start).filter(|_| *kind != SourceKind::Root);
        let is_object = format.is_none() && FileKind::of(&start) == FileKind::Elf;
        if let Some(owner) = root.filter(|_| is_object || is_module).and_then(|root| root.owner(&inside(&item.path))) {
            place.package = Some(owner.package);
            place.package_version = Some(owner.version);
        }
        rows.module(place);
        if !is_object && format.is_none() {
            return Ok(());
        }
        let bytes = Bytes::whole(Arc::new(open_regular(path)?))?;
        if let Some(format) = format {
            let mut room = Room::new(&self.limits, item.bytes);
            if matches!(kind, SourceKind::Directory) {
                place.archive = Some(std::mem::take(&mut place.path));
            } else {
                place.path = String::new();
            }
            self.archive(format, &bytes, place.clone(), &mut room, rows);
        } else {
            let inspected = coldstart_app::inspect::inspect_bytes(bytes.get());
            let is_program = inspected.as_ref().is_ok_and(|found| found.object.kind != ObjectKind::SharedObject);
            let search = root.filter(|_| is_program).and_then(|root| root.search(&inside(&item.path)));
            if !bytes.shrank() {
                rows.object(place, inspected, search.as_ref());
            }
        }
        if bytes.shrank() {
            rows.problem(place, "it was truncated while it was read");
        }
        Ok(())
    }

    /// The objects of an archive, and of archives in it.
    fn archive(&self, format: Format, bytes: &Bytes, mut place: Place, room: &mut Room, rows: &mut Rows) {
        let mut package = None;
        let mut members = Vec::new();
        let mut named = |name: PackageName| package = Some(name);
        let mut receive = |member| {
            members.push(member);
            true
        };
        let done = match self.reader {
            // No library reads a Debian package as a whole.
            Some(program) if format != Format::Deb => {
                archive::apart::members(program, bytes, &self.scratch, room, &mut named, &mut receive)
            }
            _ => archive::members(format, bytes, &self.scratch, room, &mut named, &mut receive),
        };
        if let Some(PackageName { name, version }) = package {
            place.package = Some(name);
            place.package_version = Some(version);
        }
        self.members(members.into_iter().map(|member| (member.name, member.bytes)), &place, room, rows);
        if let Err(error) = done {
            rows.problem(&place, error);
        }
    }

    /// Objects side by side, then archives one after the other, which share what may still be unpacked.
    fn members(
        &self,
        members: impl Iterator<Item = (String, Option<Bytes>)>,
        of: &Place,
        room: &mut Room,
        rows: &mut Rows,
    ) {
        let (mut objects, mut archives) = (Vec::new(), Vec::new());
        for (path, bytes) in members {
            let place = Place { path, ..of.clone() };
            rows.module(&place);
            let Some(bytes) = bytes else { continue };
            match Format::of(bytes.get()) {
                Some(format) => archives.push((place, format, bytes)),
                None => objects.push((place, bytes)),
            }
        }
        let inspected: Vec<_> =
            objects.par_iter().map(|(_, bytes)| coldstart_app::inspect::inspect_bytes(bytes.get())).collect();
        for ((place, bytes), inspected) in objects.iter().zip(inspected) {
            match bytes.shrank() {
                true => rows.problem(place, "its archive was truncated while it was read"),
                false => rows.object(place, inspected, None),
            }
        }
        for (mut place, format, bytes) in archives {
            let Some(depth) = room.depth.checked_sub(1).filter(|depth| *depth > 0) else {
                rows.problem(&place, "an archive inside an archive inside an archive, which is not opened");
                continue;
            };
            let outer = place.archive.take().map(|outer| format!("{outer} > ")).unwrap_or_default();
            place.archive = Some(format!("{outer}{}", std::mem::take(&mut place.path)));
            let before = std::mem::replace(&mut room.depth, depth);
            self.archive(format, &bytes, place, room, rows);
            room.depth = before;
        }
    }

    /// The objects of a container's layers, one over the other.
    fn layout(&self, reference: &Reference, place: Place, rows: &mut Rows) {
        let entries = Layout::open(reference).and_then(|layout| layout.entries(self.scratch.directory(), &mut || true));
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => return rows.problem(&place, error),
        };
        let sizes = entries.iter().map(|entry| match &entry.kind {
            EntryKind::Regular(content) => content.size,
            _ => 0,
        });
        let mut room = Room::new(&self.limits, sizes.fold(0, u64::saturating_add));
        let mut views: Vec<(*const std::fs::File, Bytes)> = Vec::new();
        let mut members = Vec::new();
        for entry in &entries {
            let EntryKind::Regular(Content { size, source: ContentSource::Part(part), .. }) = &entry.kind else {
                continue;
            };
            let key = Arc::as_ptr(&part.file);
            let view = match views.iter().find(|(file, _)| *file == key) {
                Some((_, view)) => view.clone(),
                None => match Bytes::whole(Arc::clone(&part.file)) {
                    Ok(view) => {
                        views.push((key, view.clone()));
                        view
                    }
                    Err(error) => return rows.problem(&place, error),
                },
            };
            let range = part.offset as usize..part.offset.saturating_add(*size) as usize;
            let bytes = view.part(range).filter(|bytes| archive::is_of_interest(bytes.get()));
            members.push((archive::shown_name(entry.path.as_os_str().as_encoded_bytes()), bytes));
        }
        self.members(members.into_iter(), &place, &mut room, rows);
    }
}

/// As many first bytes of a regular file as decide what it is.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    coldstart_sys::named_file::read_beginning(path, Format::BYTES)
}

/// The interpreter that loads modules of this name.
fn language(path: &str) -> Option<&'static str> {
    let path = Path::new(path);
    let has = |directory: &str| path.iter().any(|part| part == directory);
    match path.extension()?.to_str()? {
        "py" => Some("python"),
        "pm" => Some("perl"),
        "rb" => Some("ruby"),
        "js" | "cjs" | "mjs" if has("node_modules") || has("nodejs") => Some("node"),
        "go" | "scm" if has("guile") => Some("guile"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_belongs_to_its_interpreter() {
        assert_eq!(language("usr/lib/python3/dist-packages/yaml/__init__.py"), Some("python"));
        assert_eq!(language("usr/share/perl5/Debconf/Db.pm"), Some("perl"));
        assert_eq!(language("usr/share/nodejs/semver/index.js"), Some("node"));
        assert_eq!(language("usr/share/javascript/jquery/jquery.js"), None);
        assert_eq!(language("usr/lib/guile/3.0/ccache/ice-9/popen.go"), Some("guile"));
        assert_eq!(language("usr/share/go-1.19/main.go"), None);
        assert_eq!(language("usr/bin/python3"), None);
    }
}
