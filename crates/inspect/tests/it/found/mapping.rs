//! Findings about what is mapped, copied and aligned.

use std::path::{Path, PathBuf};

use coldstart_elf::{ElfFile, Tag};
use coldstart_inspect::{Certainty, FindingKind, Fix, Saving};

use super::{inspected, inspected_bytes, none, pages, relocations, the};
use crate::built::{build, folder, readelf, section, shared_object};

#[test]
fn code_that_is_relocated() {
    let folder = folder();
    let kind = FindingKind::TextRelocations;
    // 32-bit code that is not position-independent holds addresses.
    let source: String = std::iter::once("extern int variable;\n".to_owned())
        .chain((0..2000).map(|index| format!("int get_{index}(void) {{ return variable + {index}; }}\n")))
        .collect();
    let library = |name: &str, argument: &str| {
        let arguments = ["-m32", "-shared", "-nostdlib", "-Wl,-z,notext", argument];
        build(folder.path(), name, &source, &arguments)
    };
    let fixed = library("fixed", "-fno-pic");
    let addresses = relocations(&fixed, "R_386_32");
    assert_eq!(addresses.len(), 2000);
    let pages = pages(&addresses);
    assert!(pages > 1);
    let found = the(&inspected(&fixed), kind);
    assert_eq!(found.what, format!("2000 relocations in read-only memory, on {pages} pages"));
    assert_eq!(found.saves, Saving { private_pages: pages, ..Saving::default() });
    none(&inspected(&library("independent", "-fPIC")), kind);

    let place = "place: .quad place\n.section .note.GNU-stack\n";
    let by_hand = |name: &str, section: &str| {
        let source = format!("{section}\n.globl place\n{place}");
        inspected(&build(folder.path(), name, &source, &["-shared", "-nostdlib", "-Wl,-z,notext"]))
    };
    assert_eq!(the(&by_hand("text.s.o", ".text"), kind).what, "1 relocation in read-only memory, on 1 page");
    none(&by_hand("data.s.o", ".data"), kind);
}

#[test]
fn variables_that_a_program_copies() {
    let folder = folder();
    let kind = FindingKind::CopyRelocations;
    let variables = "int table[3000] = { 1 };\nlong number = 2;\n";
    shared_object(folder.path(), "libvariables.so", variables, &[]);
    let user = "extern int table[3000]; extern long number; int main(void) { return table[7] + (int)number; }\n";
    let search = format!("-L{}", folder.path().display());
    let program =
        |name: &str, how: &[&str]| build(folder.path(), name, user, &[how, &[search.as_str(), "-lvariables"]].concat());
    let fixed = program("fixed", &["-no-pie", "-fno-pie"]);
    assert_eq!(relocations(&fixed, "R_X86_64_COPY").len(), 2);
    let found = the(&inspected(&fixed), kind);
    assert_eq!(found.what, "2 variables copied out of libraries, 12008 bytes");
    assert_eq!(found.place, "the largest is `table` (12000 bytes)");
    // One page for each, and two more that the larger one fills.
    assert_eq!(found.saves, Saving { read_pages: 4, ..Saving::default() });
    assert_eq!(found.certainty, Certainty::UpperBound);
    let independent = program("independent", &["-pie", "-fPIC"]);
    assert!(relocations(&independent, "R_X86_64_COPY").is_empty());
    none(&inspected(&independent), kind);
}

#[test]
fn zeros_that_begin_in_a_page_of_the_file() {
    let folder = folder();
    let kind = FindingKind::BssInFilePage;
    let script = folder.path().join("script");
    std::fs::write(&script, "SECTIONS { .fill : { BYTE(0) . = ALIGN(4096); } } INSERT AFTER .data;\n").unwrap();
    let script = format!("-Wl,-T,{}", script.display());
    let library = |name: &str, source: &str, arguments: &[&str]| -> PathBuf {
        let arguments = [&["-nostdlib", "-Wl,-z,norelro"], arguments].concat();
        shared_object(folder.path(), name, &format!("char data[100] = {{ 1 }};\n{source}"), &arguments)
    };
    let plain = library("plain", "char zeros[100];\n", &[]);
    let (address, offset, bytes) = section(&plain, ".data").unwrap();
    let found = the(&inspected(&plain), kind);
    let cleared = 4096 - (address + bytes) % 4096;
    assert_eq!(found.what, format!("the zero-filled memory begins {cleared} bytes before the end of a page"));
    assert_eq!(found.place, format!("address {:#x}, page {} of the file", address + bytes, (offset + bytes) / 4096));
    // The file is so small that the read of its headers brings the page in.
    assert_eq!(found.saves, Saving { read_pages: 1, private_pages: 1, ..Saving::default() });
    let far = library("far", "char zeros[100]; const char text[1 << 20] = { 1 };\n", &[]);
    let far = the(&inspected(&far), kind);
    assert_eq!(far.saves, Saving { read_pages: 1, private_pages: 1, seeks: 1, ..Saving::default() });

    // The kernel clears the rest of the page wherever .bss begins: the file has to fill it.
    let aligned = library("aligned", "__attribute__((aligned(4096))) char zeros[100];\n", &[]);
    assert_eq!(section(&aligned, ".bss").unwrap().0 % 4096, 0);
    the(&inspected(&aligned), kind);
    none(&inspected(&library("filled", "char zeros[100];\n", &[&script])), kind);
    none(&inspected(&library("none", "", &[])), kind);
    let pointer =
        "extern char own[] __attribute__((visibility(\"hidden\"))); char own[8] = { 1 }; char *pointer = own;\n";
    let relocated = library("relocated", &["char zeros[100];\n", pointer].concat(), &[]);
    none(&inspected(&relocated), kind);
}

