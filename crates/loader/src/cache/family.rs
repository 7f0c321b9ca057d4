//! Which architectures share one `ldconfig`, and so one cache.
//!
//! A cache has one byte order and serves one loader or a few: `ldconfig` on x86-64 also enters libraries for i386 and
//! x32, and skips those for other architectures.

use crate::ObjectFacts;

/// Architectures whose libraries share one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name: that of its most common architecture.
    pub name: &'static str,
    /// Aliases.
    pub also: &'static [&'static str],
    /// Values of `e_machine`.
    pub machines: &'static [u16],
    /// Whether numbers are little-endian.
    pub little_endian: bool,
    /// Suffixes for a default directory that ends in "/lib" (`add_system_dir` in sysdeps/.../dl-cache.h).
    suffixes: &'static [&'static str],
    /// Subdirectories that `ldconfig` scanned up to 2.36, with the bit of each; all scan "tls" (bit 63).
    older: &'static [(&'static str, u32, bool)],
}

/// `sysdeps/x86/dl-procinfo.c`; the last field says whether the loader searches it (`HWCAP_IMPORTANT` and platforms).
const X86_SUBDIRECTORIES: &[(&str, u32, bool)] = &[
    ("sse2", 0, false),
    ("x86_64", 1, true),
    ("avx512_1", 2, true),
    ("i586", 48, true),
    ("i686", 49, true),
    ("haswell", 50, true),
    ("xeon_phi", 51, true),
];
const TLS: (&str, u32) = ("tls", 63);

const fn family(
    name: &'static str,
    also: &'static [&'static str],
    machines: &'static [u16],
    little_endian: bool,
    suffixes: &'static [&'static str],
) -> Family {
    Family { name, also, machines, little_endian, suffixes, older: &[] }
}

const RISCV: &[&str] = &["64/lp64d", "64/lp64", "32/ilp32d", "32/ilp32"];

/// All architectures of glibc.
pub const FAMILIES: &[Family] = &[
    Family {
        older: X86_SUBDIRECTORIES,
        ..family("x86-64", &["x86_64", "amd64", "i386", "i686", "x32"], &[62, 3], true, &["64", "x32"])
    },
    family("aarch64", &["arm64", "arm", "armhf", "armel"], &[183, 40], true, &["64"]),
    family("aarch64be", &["armeb"], &[183, 40], false, &["64"]),
    family("riscv64", &["riscv32", "riscv"], &[243], true, RISCV),
    family("loongarch64", &["loongarch"], &[258], true, &["64", "64/sf"]),
    family("ppc64le", &["powerpc64le", "ppc64el", "powerpcle"], &[21, 20], true, &["64"]),
    family("ppc64", &["powerpc64", "powerpc", "ppc"], &[21, 20], false, &["64"]),
    family("s390x", &["s390"], &[22], false, &["64"]),
    family("sparc64", &["sparc"], &[43, 2, 18], false, &["64"]),
    family("mipsel", &["mips64el", "mipsn32el"], &[8], true, &["32", "64"]),
    family("mips", &["mips64", "mipsn32"], &[8], false, &["32", "64"]),
    family("ia64", &[], &[50], true, &[]),
    family("alpha", &[], &[0x9026], true, &[]),
    family("hppa", &["parisc"], &[15], false, &[]),
    family("m68k", &[], &[4], false, &[]),
    family("sh4", &["sh"], &[42], true, &[]),
    family("sh4eb", &["sheb"], &[42], false, &[]),
    family("or1k", &["openrisc"], &[92], false, &[]),
    family("arc", &[], &[93, 195], true, &[]),
    family("nios2", &[], &[113], true, &[]),
    family("microblazeel", &[], &[189], true, &[]),
    family("microblaze", &[], &[189], false, &[]),
    family("csky", &[], &[252], true, &[]),
];

