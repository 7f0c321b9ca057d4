//! Names for the numbers in a trace: files, sections, symbols, processes.
//!
//! The rules for sections and symbols are those of the trace file's views (`docs/formats/trace.md`). A name may hold
//! anything; making it harmless is the work of who shows it, and JSON's escapes keep it whole until then.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{CodeAddress, Event, EventKind, FileId, ObjectSection, ProcessId, Trace, TracedObject};

/// How many sections that begin in one page are looked at: hostile tables have thousands.
const SECTIONS_IN_A_PAGE: usize = 64;

/// A trace whose names can be asked for quickly.
pub(super) struct Names<'a> {
    pub(super) trace: &'a Trace,
    objects: HashMap<FileId, Object<'a>>,
}

struct Object<'a> {
    object: &'a TracedObject,
    /// Those with bytes in the file, ascending by place.
    in_file: Vec<&'a ObjectSection>,
}

impl<'a> Names<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let of = |object: &'a TracedObject| {
            let sections = object.sections.iter();
            let mut in_file: Vec<_> = sections.filter(|section| !section.is_zero_filled).collect();
            in_file.sort_by_key(|section| section.offset);
            (object.file, Object { object, in_file })
        };
        Self { trace, objects: trace.objects.iter().map(of).collect() }
    }

    pub(super) fn object(&self, file: FileId) -> Option<&'a TracedObject> {
        self.objects.get(&file).map(|object| object.object)
    }

    /// The file's path; bytes that are not UTF-8 are replaced, since JSON has none.
    pub(super) fn path(&self, file: Option<FileId>) -> Cow<'a, str> {
        match file {
            None => Cow::Borrowed("(unnamed)"),
            Some(file) => self.trace.file(file).map_or("(unknown)".into(), |file| file.path.to_string_lossy()),
        }
    }

    /// The file's name without its directory.
    pub(super) fn file_name(&self, file: Option<FileId>) -> Cow<'a, str> {
        let file = file.and_then(|file| self.trace.file(file));
        file.map_or("(unnamed)".into(), |file| last_part(&file.path))
    }

    /// The section that an event happened in: of code that of the instruction, else the one with most bytes of the
    /// first page.
    pub(super) fn section(&self, event: &Event) -> Option<&'a str> {
        let object = self.objects.get(&event.file?)?;
        if let Some(code) = own_code(event) {
            return object.object.section_at(code.address).map(|section| section.name.as_str());
        }
        let begin = event.page.checked_mul(PAGE_SIZE)?;
        if is_zero_filled(event) {
            return object.object.section_at(begin).map(|section| section.name.as_str());
        }
        let end = begin.saturating_add(PAGE_SIZE);
        let first = object.in_file.partition_point(|section| section.offset <= begin).saturating_sub(1);
        let near = object.in_file.get(first..)?.iter().take(SECTIONS_IN_A_PAGE);
        let near = near.take_while(|section| section.offset < end);
        let shared = |section: &&ObjectSection| {
            section.offset.saturating_add(section.size).min(end).saturating_sub(section.offset.max(begin))
        };
        // Of two with as many bytes the first, as everywhere.
        let more = |most: Option<&'a ObjectSection>, section: &&'a ObjectSection| {
            let before = most.as_ref().map_or(0, &shared);
            if shared(section) > before { Some(*section) } else { most }
        };
        near.fold(None, more).map(|section| section.name.as_str())
    }

    /// The symbol that an event happened to: of code the function, else the first on the page.
    pub(super) fn symbol(&self, event: &Event) -> Option<&'a str> {
        let object = self.object(event.file?)?;
        if let Some(code) = own_code(event) {
            return object.symbol_at(code.address).map(|symbol| symbol.name.as_str());
        }
        if !matches!(event.kind, EventKind::Touch(_)) {
            return None;
        }
        let begin = event.page.checked_mul(PAGE_SIZE)?;
        let address = if is_zero_filled(event) { begin } else { object.address_of(begin)? };
        if let Some(symbol) = object.symbol_at(address) {
            return Some(symbol.name.as_str());
        }
        let next = object.symbols.get(object.symbols.partition_point(|symbol| symbol.address <= address))?;
        (next.address < address.saturating_add(PAGE_SIZE)).then_some(next.name.as_str())
    }

    /// The function at an instruction, or its file and address.
    pub(super) fn code(&self, code: CodeAddress) -> Cow<'a, str> {
        let symbol = self.object(code.file).and_then(|object| object.symbol_at(code.address));
        let place = || Cow::Owned(format!("{}+{:#x}", self.file_name(Some(code.file)), code.address));
        symbol.map_or_else(place, |symbol| Cow::Borrowed(symbol.name.as_str()))
    }

    /// The program's name without its directory.
    pub(super) fn program(&self, process: ProcessId) -> Cow<'a, str> {
        self.trace.process(process).map_or("(unknown)".into(), |process| last_part(&process.program))
    }

    /// The words of the command line that was run.
    pub(super) fn command(&self) -> String {
        let words: Vec<Cow<'_, str>> = self.trace.run.command.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// The instruction, where it is in what was touched: then it says more than the page.
fn own_code(event: &Event) -> Option<CodeAddress> {
    let is_code = match event.kind {
        EventKind::Function => true,
        EventKind::Touch(touch) => touch.execute,
        EventKind::Read | EventKind::Fill(_) => false,
    };
    event.code.filter(|code| is_code && Some(code.file) == event.file)
}

fn is_zero_filled(event: &Event) -> bool {
    matches!(event.kind, EventKind::Touch(touch) if touch.zero_filled)
}

fn last_part(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
}

/// How a page was used, in one word as in the trace file's views.
pub(super) fn access(event: &Event) -> Option<&'static str> {
    let EventKind::Touch(touch) = event.kind else { return None };
    Some(match touch.write {
        _ if touch.execute => "execute",
        Some(true) => "write",
        Some(false) => "read",
        None => "unknown",
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{object, section, touch_of, trace_of};
    use super::*;
    use coldstart_profile::trace::Touch;

    #[test]
    fn sections_and_symbols_are_those_of_the_views() {
        let mut object = object(0);
        object.sections =
            vec![section(".a", 0x1000, 0x400), section(".b", 0x1400, 0x1800), section(".bss", 0x4000, 0x2000)];
        object.sections[2].is_zero_filled = true;
        let trace = trace_of(object);
        let names = Names::new(&trace);
        let plain = |page| touch_of(page, Touch::default());
        assert_eq!(names.section(&plain(1)), Some(".b"));
        assert_eq!(names.section(&plain(0)), None);
        assert_eq!(names.section(&touch_of(5, Touch { zero_filled: true, ..Touch::default() })), Some(".bss"));
        let code = Some(CodeAddress { file: FileId(0), address: 0x1010 });
        let executed = Event { code, ..touch_of(1, Touch { execute: true, ..Touch::default() }) };
        assert_eq!((names.section(&executed), names.symbol(&executed)), (Some(".a"), Some("first")));
        // It was read from there, but is elsewhere.
        let read = Event { code, ..plain(2) };
        assert_eq!((names.section(&read), names.symbol(&read)), (Some(".b"), Some("second")));
        assert_eq!(names.symbol(&plain(u64::MAX)), None);
        assert_eq!(names.code(CodeAddress { file: FileId(0), address: 0x9000 }), "app+0x9000");
    }
}
