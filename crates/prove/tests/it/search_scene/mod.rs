//! Programs of each linker, and a writer by hand that changes where they search: it shares nothing with the planner.
//!
//! 64-bit little-endian files only. What stands between the program headers and the dynamic strings slides up by the size
//! of the new headers, into the room that the strings leave.

#![allow(dead_code)]

use std::process::Command;

use coldstart_prove::{LoadedNote, NotProven, PathKind, Proof, SearchEdit, SearchPath, Source, prove_search};

use super::scene::*;

/// A program with needed libraries, zero-filled memory, thread-local memory, and pointers.
const PROGRAM: &str = "#include <math.h>\n#include <stdio.h>\n\
    static int numbers[50] = {1}; int zeros[700]; _Thread_local int of_thread = 5;\n\
    int *words[] = {numbers + 1, numbers + 3, zeros}; extern char **environ; char ***where = &environ;\n\
    int main(int count, char **arguments) {\n\
    return printf(\"%d %s %f\", *words[count] + of_thread, **where, sin(count)) < 0; }\n";
/// One without any zero-filled memory, and without the C library's start files.
const BARE: &str = "extern int puts(const char *); int number = 5; int *word = &number;\n\
    void _start(void) { puts(\"x\"); __builtin_trap(); }\n";

pub(crate) const R: u64 = 4;
pub(crate) const RW: u64 = 6;

pub(crate) fn proof(original: &Elf, output: &Elf, edit: &SearchEdit) -> Result<Proof, NotProven> {
    prove_search(Source::in_memory(&original.0), Source::in_memory(&output.0), edit)
}

/// Links the program.
pub(crate) fn program(linker: &str, flags: &[&str]) -> Elf {
    link(PROGRAM, linker, flags)
}

/// Links the program that has no zero-filled memory.
pub(crate) fn bare(linker: &str) -> Elf {
    link(BARE, linker, &["-pie", "-nostartfiles"])
}

pub(crate) fn link(source: &str, linker: &str, flags: &[&str]) -> Elf {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&path, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-Wl,--no-as-needed"]).args(if flags.contains(&"-no-pie") { &["-fno-pie"] } else { &["-fPIE"] });
    // Long strings leave room for three program headers.
    if !flags.iter().any(|flag| flag.contains("-rpath")) {
        gcc.arg(format!("-Wl,-rpath,{}", "/a/search/path/to/be/replaced".repeat(4)));
    }
    gcc.args(flags).arg(format!("-fuse-ld={linker}")).arg("-o").arg(&output).arg(&path).arg("-lm");
    let done = gcc.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Elf(std::fs::read(&output).unwrap())
}

/// An edit with `count` more libraries before those that a program needs.
pub(crate) fn edit(original: &Elf, count: usize) -> SearchEdit {
    let mut needed: Vec<Vec<u8>> = (0..count).map(|number| format!("libextra{number}.so.1").into_bytes()).collect();
    let strings = original.offset(original.tag(5).unwrap());
    let names = original.entries().into_iter().filter(|entry| entry.0 == 1);
    needed.extend(names.map(|(_, at)| text(&original.0[strings + at as usize..])));
    let path = SearchPath { kind: PathKind::Runpath, text: b"$ORIGIN/farm:/opt/lib".to_vec() };
    SearchEdit { needed, path: Some(path), ..SearchEdit::default() }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).next().unwrap().to_vec()
}

/// A note of its own.
pub(crate) fn note() -> LoadedNote {
    let numbers = [6_u32, 4, 7].map(u32::to_le_bytes).concat();
    let bytes = [numbers.as_slice(), b"NixOS\0\0\0", b"a\0b\0"].concat();
    LoadedNote { section: ".note.nixos.ldcache".to_owned(), bytes }
}

impl Elf {
    /// The address of the dynamic table.
    pub(crate) fn tag_place(&self) -> u64 {
        self.word(self.segments(2)[0] + P_VADDR.0)
    }

    /// The program headers of the segments that were added.
    pub(crate) fn added(&self, original: &Elf) -> Vec<usize> {
        self.segments(1).split_off(original.segments(1).len())
    }
}