impl Family {
    /// The family with this name or alias.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name || family.also.contains(&name))
    }

    /// The family of an object.
    pub fn of(facts: &ObjectFacts) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.holds(facts))
    }

    /// The family of the running machine.
    pub fn here() -> Option<&'static Self> {
        Self::named(match (std::env::consts::ARCH, cfg!(target_endian = "little")) {
            ("x86", _) => "x86-64",
            ("powerpc64", true) => "ppc64le",
            ("mips64" | "mips", true) => "mipsel",
            ("aarch64" | "arm", false) => "aarch64be",
            (name, _) => name,
        })
    }

    /// Whether an object's libraries belong in this family's caches.
    pub fn holds(&self, facts: &ObjectFacts) -> bool {
        self.little_endian == facts.little_endian && self.machines.contains(&facts.machine)
    }

    /// The directories that glibc's `ldconfig` derives from a default directory: on x86-64, "/usr/lib64" gives
    /// "/usr/lib", "/usr/lib64" and "/usr/libx32".
    pub fn expanded(&self, directory: &[u8]) -> Vec<Vec<u8>> {
        let ending = |suffix: &&&str| directory.ends_with(&[b"/lib", suffix.as_bytes()].concat());
        let suffix = self.suffixes.iter().find(ending).map_or(0, |suffix| suffix.len());
        let base = directory.get(..directory.len().saturating_sub(suffix)).unwrap_or(directory);
        let mut directories = vec![base.to_vec()];
        if base.ends_with(b"/lib") {
            directories.extend(self.suffixes.iter().map(|suffix| [base, suffix.as_bytes()].concat()));
        }
        directories
    }

    /// Whether `ldconfig` up to 2.36 scans a subdirectory of this name (`is_hwcap_platform` in elf/ldconfig.c).
    pub(super) fn takes_subdirectory(&self, name: &[u8]) -> bool {
        name == TLS.0.as_bytes() || self.older.iter().any(|(known, _, wanted)| *wanted && name == known.as_bytes())
    }

    /// The bits of the subdirectories at the end of a path (`path_hwcap` in elf/ldconfig.c).
    pub(super) fn bits_of(&self, path: &[u8]) -> u64 {
        let bit = |name: &[u8]| {
            let known = self.older.iter().find(|(known, ..)| name == known.as_bytes()).map(|(_, bit, _)| *bit);
            known.or((name == TLS.0.as_bytes()).then_some(TLS.1))
        };
        // The part before the first slash is ignored.
        let parts = path.split(|&byte| byte == b'/').skip(1).collect::<Vec<_>>();
        let bits = parts.iter().rev().map_while(|name| bit(name));
        bits.fold(0_u64, |sum, bit| sum.wrapping_add(1 << bit))
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn default_directories_stand_for_their_kin() {
        let expanded = |family: &str, directory: &str| {
            let directories = Family::named(family).unwrap().expanded(directory.as_bytes());
            directories.into_iter().map(|directory| String::from_utf8(directory).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(expanded("x86-64", "/usr/lib64"), ["/usr/lib", "/usr/lib64", "/usr/libx32"]);
        assert_eq!(
            expanded("riscv64", "/lib64/lp64d"),
            ["/lib", "/lib64/lp64d", "/lib64/lp64", "/lib32/ilp32d", "/lib32/ilp32"]
        );
        assert_eq!(expanded("m68k", "/lib"), ["/lib"]);
        assert_eq!(
            expanded("x86-64", "/gnu/store/1-glibc/lib"),
            ["/gnu/store/1-glibc/lib", "/gnu/store/1-glibc/lib64", "/gnu/store/1-glibc/libx32"]
        );
    }

    #[test]
    fn older_subdirectories_add_up() {
        let family = Family::named("amd64").unwrap();
        assert_eq!(family.bits_of(b"/opt/haswell/x86_64"), 1 << 50 | 1 << 1);
        assert_eq!(family.bits_of(b"/opt/lib/tls"), 1 << 63);
        assert_eq!(family.bits_of(b"/haswell/lib"), 0);
        assert!(family.takes_subdirectory(b"haswell") && !family.takes_subdirectory(b"sse2"));
    }

    #[test]
    fn this_machine_has_a_family() {
        assert!(Family::here().is_some());
        assert_eq!(Family::named("vax"), None);
    }
}
