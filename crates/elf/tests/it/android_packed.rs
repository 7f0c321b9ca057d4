//! Android's packed relocations as lld writes them: the same as those of the same library without packing.
//!
//! Packing makes the table smaller, so a linker script keeps the places that are relocated where they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use coldstart_elf::{ElfFile, PackedForm};
use coldstart_testing::skip;

const SOURCE: &str = "
extern int imported(int); int a, b, c; static int hidden;
int *table[64] = { &a, &b, &c, &a, &b, &c }; int *near[] = { &hidden, &hidden + 1, &hidden + 70, &hidden, &hidden };
int (*function)(int) = imported;
int use(int x) { return *table[x] + function(x) + *near[x & 3]; }
";

const SCRIPT: &str = "
SECTIONS {
  . = SIZEOF_HEADERS;
  .text : { *(.text .text.*) }
  . = 0x20000;
  .data : { *(.data .data.*) }
  .got : { *(.got) }
  .bss : { *(.bss) }
  .dynamic : { *(.dynamic) }
}
";

#[test]
fn what_lld_packs_is_unpacked_to_what_it_would_have_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.c"), SOURCE).unwrap();
    fs::write(at("fixed.lds"), SCRIPT).unwrap();
    for (option, emulation, form) in [("-m64", "elf_x86_64", PackedForm::Rela), ("-m32", "elf_i386", PackedForm::Rel)] {
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-fPIC", option, "-ffreestanding", "-c", "-o"]).arg(at("a.o")).arg(at("a.c"));
        let compiled = gcc.status().expect("gcc");
        assert!(compiled.success());
        for (packing, name) in [("none", "plain.so"), ("android", "packed.so")] {
            let linked = Command::new("ld.lld")
                .args(["-shared", "-z", "norelro", "-m", emulation, "-T"])
                .arg(at("fixed.lds"))
                .arg(format!("--pack-dyn-relocs={packing}"))
                .arg("-o")
                .arg(at(name))
                .arg(at("a.o"))
                .status();
            let Ok(linked) = linked else { return skip("there is no ld.lld") };
            assert!(linked.success());
        }
        let expected = readelf_relocations(&at("plain.so"), form);
        assert!(expected.len() > 10, "{expected:?}");
        assert_eq!(packed_relocations(&at("packed.so"), form), expected);
        assert_eq!(packed_relocations(&at("plain.so"), form), BTreeSet::new());
    }
}

/// Place, info and addend.
type Relocations = BTreeSet<(u64, u64, Option<i64>)>;

fn packed_relocations(path: &Path, form: PackedForm) -> Relocations {
    let bytes = fs::read(path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let other = if form == PackedForm::Rel { PackedForm::Rela } else { PackedForm::Rel };
    assert!(file.android_packed_relocations(&dynamic, other).unwrap().is_none());
    let Some(table) = file.android_packed_relocations(&dynamic, form).unwrap() else { return BTreeSet::new() };
    let relocations: Relocations = table
        .iter()
        .map(|relocation| relocation.unwrap())
        .map(|relocation| (relocation.offset.0, relocation.info, relocation.addend))
        .collect();
    assert_eq!(relocations.len() as u64, table.count());
    relocations
}

/// Lines like `000000020000  000100000001 R_X86_64_64  0000000000000000 imported + 0`.
fn readelf_relocations(path: &Path, form: PackedForm) -> Relocations {
    let output = Command::new("readelf").env("LC_ALL", "C").arg("-rW").arg(path).output().expect("readelf");
    let text = String::from_utf8(output.stdout).unwrap();
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let info = u64::from_str_radix(words.next()?, 16).ok()?;
        let last = words.next_back()?;
        // A negative addend is written as `symbol - 8`, or as its 64 bits when there is no symbol.
        let addend = u64::from_str_radix(last, 16).map(|addend| addend as i64);
        let is_negative = words.next_back() == Some("-");
        let addend = (form == PackedForm::Rela).then(|| addend.unwrap() * if is_negative { -1 } else { 1 });
        Some((offset, info, addend))
    };
    text.lines().filter(|line| line.contains("R_")).filter_map(parse).collect()
}
