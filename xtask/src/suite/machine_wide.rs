//! Tests that use the machine as a whole: its page cache, its trace buffers, its processors' time, its list of processes.
//!
//! Each such group has the machine for itself; its own tests run side by side unless they take turns. All others share it.
//! A group is a binary of unit tests, or one module of a binary of `tests/`: a package has one such binary, in which each
//! module is about one subject.

use super::run::Test;

/// Packages of which every test uses the machine as a whole.
const PACKAGES: &[&str] = &["launch", "launcher", "measure", "pagecache", "prefetch", "sys", "testbed", "trace"];
/// Others: package, and module of its integration tests.
const MODULES: &[(&str, &str)] = &[
    ("app", "pagecache"),
    ("cli", "guide"),
    ("cli", "hard_use"),
    ("cli", "installed"),
    ("cli", "killed"),
    ("cli", "measure"),
    ("cli", "measure_history"),
    ("cli", "order"),
    ("cli", "outputs"),
    ("cli", "pagecache"),
    ("cli", "pagecache_saved"),
    ("cli", "prefetch"),
    ("cli", "prefetch_exact"),
    ("cli", "prefetch_process"),
    ("cli", "report_page"),
    ("cli", "speedup"),
    ("cli", "speedup_advice"),
    ("cli", "speedup_hard"),
    ("cli", "speedup_index"),
    ("cli", "speedup_install"),
    ("cli", "trace_record"),
    ("rewrite", "replace_killed"),
];

/// Tests in groups that run one after another.
pub(super) struct Groups<'a> {
    /// All that may run beside each other.
    pub(super) shared: Vec<Test<'a>>,
    /// Each with the machine for itself.
    pub(super) alone: Vec<Vec<Test<'a>>>,
}

pub(super) fn groups(tests: Vec<Test<'_>>) -> Groups<'_> {
    let (alone, shared): (Vec<_>, Vec<_>) = tests.into_iter().partition(|test| {
        let package = test.binary.package.as_str();
        PACKAGES.contains(&package) || test.module().is_some_and(|module| MODULES.contains(&(package, module)))
    });
    let mut groups: Vec<Vec<Test<'_>>> = Vec::new();
    for test in alone {
        let is_of = |first: &Test<'_>| first.binary == test.binary && first.module() == test.module();
        match groups.iter_mut().find(|group| group.first().is_some_and(is_of)) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    Groups { shared, alone: groups }
}

#[cfg(test)]
mod tests {
    use super::super::binaries::Binary;
    use super::*;

    /// The names of these tests in groups.
    fn grouped(package: &str, unit: &[&str], integration: &[&str]) -> Vec<Vec<String>> {
        let (units, integrations) = (Binary::for_tests(package, false), Binary::for_tests(package, true));
        let tests = unit.iter().map(|name| Test { binary: &units, name: (*name).to_owned() });
        let others = integration.iter().map(|name| Test { binary: &integrations, name: (*name).to_owned() });
        let Groups { shared, alone } = groups(others.chain(tests).collect());
        let groups = std::iter::once(shared).chain(alone).filter(|group| !group.is_empty());
        groups.map(|group| group.into_iter().map(|test| test.name).collect()).collect()
    }

    #[test]
    fn a_module_that_uses_the_machine_has_it_for_itself() {
        let names =
            ["pack::one", "measure::one", "killed::one", "measure::inner::two", "measured::one", "bind::killed::one"];
        let groups = grouped("cli", &["measure::unit"], &names);
        assert_eq!(groups[0], ["pack::one", "measured::one", "bind::killed::one", "measure::unit"]);
        assert_eq!(groups[1..], [vec!["measure::one", "measure::inner::two"], vec!["killed::one"]]);
    }

    #[test]
    fn modules_count_only_in_packages_that_name_them() {
        let groups = grouped("bind", &[], &["measure::one", "killed::one"]);
        assert_eq!(groups, [["measure::one", "killed::one"]]);
    }

    #[test]
    fn each_module_of_a_package_that_uses_the_machine_has_it_for_itself_and_all_unit_tests_together() {
        let groups = grouped(
            "sys",
            &["fiemap::unit", "mincore::unit"],
            &["fiemap::one", "file_view::one", "at_the_top", "fiemap::two"],
        );
        let expected = [
            vec!["fiemap::one", "fiemap::two"],
            vec!["file_view::one"],
            vec!["at_the_top"],
            vec!["fiemap::unit", "mincore::unit"],
        ];
        assert_eq!(groups, expected);
    }
}
