//! An edit of the search for libraries that comes out of the file itself, so that one input is both.

use coldstart_elf::{ElfFile, Tag};
use coldstart_prove::{LoadedNote, PathKind, SearchEdit, SearchPath};

/// An edit of the file: `parts` says which parts it has, `count` how many names the file's end gives it.
pub fn search_edit(file: &ElfFile<'_>, parts: u8, count: usize) -> SearchEdit {
    let tail = file.bytes().get(file.bytes().len().saturating_sub(256)..).unwrap_or(&[]);
    let mut names = tail.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec);
    let mut needed = needed(file);
    needed.splice(0..0, names.by_ref().take(count % 32));
    let mut next = || names.next().unwrap_or_else(|| b"/opt/lib".to_vec());
    let path = match parts & 3 {
        0 => None,
        1 => Some(SearchPath { kind: PathKind::Rpath, text: next() }),
        _ => Some(SearchPath { kind: PathKind::Runpath, text: next() }),
    };
    let audit = (parts & 4 != 0).then(&mut next);
    let note = [&[6, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0][..], b"NixOS\0\0\0a\0b\0"].concat();
    let bytes = if parts & 16 == 0 { note } else { next() };
    let loaded_note = (parts & 8 != 0).then(|| LoadedNote { section: ".note.nixos.ldcache".to_owned(), bytes });
    SearchEdit { needed, path, audit, loaded_note }
}

/// What a file needs.
pub fn needed(file: &ElfFile<'_>) -> Vec<Vec<u8>> {
    names(file, Tag::NEEDED)
}

/// The strings of all entries with a tag.
pub fn names(file: &ElfFile<'_>, tag: Tag) -> Vec<Vec<u8>> {
    let Ok(Some(dynamic)) = file.dynamic() else { return Vec::new() };
    let Ok(strings) = file.dynamic_strings(&dynamic) else { return Vec::new() };
    dynamic.all(tag).filter_map(|at| strings.get(at).map(<[u8]>::to_vec)).collect()
}