/// How the writer by hand makes room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The dynamic table moves even if it need not.
    pub(crate) moves: bool,
    /// The strings get a segment of their own, that is not writable.
    pub(crate) split: bool,
    /// The last segment grows.
    pub(crate) grows: bool,
    /// The first word of the global offset table follows.
    pub(crate) follows: bool,
}

/// Makes the edit.
pub(crate) fn write(original: &Elf, edit: &SearchEdit, shape: Shape) -> Elf {
    let mut elf = original.clone();
    let (strings, entries) = content(original, edit);
    let (old_at, old_size) = original.dynamic();
    let moves = shape.moves || (entries.len() + 1) * 16 > old_size;
    let new_loads = if shape.grows { 0 } else { 1 + usize::from(shape.split && moves) };
    let note = edit.loaded_note.as_ref();
    slide(&mut elf, 56 * (new_loads + usize::from(note.is_some())) as u64);
    let mut entries: Vec<(u64, u64)> = entries;
    for entry in &mut entries {
        if PLACES.contains(&entry.0) {
            entry.1 = elf.tag(entry.0).unwrap();
        }
    }
    // Where everything goes: strings and note, then (on a page of its own, if split) the table.
    let last = *elf.segments(1).last().unwrap();
    let end = elf.word(last + P_VADDR.0) + elf.word(last + P_MEMSZ.0);
    let offset_end = elf.word(last + P_OFFSET.0) + elf.word(last + P_FILESZ.0);
    let page = elf.word(last + P_ALIGN.0);
    if shape.grows {
        // What is not loaded makes way.
        elf.0.splice(offset_end as usize..offset_end as usize, vec![0; page as usize]);
        for section in 1..elf.number(60, 2) as usize {
            let at = (elf.word(40) + page) as usize + 64 * section;
            if elf.word(at + 16) == 0 && elf.word(at + 24) >= offset_end {
                elf.put(at + 24, 8, elf.word(at + 24) + page);
            }
        }
        elf.put(40, 8, elf.word(40) + page);
    } else {
        elf.0.resize(elf.0.len().next_multiple_of(page as usize), 0);
    }
    let start = if shape.grows { end.next_multiple_of(16) } else { end.next_multiple_of(page) };
    let offset = if shape.grows { offset_end + (start - end) } else { elf.0.len() as u64 };
    let note_at = (start + strings.len() as u64).next_multiple_of(4);
    let note_end = note_at + note.map_or(0, |note| note.bytes.len() as u64);
    let table_at = note_end.next_multiple_of(if shape.split { page } else { 16 });
    let table_size = (entries.len() as u64 + 3) * 16;
    let all_end = if moves { table_at + table_size } else { note_end };
    if shape.grows {
        assert!(all_end - end <= page);
        for field in [P_FILESZ, P_MEMSZ] {
            elf.put(last + field.0, 8, all_end - elf.word(last + P_VADDR.0));
        }
    } else {
        elf.0.resize((offset + all_end - start) as usize, 0);
    }
    let place = |address: u64| (offset + address - start) as usize;
    let strings_end = place(start) + strings.len();
    elf.0[place(start)..strings_end].copy_from_slice(&strings);
    entries.iter_mut().find(|entry| entry.0 == 5).unwrap().1 = start;
    entries.iter_mut().find(|entry| entry.0 == 10).unwrap().1 = strings.len() as u64;
    section_at(&mut elf, ".dynstr", start, place(start) as u64, strings.len() as u64);
    let mut headers = Vec::new();
    if !shape.grows {
        let first_end = if shape.split && moves { note_end } else { all_end };
        let flags = if moves && !shape.split { RW } else { R };
        headers.push((1, flags, start, first_end, page));
        if shape.split && moves {
            headers.push((1, RW, table_at, all_end, page));
        }
    }
    if let Some(note) = note {
        elf.0[place(note_at)..place(note_end)].copy_from_slice(&note.bytes);
        headers.push((4, R, note_at, note_end, 4));
    }
    let added: Vec<_> = headers.into_iter().map(|header| (header, place(header.2) as u64)).collect();
    insert_headers(&mut elf, &added);
    if moves {
        elf.0[old_at..old_at + old_size].fill(0);
        move_dynamic(&mut elf, table_at, place(table_at), table_size, shape.follows);
    }
    elf.put_entries(&entries);
    if let Some(note) = note {
        add_section(&mut elf, &note.section, 2, (note_at, place(note_at) as u64, note.bytes.len() as u64));
    }
    let content = elf.0.len() as u64;
    let note = our_note();
    elf.0.extend(&note);
    add_section(&mut elf, ".note.coldstart", 0, (0, content, note.len() as u64));
    elf
}

