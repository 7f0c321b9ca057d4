//! The table of loaders: the paths of glibc's and musl's loaders by architecture and ABI.
//!
//! A program has an interpreter. The table is for libraries, which have none, and for caches, which are written for an
//! architecture. The paths are part of each ABI: glibc's from its `shlib-versions` files and the processors' ABI documents, musl's
//! from its `configure` (`LDSO_PATHNAME`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::cache::Family;
use coldstart_loader::{Class, ObjectFacts, Rules};

use crate::Root;

/// The loaders of one ABI.
#[derive(Clone, Copy, Debug)]
struct Loaders {
    machine: u16,
    class: Class,
    little_endian: bool,
    /// Whether `e_flags` match. Objects older than a flag match all its values.
    flags: fn(u32) -> bool,
    glibc: &'static str,
    musl: Option<&'static str>,
}

const fn loaders(
    (machine, class, little_endian): (u16, Class, bool),
    flags: fn(u32) -> bool,
    glibc: &'static str,
    musl: &'static str,
) -> Loaders {
    Loaders { machine, class, little_endian, flags, glibc, musl: if musl.is_empty() { None } else { Some(musl) } }
}

const LITTLE: bool = true;
const BIG: bool = false;
const WIDE: Class = Class::Bits64;
const NARROW: Class = Class::Bits32;

const ANY: fn(u32) -> bool = |_| true;
/// ARM: `EF_ARM_ABI_FLOAT_SOFT` (0x200) and `EF_ARM_ABI_FLOAT_HARD` (0x400).
const ARM_HARD: fn(u32) -> bool = |flags| flags & 0x200 == 0;
const ARM_SOFT: fn(u32) -> bool = |flags| flags & 0x400 == 0;
/// RISC-V: `EF_RISCV_FLOAT_ABI`.
const RISCV_DOUBLE: fn(u32) -> bool = |flags| flags & 0x6 == 0x4;
const RISCV_SOFT: fn(u32) -> bool = |flags| flags & 0x6 == 0;
/// LoongArch: `EF_LOONGARCH_ABI_MODIFIER_MASK`.
const LOONGARCH_DOUBLE: fn(u32) -> bool = |flags| flags & 0x7 == 0x3;
const LOONGARCH_SOFT: fn(u32) -> bool = |flags| flags & 0x7 == 0x1;
/// PowerPC64: `EF_PPC64_ABI`, 2 for ELFv2.
const ELF_V1: fn(u32) -> bool = |flags| flags & 0x3 != 2;
const ELF_V2: fn(u32) -> bool = |flags| flags & 0x3 != 1;
/// MIPS: `EF_MIPS_ABI2` (0x20) for n32, `EF_MIPS_NAN2008` (0x400).
const OLD_NAN: fn(u32) -> bool = |flags| flags & 0x400 == 0;
const NEW_NAN: fn(u32) -> bool = |flags| flags & 0x400 != 0;
const N32: fn(u32) -> bool = |flags| flags & 0x420 == 0x20;
const N32_NEW_NAN: fn(u32) -> bool = |flags| flags & 0x420 == 0x420;
const O32: fn(u32) -> bool = |flags| flags & 0x420 == 0;
const O32_NEW_NAN: fn(u32) -> bool = |flags| flags & 0x420 == 0x400;

