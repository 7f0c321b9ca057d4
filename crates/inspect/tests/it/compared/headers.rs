//! Program headers, section headers and the interpreter's path.

use coldstart_elf::{Class, ElfFile, Section, SectionKind, Segment, SegmentKind};

use super::Differences;
use crate::printed::Printed;

pub(crate) fn compare(file: &ElfFile<'_>, printed: &Printed, differences: &mut Differences) {
    let interpreter = file.interpreter().map(|path| String::from_utf8_lossy(path).into_owned());
    differences.hold("interpreter", interpreter.as_ref(), printed.interpreter.as_ref());
    let ours: Vec<_> = file.segments().iter().map(|segment| ours(segment, file.encoding().machine)).collect();
    let theirs: Vec<_> = printed.segments.iter().map(|line| theirs(line)).collect();
    differences.hold_all("program headers", &ours, &theirs);
    differences.hold("number of sections", file.sections().len(), printed.sections.len());
    for (index, (section, row)) in file.sections().iter().zip(&printed.sections).enumerate() {
        compare_section(index, section, row, file, differences);
    }
    differences.hold("problem of the sections", file.section_problem(), None);
}

/// Type, then offset, address, size in the file, size in memory, alignment; then flags.
type SegmentRow = (String, [u64; 5], String);

fn ours(segment: &Segment, machine: u16) -> SegmentRow {
    const MIPS: u16 = 8;
    let name = match segment.kind {
        SegmentKind::Load => "LOAD",
        SegmentKind::Dynamic => "DYNAMIC",
        SegmentKind::Interpreter => "INTERP",
        SegmentKind::Note => "NOTE",
        SegmentKind::ProgramHeaders => "PHDR",
        SegmentKind::ThreadLocal => "TLS",
        SegmentKind::EhFrameHeader => "GNU_EH_FRAME",
        SegmentKind::Stack => "GNU_STACK",
        SegmentKind::Relro => "GNU_RELRO",
        SegmentKind::Property => "GNU_PROPERTY",
        SegmentKind::Other(0) => "NULL",
        SegmentKind::Other(0x7000_0000) if machine == MIPS => "REGINFO",
        SegmentKind::Other(0x7000_0003) if machine == MIPS => "ABIFLAGS",
        SegmentKind::Other(0x7000_0001) if machine == ARM => "EXIDX",
        SegmentKind::Other(0x7000_0003) if machine == RISCV => "RISCV_ATTRIBUT",
        SegmentKind::Other(0x65a3_dbe5) => "OPENBSD_MUTABLE",
        SegmentKind::Other(other) => {
            return (unknown_segment(other), numbers(segment), flags(segment));
        }
    };
    (name.to_owned(), numbers(segment), flags(segment))
}

/// The form of types without a name, cut off after 14 characters.
fn unknown_segment(kind: u32) -> String {
    let mut name = match kind {
        0x6000_0000..=0x6fff_ffff => format!("LOOS+{:#x}", kind - 0x6000_0000),
        0x7000_0000..=0x7fff_ffff => format!("LOPROC+{:#x}", kind - 0x7000_0000),
        _ => format!("<unknown>: {kind:x}"),
    };
    name.truncate(14);
    name
}

fn numbers(segment: &Segment) -> [u64; 5] {
    [segment.offset.0, segment.address.0, segment.file_size, segment.memory_size, segment.alignment]
}

fn flags(segment: &Segment) -> String {
    let all = [(segment.is_readable(), 'R'), (segment.is_writable(), 'W'), (segment.is_executable(), 'E')];
    all.into_iter().filter(|(has, _)| *has).map(|(_, letter)| letter).collect()
}

/// `TYPE OFFSET ADDRESS PHYSICAL FILESIZE MEMORYSIZE FLAGS ALIGNMENT`, with blanks among the flags.
fn theirs(line: &str) -> SegmentRow {
    // A type may begin with digits, but not with what a number begins with.
    let (kind, rest) = line.split_once(" 0x").unwrap();
    let rest = format!("0x{rest}");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    let [offset, address, _, file_size, memory_size, flags @ .., alignment] = words.as_slice() else {
        panic!("a program header of another form: {line}");
    };
    let numbers = [offset, address, file_size, memory_size, alignment].map(|word| number(word));
    (kind.trim().to_owned(), numbers, flags.concat())
}