/// A note that identifies some file, and checks itself (docs/formats/rewrite-note.md).
fn our_note() -> Vec<u8> {
    let mut note =
        [&10_u32.to_le_bytes()[..], &48_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"coldstart\0\0\0"].concat();
    note.extend([0; 48]);
    let check = blake3::hash(&note);
    note[64..].copy_from_slice(&check.as_bytes()[..8]);
    note
}

/// Tags of tables that may slide.
const PLACES: [u64; 6] = [4, 5, 6, 0x6fff_fef5, 0x6fff_fff0, 0x6fff_fffe];

/// The strings and entries that an edit asks for.
fn content(original: &Elf, edit: &SearchEdit) -> (Vec<u8>, Vec<(u64, u64)>) {
    let at = original.offset(original.tag(5).unwrap());
    let mut strings = original.0[at..at + original.tag(10).unwrap() as usize].to_vec();
    let mut name = |wanted: &[u8]| {
        let wanted = [wanted, b"\0"].concat();
        let found = strings.windows(wanted.len()).position(|window| window == wanted);
        found.unwrap_or_else(|| {
            strings.extend(&wanted);
            strings.len() - wanted.len()
        }) as u64
    };
    let mut entries: Vec<(u64, u64)> = edit.needed.iter().map(|wanted| (1, name(wanted))).collect();
    if let Some(path) = &edit.path {
        entries.push((if path.kind == PathKind::Rpath { 15 } else { 29 }, name(&path.text)));
    }
    if let Some(audit) = &edit.audit {
        entries.push((0x6fff_fefc, name(audit)));
    }
    let set = [1, 15, 29];
    entries.extend(original.entries().into_iter().filter(|entry| !set.contains(&entry.0)));
    (strings, entries)
}

/// Moves everything between the program headers and the strings up.
fn slide(elf: &mut Elf, by: u64) {
    let first = elf.word(32) + 56 * elf.number(56, 2);
    let strings = elf.tag(5).unwrap();
    let at = elf.offset(strings);
    let base = strings - at as u64;
    let size = elf.tag(10).unwrap();
    assert!(by <= size, "{by} bytes for headers, but the strings have {size}");
    let inside = move |address: u64| (base + first..strings).contains(&address);
    elf.0.copy_within(first as usize..at, (first + by) as usize);
    elf.0[first as usize..(first + by) as usize].fill(0);
    let end = at + by as usize;
    elf.0[end..at + size as usize].fill(0);
    for kind in [3, 4, 0x6474_e553] {
        for header in elf.segments(kind) {
            for field in [P_OFFSET.0, P_VADDR.0, 24] {
                elf.put(header + field, 8, elf.word(header + field) + by);
            }
        }
    }
    for (number, (tag, value)) in elf.entries().into_iter().enumerate() {
        if PLACES.contains(&tag) && tag != 5 && inside(value) {
            let place = elf.dynamic().0 + 16 * number + 8;
            elf.put(place, 8, value + by);
        }
    }
    let table = elf.word(40) as usize;
    for section in 1..elf.number(60, 2) as usize {
        let header = table + 64 * section;
        if elf.word(header + 8) & 2 != 0 && inside(elf.word(header + 16)) {
            let [address, offset] = [16, 24].map(|field| elf.word(header + field) + by);
            symbols_of(elf, section, |value| value + by);
            elf.put(header + 16, 8, address);
            elf.put(header + 24, 8, offset);
        }
    }
}

/// Changes the values of the static symbols of a section.
fn symbols_of(elf: &mut Elf, section: usize, change: impl Fn(u64) -> u64) {
    let Some(_) = elf.section(".symtab") else { return };
    for at in elf.content(".symtab").step_by(24) {
        if elf.number(at + 6, 2) as usize == section {
            elf.put(at + 8, 8, change(elf.word(at + 8)));
        }
    }
}

