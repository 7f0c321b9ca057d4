//! The sets of processor levels of an architecture, from none to all.

use coldstart_loader::{Hwcaps, ObjectFacts, Rules};

/// Whether legacy subdirectories are searched, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Legacy {
    /// As in the environment.
    AsGiven,
    /// Levels only.
    Without,
}

/// The levels of an architecture, best first (`sysdeps/*/dl-hwcaps-subdirs.c`, `dl-hwcaps_subdirs.c` of glibc).
fn levels_of(facts: &ObjectFacts) -> &'static [&'static str] {
    match (facts.machine, facts.little_endian) {
        // EM_X86_64
        (62, _) => &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
        // EM_PPC64
        (21, true) => &["power10", "power9"],
        // EM_S390
        (22, _) => &["z16", "z15", "z14", "z13"],
        _ => &[],
    }
}

/// Sets of levels from none to all, each best first: a processor supports all levels below its highest.
pub(crate) fn level_sets(rules: Rules, program: &ObjectFacts, given: Option<&[String]>) -> Vec<Vec<String>> {
    let all: Vec<String> = match given {
        // musl has no levels.
        _ if rules == Rules::Musl => Vec::new(),
        Some(given) => given.to_vec(),
        None => levels_of(program).iter().map(|level| (*level).to_owned()).collect(),
    };
    (0..=all.len()).rev().map(|start| all.get(start..).unwrap_or_default().to_vec()).collect()
}

impl Legacy {
    /// Subdirectories for a set of levels.
    pub(crate) fn with(self, levels: &[String], given: &Hwcaps) -> Hwcaps {
        let combined = if self == Self::AsGiven { given.combined.clone() } else { None };
        Hwcaps { levels: levels.iter().map(|level| level.clone().into_bytes()).collect(), combined }
    }
}

/// The same subdirectories with every legacy name of any x86-64 processor, so that a library not found by them is
/// found on no machine (`_dl_x86_cap_flags`, `GLRO(dl_platform)` of glibc 2.36).
pub(crate) fn with_all_legacy_directories(program: &ObjectFacts, hwcaps: Hwcaps) -> Hwcaps {
    let is_x86_64 = program.machine == 62;
    let names = ["x86_64", "avx512_1", "haswell", "xeon_phi"];
    let all = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    let combined = hwcaps.combined.map(|given| if is_x86_64 { all } else { given });
    Hwcaps { combined, ..hwcaps }
}
