//! Small libraries linked by each linker, a minimal packer that moves nothing, and a way to damage files by name.
//!
//! All for 64-bit little-endian files: what differs in others is held by the files of a distribution.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Words that are relative relocations, symbolic ones, thread-local and zero-filled memory, a function that does nothing.
pub(crate) const SOURCE: &str = r#"
static int one = 1, two = 2;
static int *const words[40] = {&one, &two, &one, 0, &two, &one, &one, &two, &one, &two, 0, 0, 0, &one};
extern int outside;
int *other = &outside;
int *const *get_words(void) { return words; }
int zeros[3000];
_Thread_local int of_thread = 5;
int *of_this_thread(void) { return &of_thread; }
void _fini(void) {}
int add(int first, int second) { return first + second + one + two + zeros[first]; }
"#;

/// The linkers that are installed; at least one.
pub(crate) fn linkers() -> Vec<&'static str> {
    let (found, missing): (Vec<_>, Vec<_>) =
        ["bfd", "gold", "lld", "mold"].into_iter().partition(|linker| build_with(linker, &[]).is_some());
    if !missing.is_empty() {
        coldstart_testing::skip(&format!("no linker {}", missing.join(", ")));
    }
    assert!(!found.is_empty());
    found
}

/// The library, linked by one of them.
pub(crate) fn build(linker: &str) -> Elf {
    build_with(linker, &[]).unwrap()
}

pub(crate) fn build_with(linker: &str, flags: &[&str]) -> Option<Elf> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("library.c");
    std::fs::write(&source, SOURCE).unwrap();
    let library = folder.path().join("library.so");
    compile(&source, &library, linker, flags).then(|| Elf(std::fs::read(&library).unwrap()))
}

fn compile(source: &Path, library: &Path, linker: &str, flags: &[&str]) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-fPIC", "-shared", "-nostdlib", "-g0", "-Wl,--hash-style=both,--build-id,-z,now"]);
    gcc.arg(format!("-fuse-ld={linker}")).args(flags).arg("-o").arg(library).arg(source);
    gcc.output().is_ok_and(|output| output.status.success())
}

/// A program or library with the C library, and enough relative relocations to be worth packing.
pub(crate) fn build_program(linker: &str, kind: &str) -> Elf {
    let folder = tempfile::tempdir().unwrap();
    let (source, output) = (folder.path().join("program.c"), folder.path().join("program"));
    let words: String = (0..3000).map(|number| format!("&numbers[{number}],")).collect();
    let text = format!(
        "#include <stdio.h>\nstatic int numbers[3000] = {{1}};\nint *words[] = {{{words}}};\n\
         int main(int count, char **arguments) {{ return printf(\"%d %s\", *words[count], arguments[0]) < 0; }}\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-fPIC", kind]).arg(format!("-fuse-ld={linker}")).arg("-o").arg(&output).arg(&source);
    assert!(gcc.status().unwrap().success());
    Elf(std::fs::read(&output).unwrap())
}

/// The bytes of a file, with its fields by name.
#[derive(Clone)]
pub(crate) struct Elf(pub(crate) Vec<u8>);

/// Offset of a field in a program header, and its size.
pub(crate) const P_TYPE: (usize, usize) = (0, 4);
pub(crate) const P_FLAGS: (usize, usize) = (4, 4);
pub(crate) const P_OFFSET: (usize, usize) = (8, 8);
pub(crate) const P_VADDR: (usize, usize) = (16, 8);
pub(crate) const P_FILESZ: (usize, usize) = (32, 8);
pub(crate) const P_MEMSZ: (usize, usize) = (40, 8);
pub(crate) const P_ALIGN: (usize, usize) = (48, 8);

impl Elf {
    pub(crate) fn number(&self, at: usize, size: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.0[at..at + size]);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn word(&self, at: usize) -> u64 {
        self.number(at, 8)
    }