/// `NAME TYPE ADDRESS OFFSET SIZE ...`.
fn compare_section(index: usize, section: &Section<'_>, row: &str, file: &ElfFile<'_>, differences: &mut Differences) {
    let (name, header) = (String::from_utf8_lossy(section.name), &section.header);
    let Some(rest) = row.strip_prefix(&*name) else {
        differences.0.push(format!("section {index}: its name is {name:?}, but readelf says {row:?}"));
        return;
    };
    let digits = if file.encoding().class == Class::Elf64 { 16 } else { 8 };
    let numbers = format!("{:0digits$x} {:06x} {:06x} ", header.address.0, header.offset.0, header.size);
    // The columns' widths are minima, so that long names and types move those that follow.
    match rest.split_once(&numbers) {
        Some((kind, _)) => {
            let (kind, expected) = (kind.trim(), section_type(header.kind, file.encoding().machine));
            differences.hold(&format!("type of section {index}"), expected.as_str(), kind);
        }
        None => differences.0.push(format!("section {index} is at {numbers}, but readelf says {row:?}")),
    }
}

/// `EM_ARM`.
const ARM: u16 = 40;
/// `EM_RISCV`.
const RISCV: u16 = 243;

fn section_type(kind: SectionKind, machine: u16) -> String {
    let name = match kind {
        SectionKind::Null => "NULL",
        SectionKind::Program => "PROGBITS",
        SectionKind::SymbolTable => "SYMTAB",
        SectionKind::DynamicSymbols => "DYNSYM",
        SectionKind::Strings => "STRTAB",
        SectionKind::Rel => "REL",
        SectionKind::Rela => "RELA",
        SectionKind::Relr => "RELR",
        SectionKind::Zeros => "NOBITS",
        SectionKind::Note => "NOTE",
        SectionKind::InitArray => "INIT_ARRAY",
        SectionKind::FiniArray => "FINI_ARRAY",
        SectionKind::PreinitArray => "PREINIT_ARRAY",
        SectionKind::Other(other) => return other_section_type(other, machine),
    };
    name.to_owned()
}

/// Types that make no difference here, by their numbers.
fn other_section_type(kind: u32, machine: u16) -> String {
    const X86_64: u16 = 62;
    const MIPS: u16 = 8;
    const ARC_COMPACT2: u16 = 195;
    let name = match (kind, machine) {
        (5, _) => "HASH",
        (6, _) => "DYNAMIC",
        (17, _) => "GROUP",
        (18, _) => "SYMTAB SECTION INDICES",
        (0x6fff_fff5, _) => "GNU_ATTRIBUTES",
        (0x6fff_fff6, _) => "GNU_HASH",
        (0x6fff_fff7, _) => "GNU_LIBLIST",
        (0x6fff_fffd, _) => "VERDEF",
        (0x6fff_fffe, _) => "VERNEED",
        (0x6fff_ffff, _) => "VERSYM",
        (0x7000_0001, X86_64) => "X86_64_UNWIND",
        (0x7000_0001, ARM) => "ARM_EXIDX",
        (0x7000_0003, ARM) => "ARM_ATTRIBUTES",
        (0x7000_0003, RISCV) => "RISCV_ATTRIBUTES",
        (0x7000_0001, ARC_COMPACT2) => "ARC_ATTRIBUTES",
        (0x7000_0006, MIPS) => "MIPS_REGINFO",
        (0x7000_000d, MIPS) => "MIPS_OPTIONS",
        (0x7000_001e, MIPS) => "MIPS_DWARF",
        (0x7000_002a, MIPS) => "MIPS_ABIFLAGS",
        (0x6000_0000..=0x6fff_ffff, _) => return format!("LOOS+{:#x}", kind - 0x6000_0000),
        (0x7000_0000..=0x7fff_ffff, _) => return format!("LOPROC+{:#x}", kind - 0x7000_0000),
        _ => return format!("{kind:08x}: <unknown>"),
    };
    name.to_owned()
}
