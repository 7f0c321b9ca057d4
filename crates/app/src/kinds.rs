//! The kinds of files that verbs write, and how an earlier output is recognised by its content.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use coldstart_elf::ElfFile;
use coldstart_output::OutputKind;
use coldstart_rewrite::{About, Pass};
use coldstart_sys::file_view::FileView;
use coldstart_view::mark;

use crate::view::tables::is_header;

/// `coldstart trace`.
pub const TRACE: OutputKind = coldstart_tracefile::KIND;
/// `prefetch record`, `speedup -o`.
pub const PLAN: OutputKind = OutputKind {
    name: "a prefetch plan",
    recognises: |file| begins_with(file, &coldstart_profile::plan::MAGIC),
    same_bytes: false,
};
/// `image make`.
pub const START_IMAGE: OutputKind = coldstart_image::KIND;
/// `pagecache save`.
pub const SAVED_PAGE_CACHE: OutputKind = OutputKind {
    name: "a saved page cache",
    recognises: |file| begins_with(file, &coldstart_pagecache::SAVED_MAGIC),
    same_bytes: false,
};
/// `--html`, `view -o OUT.html`.
pub const PAGE: OutputKind = OutputKind {
    name: "a page written by coldstart",
    recognises: |file| Ok(mark::is_page(&start(file)?)),
    same_bytes: false,
};
/// `--svg`, `view -o OUT.svg`.
pub const SVG: OutputKind = OutputKind {
    name: "an SVG file written by coldstart",
    recognises: |file| Ok(mark::is_svg(&start(file)?)),
    same_bytes: false,
};
/// `view -o OUT.png`.
pub const PNG: OutputKind = OutputKind {
    name: "a PNG file written by coldstart",
    recognises: |file| Ok(mark::is_png(&start(file)?)),
    same_bytes: false,
};
/// `view -o OUT.json`.
pub const VIEWER_JSON: OutputKind = OutputKind {
    name: "a viewer's JSON file written by coldstart",
    recognises: |file| Ok(mark::is_json(&start(file)?, &end(file)?)),
    same_bytes: false,
};
/// `view -o OUT.csv`.
pub const CSV: OutputKind = OutputKind {
    name: "a table written by coldstart",
    recognises: |file| {
        let start = start(file)?;
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(std::str::from_utf8(line).is_ok_and(is_header))
    },
    same_bytes: false,
};
/// A measurement as `measure --json` prints it, saved because it could not be added to the history.
pub const MEASUREMENT: OutputKind =
    OutputKind { name: "that measurement", recognises: |_| Ok(false), same_bytes: true };
/// `ldcache write`.
pub const LOADER_CACHE: OutputKind = OutputKind {
    name: "a loader cache",
    recognises: |file| Ok(coldstart_loader::cache::is_cache(&start(file)?)),
    same_bytes: false,
};
/// `pack -o`. A file that cannot be packed any further is copied, and then has no note.
pub const PACKED: OutputKind = OutputKind {
    name: "a file made by `coldstart pack`",
    recognises: |file| last_edit_is(file, Pass::is_edit),
    same_bytes: true,
};
/// `bind -o`.
pub const BOUND: OutputKind = OutputKind {
    name: "a program made by `coldstart bind`",
    recognises: |file| last_edit_is(file, |edit| edit == "bind"),
    same_bytes: false,
};
/// `ldcache write --note -o`.
pub const NOTED: OutputKind = OutputKind {
    name: "a file made by `coldstart ldcache write --note`",
    recognises: |file| last_edit_is(file, |edit| edit == "nix-note"),
    same_bytes: false,
};
/// `unpack -o`, `unbind -o`: a restored file has no mark of coldstart.
pub const RESTORED: OutputKind =
    OutputKind { name: "identical to the new file", recognises: |_| Ok(false), same_bytes: true };
/// `order`: a list or an archive in another order has no mark of coldstart.
pub const REORDERED: OutputKind = RESTORED;
/// `order appimage`: the new file has no mark of coldstart, and takes too long to be made for a comparison.
pub const REPACKED: OutputKind = OutputKind { name: "empty", recognises: |_| Ok(false), same_bytes: false };
/// `bind --audit-library`.
pub const AUDIT_LIBRARY: OutputKind = OutputKind {
    name: "an audit library made by coldstart",
    recognises: |file| Ok(coldstart_bind::audit::read(FileView::map(file)?.bytes()).is_ok()),
    same_bytes: false,
};

/// `order functions`.
pub const ORDER_LIST: OutputKind = OutputKind {
    name: "a list of functions written by coldstart",
    recognises: |file| {
        let start = start(file)?;
        Ok([coldstart_order::MARK, coldstart_order::MARK_OF_SCRIPTS]
            .iter()
            .any(|mark| start.starts_with(mark.as_bytes())))
    },
    same_bytes: false,
};

/// The first bytes of a file.
fn start(file: &File) -> io::Result<Vec<u8>> {
    at_most(file, 0)
}

/// The last bytes of a file.
fn end(file: &File) -> io::Result<Vec<u8>> {
    at_most(file, file.metadata()?.len().saturating_sub(mark::ENOUGH as u64))
}

fn at_most(file: &File, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; mark::ENOUGH];
    let mut length = 0;
    while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from.saturating_add(length as u64))? {
            0 => break,
            read => length = length.saturating_add(read),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn begins_with(file: &File, magic: &[u8]) -> io::Result<bool> {
    Ok(start(file)?.starts_with(magic))
}

/// Whether this is the last edit of coldstart in an ELF file.
fn last_edit_is(file: &File, is_meant: impl Fn(&str) -> bool) -> io::Result<bool> {
    if !begins_with(file, b"\x7fELF")? {
        return Ok(false);
    }
    let view = FileView::map(file)?;
    let about = ElfFile::parse(view.bytes()).ok().and_then(|file| About::read(&file));
    Ok(about.is_some_and(|about| about.edits.last().is_some_and(|last| is_meant(last))))
}