const MAIN: &str = "int main(void) { return 0; }\n";

fn aligned(folder: &Path, size: u64) -> PathBuf {
    let argument = format!("-Wl,-z,max-page-size={size}");
    build(folder, &size.to_string(), MAIN, &[&argument, "-Wl,-z,separate-code"])
}

/// Bytes of the file between one mapped segment and the next, by `readelf`.
fn gaps(path: &Path) -> u64 {
    let text = readelf(&["--segments"], path);
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("LOAD"));
    let segments: Vec<(u64, u64)> = lines
        .map(|line| {
            let number = |index| {
                let word: &str = line.split_whitespace().nth(index).unwrap();
                u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()
            };
            (number(1), number(1) + number(4))
        })
        .collect();
    segments.windows(2).map(|pair| pair[1].0 - pair[0].1).sum()
}

#[test]
fn padding_between_segments() {
    let folder = folder();
    let kind = FindingKind::AlignmentPadding;
    let huge = aligned(folder.path(), 2 << 20);
    let padding = gaps(&huge);
    assert!(padding > 2 << 20);
    let found = the(&inspected(&huge), kind);
    assert_eq!(
        found.what,
        format!("{padding} bytes of the file are padding between segments aligned to 2097152 bytes")
    );
    assert_eq!(found.saves, Saving { file_bytes: padding, ..Saving::default() });
    none(&inspected(&aligned(folder.path(), 4096)), kind);
    // Without pages of its own for the code there is one gap less, but what is read-only after relocation ends at such a
    // boundary still.
    let together = |name: &str, argument: &str| {
        let arguments = ["-Wl,-z,max-page-size=2097152", "-Wl,-z,noseparate-code", argument];
        build(folder.path(), name, MAIN, &arguments)
    };
    let protected = together("protected", "-Wl,-z,relro");
    let rest = the(&inspected(&protected), kind).saves.file_bytes;
    assert_eq!(rest, gaps(&protected));
    assert!(rest > 64 << 10 && rest < padding);
    let close = together("close", "-Wl,-z,norelro");
    assert!(gaps(&close) <= 64 << 10);
    none(&inspected(&close), kind);
}

#[test]
fn alignment_too_small_for_large_pages() {
    let folder = folder();
    let kind = FindingKind::SmallAlignment;
    // The same file as if it were one for another machine; what its relocations mean is then unknown.
    let for_machine = |path: &Path, machine: u16| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        inspected_bytes(&bytes)
    };
    let (small, large) = (aligned(folder.path(), 4096), aligned(folder.path(), 65_536));
    for machine in [183, 21, 258] {
        let found = the(&for_machine(&small, machine), kind);
        assert_eq!(found.place, "the segment at address 0x0 is aligned to only 4096 bytes");
        assert_eq!(found.fixes, [Fix::Linker("-z max-page-size=65536")]);
        none(&for_machine(&large, machine), kind);
    }
    none(&inspected(&small), kind);
}

#[test]
fn what_prelink_left() {
    let folder = folder();
    let kind = FindingKind::PrelinkIgnored;
    let library = shared_object(folder.path(), "library", "int f(void) { return 1; }\n", &["-nostdlib"]);
    none(&inspected(&library), kind);
    // Over the end mark; a spare entry behind it becomes the new one.
    let mut bytes = std::fs::read(&library).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    assert!(dynamic.spare_entries() >= 4);
    let end = dynamic.file_offset().0 as usize + dynamic.len() * 16;
    // Three libraries of 20 bytes each.
    let entries = [(Tag::GNU_PRELINKED.0, 1_262_304_000), (Tag::GNU_LIBLIST.0, 0), (0x6fff_fdf7, 60)];
    for (index, (tag, value)) in entries.into_iter().enumerate() {
        bytes[end + index * 16..][..8].copy_from_slice(&u64::to_le_bytes(tag));
        bytes[end + index * 16 + 8..][..8].copy_from_slice(&u64::to_le_bytes(value));
    }
    let found = the(&inspected_bytes(&bytes), kind);
    assert!(found.what.starts_with("prelinked against 3 libraries: glibc 2.36 and later ignore it"), "{found:?}");
    assert_eq!(found.saves, Saving::default());
    assert!(found.fixes.iter().all(|fix| !matches!(fix, Fix::Verb(_))), "packing does not undo it: {found:?}");
}