/// The loaders of one architecture, in the order of `ldconfig`'s build configuration.
const LOADERS: &[Loaders] = &[
    loaders((62, WIDE, LITTLE), ANY, "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"),
    loaders((3, NARROW, LITTLE), ANY, "/lib/ld-linux.so.2", "/lib/ld-musl-i386.so.1"),
    loaders((62, NARROW, LITTLE), ANY, "/libx32/ld-linux-x32.so.2", "/lib/ld-musl-x32.so.1"),
    loaders((183, WIDE, LITTLE), ANY, "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"),
    loaders((183, WIDE, BIG), ANY, "/lib/ld-linux-aarch64_be.so.1", "/lib/ld-musl-aarch64_be.so.1"),
    loaders((40, NARROW, LITTLE), ARM_HARD, "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armhf.so.1"),
    loaders((40, NARROW, LITTLE), ARM_SOFT, "/lib/ld-linux.so.3", "/lib/ld-musl-arm.so.1"),
    loaders((40, NARROW, BIG), ARM_HARD, "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armebhf.so.1"),
    loaders((40, NARROW, BIG), ARM_SOFT, "/lib/ld-linux.so.3", "/lib/ld-musl-armeb.so.1"),
    loaders((243, WIDE, LITTLE), RISCV_DOUBLE, "/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-riscv64.so.1"),
    loaders((243, WIDE, LITTLE), RISCV_SOFT, "/lib/ld-linux-riscv64-lp64.so.1", "/lib/ld-musl-riscv64-sf.so.1"),
    loaders((243, NARROW, LITTLE), RISCV_DOUBLE, "/lib/ld-linux-riscv32-ilp32d.so.1", "/lib/ld-musl-riscv32.so.1"),
    loaders((243, NARROW, LITTLE), RISCV_SOFT, "/lib/ld-linux-riscv32-ilp32.so.1", "/lib/ld-musl-riscv32-sf.so.1"),
    loaders(
        (258, WIDE, LITTLE),
        LOONGARCH_DOUBLE,
        "/lib64/ld-linux-loongarch-lp64d.so.1",
        "/lib/ld-musl-loongarch64.so.1",
    ),
    loaders(
        (258, WIDE, LITTLE),
        LOONGARCH_SOFT,
        "/lib64/ld-linux-loongarch-lp64s.so.1",
        "/lib/ld-musl-loongarch64-sf.so.1",
    ),
    loaders((21, WIDE, LITTLE), ANY, "/lib64/ld64.so.2", "/lib/ld-musl-powerpc64le.so.1"),
    loaders((20, NARROW, LITTLE), ANY, "/lib/ld.so.1", ""),
    loaders((21, WIDE, BIG), ELF_V1, "/lib64/ld64.so.1", "/lib/ld-musl-powerpc64.so.1"),
    loaders((21, WIDE, BIG), ELF_V2, "/lib64/ld64.so.2", "/lib/ld-musl-powerpc64.so.1"),
    loaders((20, NARROW, BIG), ANY, "/lib/ld.so.1", "/lib/ld-musl-powerpc.so.1"),
    loaders((22, WIDE, BIG), ANY, "/lib/ld64.so.1", "/lib/ld-musl-s390x.so.1"),
    loaders((22, NARROW, BIG), ANY, "/lib/ld.so.1", ""),
    loaders((43, WIDE, BIG), ANY, "/lib64/ld-linux.so.2", ""),
    loaders((2, NARROW, BIG), ANY, "/lib/ld-linux.so.2", ""),
    loaders((18, NARROW, BIG), ANY, "/lib/ld-linux.so.2", ""),
    loaders((8, WIDE, LITTLE), OLD_NAN, "/lib64/ld.so.1", "/lib/ld-musl-mips64el.so.1"),
    loaders((8, WIDE, LITTLE), NEW_NAN, "/lib64/ld-linux-mipsn8.so.1", "/lib/ld-musl-mips64el.so.1"),
    loaders((8, NARROW, LITTLE), N32, "/lib32/ld.so.1", "/lib/ld-musl-mipsn32el.so.1"),
    loaders((8, NARROW, LITTLE), N32_NEW_NAN, "/lib32/ld-linux-mipsn8.so.1", "/lib/ld-musl-mipsn32el.so.1"),
    loaders((8, NARROW, LITTLE), O32, "/lib/ld.so.1", "/lib/ld-musl-mipsel.so.1"),
    loaders((8, NARROW, LITTLE), O32_NEW_NAN, "/lib/ld-linux-mipsn8.so.1", "/lib/ld-musl-mipsel.so.1"),
    loaders((8, WIDE, BIG), OLD_NAN, "/lib64/ld.so.1", "/lib/ld-musl-mips64.so.1"),
    loaders((8, WIDE, BIG), NEW_NAN, "/lib64/ld-linux-mipsn8.so.1", "/lib/ld-musl-mips64.so.1"),
    loaders((8, NARROW, BIG), N32, "/lib32/ld.so.1", "/lib/ld-musl-mipsn32.so.1"),
    loaders((8, NARROW, BIG), N32_NEW_NAN, "/lib32/ld-linux-mipsn8.so.1", "/lib/ld-musl-mipsn32.so.1"),
    loaders((8, NARROW, BIG), O32, "/lib/ld.so.1", "/lib/ld-musl-mips.so.1"),
    loaders((8, NARROW, BIG), O32_NEW_NAN, "/lib/ld-linux-mipsn8.so.1", "/lib/ld-musl-mips.so.1"),
    loaders((50, WIDE, LITTLE), ANY, "/lib/ld-linux-ia64.so.2", ""),
    loaders((0x9026, WIDE, LITTLE), ANY, "/lib/ld-linux.so.2", ""),
    loaders((15, NARROW, BIG), ANY, "/lib/ld.so.1", ""),
    loaders((4, NARROW, BIG), ANY, "/lib/ld.so.1", "/lib/ld-musl-m68k.so.1"),
    loaders((42, NARROW, LITTLE), ANY, "/lib/ld-linux.so.2", "/lib/ld-musl-sh.so.1"),
    loaders((42, NARROW, BIG), ANY, "/lib/ld-linux.so.2", "/lib/ld-musl-sheb.so.1"),
    loaders((92, NARROW, BIG), ANY, "/lib/ld-linux-or1k.so.1", "/lib/ld-musl-or1k.so.1"),
    loaders((93, NARROW, LITTLE), ANY, "/lib/ld-linux-arc.so.2", ""),
    loaders((195, NARROW, LITTLE), ANY, "/lib/ld-linux-arc.so.2", ""),
    loaders((113, NARROW, LITTLE), ANY, "/lib/ld-linux-nios2.so.1", ""),
    loaders((189, NARROW, LITTLE), ANY, "/lib/ld.so.1", "/lib/ld-musl-microblazeel.so.1"),
    loaders((189, NARROW, BIG), ANY, "/lib/ld.so.1", "/lib/ld-musl-microblaze.so.1"),
    loaders((252, NARROW, LITTLE), ANY, "/lib/ld-linux-cskyv2.so.1", ""),
    loaders((252, NARROW, LITTLE), ANY, "/lib/ld-linux-cskyv2-hf.so.1", ""),
];