fn section_at(elf: &mut Elf, name: &str, address: u64, offset: u64, size: u64) {
    let Some(header) = elf.section(name) else { return };
    let old = elf.word(header + 16);
    let number = (header - elf.word(40) as usize) / 64;
    symbols_of(elf, number, |value| value.wrapping_sub(old).wrapping_add(address));
    for (field, value) in [(16, address), (24, offset), (32, size)] {
        elf.put(header + field, 8, value);
    }
}

/// Adds headers: kind, flags, first address, end, alignment; and offset. Segments behind the last one that is loaded.
type NewHeader = ((u64, u64, u64, u64, u64), u64);

fn insert_headers(elf: &mut Elf, added: &[NewHeader]) {
    let table = elf.word(32) as usize;
    let count = elf.number(56, 2) as usize;
    let at = elf.segments(1).last().unwrap() + 56;
    elf.0.copy_within(at..table + 56 * count, at + 56 * added.len());
    for (number, ((kind, flags, start, end, align), offset)) in added.iter().enumerate() {
        let at = at + 56 * number;
        elf.put(at, 4, *kind);
        elf.put(at + 4, 4, *flags);
        let fields = [*offset, *start, *start, end - start, end - start, *align];
        for (number, value) in fields.into_iter().enumerate() {
            elf.put(at + 8 + 8 * number, 8, value);
        }
    }
    elf.put(56, 2, (count + added.len()) as u64);
    let size = 56 * (count + added.len()) as u64;
    for header in elf.segments(6) {
        elf.put(header + P_FILESZ.0, 8, size);
        elf.put(header + P_MEMSZ.0, 8, size);
    }
}

fn move_dynamic(elf: &mut Elf, address: u64, offset: usize, size: u64, follows: bool) {
    let header = elf.segments(2)[0];
    let old = elf.word(header + P_VADDR.0);
    for (field, value) in
        [(P_OFFSET.0, offset as u64), (P_VADDR.0, address), (24, address), (P_FILESZ.0, size), (P_MEMSZ.0, size)]
    {
        elf.put(header + field, 8, value);
    }
    section_at(elf, ".dynamic", address, offset as u64, size);
    for name in [".got", ".got.plt"] {
        if follows && elf.section(name).is_some() {
            let at = elf.content(name).start;
            if elf.word(at) == old {
                elf.put(at, 8, address);
            }
        }
    }
}

/// Writes a new table of section headers, with one more, at the end of the file.
pub(crate) fn add_section(elf: &mut Elf, name: &str, flags: u64, (address, offset, size): (u64, u64, u64)) {
    let (table, count) = (elf.word(40) as usize, elf.number(60, 2) as usize);
    let names_header = table + 64 * elf.number(62, 2) as usize;
    let (at, length) = (elf.word(names_header + 24) as usize, elf.word(names_header + 32) as usize);
    let mut names = elf.0[at..at + length].to_vec();
    elf.0[at..at + length].fill(0);
    let name_at = names.len();
    names.extend(name.as_bytes());
    names.push(0);
    elf.put(names_header + 24, 8, elf.0.len() as u64);
    elf.put(names_header + 32, 8, names.len() as u64);
    elf.0.extend(names);
    elf.0.resize(elf.0.len().next_multiple_of(8), 0);
    let mut headers = elf.0[table..table + 64 * count].to_vec();
    elf.0[table..table + 64 * count].fill(0);
    let mut header = vec![0; 64];
    header[..4].copy_from_slice(&(name_at as u32).to_le_bytes());
    header[4] = 7;
    header[8] = flags as u8;
    for (field, value) in [(16, address), (24, offset), (32, size), (48, 4)] {
        header[field..field + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    headers.extend(header);
    elf.put(40, 8, elf.0.len() as u64);
    elf.put(60, 2, count as u64 + 1);
    elf.0.extend(headers);
}

/// A program, an edit of its search that is proven, and the output, with room to damage behind the strings: the table stands
/// on a page of its own.
pub(crate) fn scene(shape: Shape) -> (Elf, SearchEdit, Elf) {
    let original = program("bfd", &["-pie", "-Wl,-z,lazy"]);
    let edit = edit(&original, 3);
    let mut output = write(&original, &edit, shape);
    output.0.extend([0; 64]);
    proof(&original, &output, &edit).unwrap();
    (original, edit, output)
}