    pub(crate) fn put(&mut self, at: usize, size: usize, value: u64) {
        self.0[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// Places of the program headers of a type.
    pub(crate) fn segments(&self, kind: u64) -> Vec<usize> {
        let all = (0..self.number(56, 2) as usize).map(|number| self.word(32) as usize + 56 * number);
        all.filter(|at| self.number(*at, 4) == kind).collect()
    }

    /// The place in the file of an address.
    pub(crate) fn offset(&self, address: u64) -> usize {
        let loads = self.segments(1);
        let load = loads.into_iter().find(|at| {
            let start = self.word(at + P_VADDR.0);
            (start..start + self.word(at + P_FILESZ.0)).contains(&address)
        });
        let load = load.unwrap_or_else(|| panic!("{address:#x} is not in the file"));
        (address - self.word(load + P_VADDR.0) + self.word(load + P_OFFSET.0)) as usize
    }

    /// Place and size of the dynamic table.
    pub(crate) fn dynamic(&self) -> (usize, usize) {
        let segment = self.segments(2)[0];
        (self.word(segment + P_OFFSET.0) as usize, self.word(segment + P_FILESZ.0) as usize)
    }

    /// Tags and values up to the end.
    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let (at, size) = self.dynamic();
        let all = (at..at + size).step_by(16).map(|at| (self.word(at), self.word(at + 8)));
        all.take_while(|entry| entry.0 != 0).collect()
    }

    pub(crate) fn put_entries(&mut self, entries: &[(u64, u64)]) {
        let (at, size) = self.dynamic();
        assert!(entries.len() * 16 < size, "no room for {} entries in {size} bytes", entries.len());
        self.0[at..at + size].fill(0);
        for (number, (tag, value)) in entries.iter().enumerate() {
            self.put(at + 16 * number, 8, *tag);
            self.put(at + 16 * number + 8, 8, *value);
        }
    }

    pub(crate) fn tag(&self, tag: u64) -> Option<u64> {
        self.entries().into_iter().find(|entry| entry.0 == tag).map(|entry| entry.1)
    }

    pub(crate) fn edit_entries(&mut self, edit: impl FnOnce(&mut Vec<(u64, u64)>)) {
        let mut entries = self.entries();
        edit(&mut entries);
        self.put_entries(&entries);
    }

    pub(crate) fn set_tag(&mut self, tag: u64, value: u64) {
        self.edit_entries(|entries| entries.iter_mut().find(|entry| entry.0 == tag).unwrap().1 = value);
    }

    /// The place of the header of the section with a name.
    pub(crate) fn section(&self, name: &str) -> Option<usize> {
        let (table, count, names) = (self.word(40) as usize, self.number(60, 2) as usize, self.number(62, 2) as usize);
        let names = self.word(table + 64 * names + 24) as usize;
        (0..count).map(|number| table + 64 * number).find(|at| {
            let start = names + self.number(*at, 4) as usize;
            self.0[start..].split(|byte| *byte == 0).next() == Some(name.as_bytes())
        })
    }

    /// Content of a section in the file.
    pub(crate) fn content(&self, name: &str) -> std::ops::Range<usize> {
        let at = self.section(name).unwrap_or_else(|| panic!("no section {name}"));
        let start = self.word(at + 24) as usize;
        start..start + self.word(at + 32) as usize
    }
}

/// What RELR calls the words at these addresses.
fn encode(addresses: &[u64]) -> Vec<u64> {
    let mut words = Vec::new();
    let mut rest = addresses.iter().copied().peekable();
    while let Some(first) = rest.next() {
        words.push(first);
        let mut base = first + 8;
        loop {
            let mut bits = 0_u64;
            while let Some(address) = rest.next_if(|address| *address < base + 63 * 8 && (address - base) % 8 == 0) {
                bits |= 1 << ((address - base) / 8);
            }
            if bits == 0 {
                break;
            }
            words.push((bits << 1) | 1);
            base += 63 * 8;
        }
    }
    words
}

/// Packs a file in place: the RELR table stands where relative relocations stood, and nothing moves.
pub(crate) fn pack_in_place(original: &Elf) -> Elf {
    let mut elf = original.clone();
    let (table, size) = (elf.tag(7).unwrap(), elf.tag(8).unwrap() as usize);
    let at = elf.offset(table);
    let records: Vec<[u64; 3]> =
        (at..at + size).step_by(24).map(|at| [elf.word(at), elf.word(at + 8), elf.word(at + 16)]).collect();
    let (mut relative, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record[1] == 8);
    relative.sort_unstable();
    elf.0[at..at + size].fill(0);
    for (number, record) in others.iter().enumerate() {
        for (field, value) in record.iter().enumerate() {
            elf.put(at + 24 * number + 8 * field, 8, *value);
        }
    }
    let relr = encode(&relative.iter().map(|record| record[0]).collect::<Vec<_>>());
    let others_size = 24 * others.len();
    assert!(!others.is_empty() && others_size + 8 * relr.len() <= size);
    for (number, word) in relr.iter().enumerate() {
        elf.put(at + others_size + 8 * number, 8, *word);
    }
    for record in &relative {
        let word = elf.offset(record[0]);
        elf.put(word, 8, record[2]);
    }
    // The words are in .data.rel.ro; what the loader reads of them is what RELR left there.
    let (_, room) = elf.dynamic();
    elf.edit_entries(|entries| {
        entries.retain(|entry| entry.0 != 0x6fff_fff9);
        entries.iter_mut().find(|entry| entry.0 == 8).unwrap().1 = others_size as u64;
        for removable in [11, 30] {
            if (entries.len() + 4) * 16 > room {
                entries.retain(|entry| entry.0 != removable);
            }
        }
        entries.extend([(36, table + others_size as u64), (35, 8 * relr.len() as u64), (37, 8)]);
    });
    let section = elf.section(".rela.dyn").unwrap();
    elf.put(section + 32, 8, others_size as u64);
    elf
}

/// Places in loaded segments, each with the bit that may be turned there and the output is proven nevertheless.
pub(crate) fn unchecked_bits(
    original: &Elf,
    output: &Elf,
    is_free: impl Fn(usize) -> bool,
    is_proven: impl Fn(&Elf) -> bool,
) -> Vec<(usize, u8)> {
    let mut damaged = output.clone();
    let mut unchecked = Vec::new();
    for load in output.segments(1) {
        let (start, size) = (output.word(load + P_OFFSET.0) as usize, output.word(load + P_FILESZ.0) as usize);
        for at in (start..start + size).filter(|at| !is_free(*at)) {
            let bit = 1 << (at.wrapping_mul(0x9e37_79b9) >> 13 & 7);
            damaged.0[at] ^= bit;
            // Where nothing is any more, there may be what was there before.
            if is_proven(&damaged) && original.0.get(at) != Some(&damaged.0[at]) {
                unchecked.push((at, bit));
            }
            damaged.0[at] ^= bit;
        }
    }
    unchecked
}

/// Shared libraries of this machine, an even selection of `count`.
pub(crate) fn libraries(count: usize) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains(".so") && path.is_file() && !path.is_symlink())
        .collect();
    found.sort();
    let step = (found.len() / count).max(1);
    found.into_iter().step_by(step).collect()
}