impl Loaders {
    fn fit(&self, facts: &ObjectFacts) -> bool {
        (self.machine, self.class, self.little_endian) == (facts.machine, facts.class, facts.little_endian)
            && (self.flags)(facts.flags)
    }
}

/// The object's interpreter, or else the loader of its ABI in this root: the first that exists, or the first of all.
///
/// For an object that needs musl's C library, musl's loader comes first.
pub fn loader_of(facts: &ObjectFacts, root: &Root) -> Option<PathBuf> {
    if let Some(named) = &facts.interpreter {
        return Some(PathBuf::from(OsStr::from_bytes(named)));
    }
    // musl's C library is `libc.so`, or `libc.musl-x86_64.so.1`; glibc's is `libc.so.6`.
    let is_for_musl = facts.needed.iter().any(|needed| needed == b"libc.so" || needed.starts_with(b"libc.musl-"));
    let fitting = || LOADERS.iter().filter(|loaders| loaders.fit(facts));
    let glibc = fitting().map(|loaders| loaders.glibc);
    let musl = fitting().filter_map(|loaders| loaders.musl);
    let all: Vec<&str> = if is_for_musl { musl.chain(glibc).collect() } else { glibc.chain(musl).collect() };
    let is_there = |path: &&&str| root.is_regular(Path::new(path));
    all.iter().find(is_there).or(all.first()).map(PathBuf::from)
}

