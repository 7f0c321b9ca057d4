//! Names of relocation types on every machine that has a dynamic loader, against `readelf` (package `binutils`): a library
//! made by hand has one relocation of each type. What other machines' libraries have is seldom at hand.

use coldstart_elf::{RelocationClass, relocation_type_name};

use crate::built::{folder, readelf};
use crate::by_hand::Form;

/// `EM_*`, class, byte order, and whether records have addends.
const MACHINES: &[(&str, u16, bool, bool, bool)] = &[
    ("x86-64", 62, true, false, true),
    ("i386", 3, false, false, false),
    ("arm", 40, false, false, false),
    ("aarch64", 183, true, false, true),
    ("riscv", 243, true, false, true),
    ("s390", 22, true, true, true),
    ("ppc64", 21, true, false, true),
    ("ppc", 20, false, true, true),
    ("mips", 8, false, true, false),
    ("loongarch", 258, true, false, true),
    ("sparc64", 43, true, true, true),
    ("m68k", 4, false, true, true),
    ("sh", 42, false, false, true),
    ("parisc", 15, false, true, true),
];

/// How the names of types end that only loaders meet.
const FOR_LOADERS: &[&str] = &[
    "_RELATIVE",
    "_IRELATIVE",
    "_GLOB_DAT",
    "_JUMP_SLOT",
    "_JMP_SLOT",
    "_COPY",
    "_TLSDESC",
    "_TLS_DESC",
    "DTPMOD64",
    "DTPMOD32",
];

#[test]
fn types_that_a_loader_meets_have_the_names_that_readelf_prints() {
    let folder = folder();
    let mut problems = Vec::new();
    for (name, machine, is_64, is_big, has_addends) in MACHINES {
        let form = Form { is_64: *is_64, is_big: *is_big, machine: *machine, relative: 0 };
        let kinds: Vec<u32> = (0..if *name == "aarch64" { 1100 } else { 256 }).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, form.library_of(&kinds, *has_addends, 1)).unwrap();
        let text = readelf(&["-D", "-r"], &path);
        let mut seen = 0;
        for line in text.lines() {
            let mut words = line.split_whitespace().skip(1);
            let (Some(info), Some(printed)) = (words.next(), words.next().filter(|name| name.starts_with("R_"))) else {
                continue;
            };
            let kind = u32::from_str_radix(info, 16).unwrap();
            // Types for linkers alone have more names than anyone knows.
            let class = RelocationClass::of(*machine, kind);
            let is_for_loaders = FOR_LOADERS.iter().any(|end| printed.ends_with(end)) && !printed.contains("_GOTPC32_");
            let ours = relocation_type_name(*machine, kind);
            seen += u32::from(is_for_loaders);
            if (is_for_loaders || class != RelocationClass::Other) && ours != printed {
                problems.push(format!("{name}: type {kind} is {ours}, but readelf says {printed}"));
            }
            if is_for_loaders && class == RelocationClass::Other {
                problems.push(format!("{name}: the meaning of {printed} is not known"));
            }
        }
        assert!(seen >= 3, "{name}: only {seen} types in {text}");
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
