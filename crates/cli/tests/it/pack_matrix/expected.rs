//! Which refusals are known. Every other one is a failure.

use super::build::Role;
use super::feature::Feature;
use super::packer::Verdict;
use super::toolchain::{Linker, Machine};

/// A verdict that is right for some cells, and what makes the packer do it nevertheless.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) machines: &'static [Machine],
    /// Names; all, if there are none.
    pub(crate) features: &'static [&'static str],
    pub(crate) linkers: &'static [Linker],
    pub(crate) roles: &'static [Role],
    /// Short name of the reason, of a refusal or of why there is nothing to do.
    pub(crate) code: &'static str,
    /// Options to try then, one after the other. Without options it is left as it is.
    pub(crate) remedies: &'static [&'static [&'static str]],
}

const ANY_ROLE: &[Role] = &[Role::Library, Role::Driver, Role::Program];
const ANY_MACHINE: &[Machine] = &[Machine::Native, Machine::I386, Machine::Aarch64];

/// All of them. The first that fits counts.
pub(crate) const EXPECTED: &[Expected] = &[
    Expected {
        machines: &[Machine::I386],
        features: &["pointers, -z lazy", "thread-local"],
        linkers: &[Linker::Lld],
        roles: ANY_ROLE,
        code: "no-dynamic-slot",
        // lld leaves no spare entry; neither DT_FLAGS can go, nor a function of the start files, which do some work here.
        remedies: &[&["--drop-syment"], &[]],
    },
    Expected {
        machines: &[Machine::I386],
        features: &[],
        linkers: &[Linker::Lld],
        roles: ANY_ROLE,
        code: "no-dynamic-slot",
        // Functions of the start files do some work here.
        remedies: &[&["--drop-syment"]],
    },
    Expected {
        machines: &[Machine::Aarch64],
        // In the first two DT_FLAGS is not there; in the next two it says that memory for thread-local variables is
        // needed from the start; the last two have no DT_RELACOUNT, or need it.
        features: &[
            "pointers, -z lazy",
            "lazy binding",
            "thread-local",
            "thread-local, described",
            "unsorted relocations",
            "odd addresses",
        ],
        linkers: &[Linker::Lld],
        roles: ANY_ROLE,
        code: "no-dynamic-slot",
        remedies: &[&["--drop-syment"]],
    },
    Expected {
        machines: ANY_MACHINE,
        features: &["unsorted relocations"],
        linkers: &[Linker::Bfd],
        roles: ANY_ROLE,
        code: "table-is-no-section",
        // GNU ld alone makes a section for each section that is relocated.
        remedies: &[&[]],
    },
];

/// The row for a verdict that is not `Packed`.
pub(crate) fn find(
    feature: &Feature,
    machine: Machine,
    linker: Linker,
    role: Role,
    verdict: &Verdict,
) -> Option<&'static Expected> {
    let (Verdict::Nothing(found) | Verdict::Refused(found)) = verdict else { return None };
    EXPECTED.iter().find(|row| {
        (row.features.is_empty() || row.features.contains(&feature.name))
            && row.machines.contains(&machine)
            && row.linkers.contains(&linker)
            && row.roles.contains(&role)
            && row.code == found
    })
}