/// The paths of glibc's loaders that share a cache, in the order in which their release is examined.
pub fn loaders_of_family(family: &Family) -> Vec<&'static Path> {
    let mut paths: Vec<&'static Path> = Vec::new();
    let of_family = |loaders: &&Loaders| {
        family.little_endian == loaders.little_endian && family.machines.contains(&loaders.machine)
    };
    for loaders in LOADERS.iter().filter(of_family) {
        let path = Path::new(loaders.glibc);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The C library of a loader by its file name; `None` for other names.
pub fn rules_of_loader(file_name: &[u8]) -> Option<Rules> {
    if file_name.starts_with(b"ld-musl-") {
        return Some(Rules::Musl);
    }
    // ld-linux-x86-64.so.2, ld-linux.so.2, ld64.so.2 (PowerPC, s390x), ld.so.1 (s390, MIPS), ld-2.31.so.
    let glibc: [&[u8]; 5] = [b"ld-linux", b"ld64.so.", b"ld.so.1", b"ld-2.", b"ld-lsb-"];
    glibc.iter().any(|start| file_name.starts_with(start)).then_some(Rules::Glibc)
}

#[cfg(test)]
mod tests {
    use coldstart_loader::cache::FAMILIES;

    use super::*;

    fn object(machine: u16, class: Class, little_endian: bool, flags: u32) -> ObjectFacts {
        ObjectFacts { machine, class, little_endian, flags, ..ObjectFacts::default() }
    }

    fn root(files: &[&str]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = Root::open(Some(directory.path())).unwrap();
        (directory, root)
    }

    #[test]
    fn each_abi_has_its_own_loader() {
        let (_directory, empty) = root(&[]);
        for (facts, expected) in [
            (object(62, WIDE, LITTLE, 0), "/lib64/ld-linux-x86-64.so.2"),
            (object(3, NARROW, LITTLE, 0), "/lib/ld-linux.so.2"),
            (object(40, NARROW, LITTLE, 0x0500_0400), "/lib/ld-linux-armhf.so.3"),
            (object(40, NARROW, LITTLE, 0x0500_0200), "/lib/ld-linux.so.3"),
            (object(21, WIDE, BIG, 1), "/lib64/ld64.so.1"),
            (object(21, WIDE, BIG, 2), "/lib64/ld64.so.2"),
            (object(243, WIDE, LITTLE, 0x5), "/lib/ld-linux-riscv64-lp64d.so.1"),
            (object(243, WIDE, LITTLE, 0x1), "/lib/ld-linux-riscv64-lp64.so.1"),
            (object(8, NARROW, BIG, 0x20), "/lib32/ld.so.1"),
        ] {
            assert_eq!(loader_of(&facts, &empty).as_deref(), Some(Path::new(expected)));
        }
        assert_eq!(loader_of(&object(75, NARROW, LITTLE, 0), &empty), None);
    }

    #[test]
    fn the_loader_that_is_there_is_taken_and_the_fitting_one_first() {
        let plain = object(62, WIDE, LITTLE, 0);
        let for_musl = ObjectFacts { needed: vec![b"libc.musl-x86_64.so.1".to_vec()], ..plain.clone() };
        let (glibc, musl) = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1");
        let loader = |facts: &ObjectFacts, files: &[&str]| {
            let (_directory, root) = root(files);
            loader_of(facts, &root).unwrap()
        };
        assert_eq!(loader(&plain, &[musl]), Path::new(musl));
        assert_eq!(loader(&plain, &[musl, glibc]), Path::new(glibc));
        assert_eq!(loader(&for_musl, &[musl, glibc]), Path::new(musl));
        assert_eq!(loader(&for_musl, &[glibc]), Path::new(glibc));
        // An object from before ARM's marks may be either.
        let unmarked = object(40, NARROW, LITTLE, 0x0500_0000);
        assert_eq!(loader(&unmarked, &["/lib/ld-linux.so.3"]), Path::new("/lib/ld-linux.so.3"));
        // What is named is taken as it is.
        let named = ObjectFacts { interpreter: Some(b"/opt/ld.so".to_vec()), ..plain };
        assert_eq!(loader(&named, &[glibc]), Path::new("/opt/ld.so"));
    }

    #[test]
    fn every_family_of_caches_has_loaders() {
        for family in FAMILIES {
            assert!(!loaders_of_family(family).is_empty(), "{}", family.name);
        }
        let x86 = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2", "/libx32/ld-linux-x32.so.2"];
        assert_eq!(loaders_of_family(Family::named("x86-64").unwrap()), x86.map(Path::new));
    }

    #[test]
    fn loaders_are_known_by_their_names() {
        for loaders in LOADERS {
            let name = |path: &'static str| path.rsplit('/').next().unwrap().as_bytes();
            assert_eq!(rules_of_loader(name(loaders.glibc)), Some(Rules::Glibc), "{}", loaders.glibc);
            assert!(loaders.musl.is_none_or(|musl| rules_of_loader(name(musl)) == Some(Rules::Musl)));
        }
        assert_eq!(rules_of_loader(b"ld-uClibc.so.0"), None);
    }
}
