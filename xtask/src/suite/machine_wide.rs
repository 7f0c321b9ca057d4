//! Tests that use the machine as a whole: its page cache, its trace buffers, its processors' time, its list of processes.
//!
//! Each such binary has the machine for itself; its own tests run side by side unless they take turns. All others share it.

use super::run::Test;

/// Packages of which every test binary uses the machine as a whole.
const PACKAGES: &[&str] = &["launch", "launcher", "measure", "pagecache", "prefetch", "sys", "testbed", "trace"];
/// Others: package and binary.
const BINARIES: &[(&str, &str)] = &[
    ("app", "it"),
    ("cli", "killed"),
    ("cli", "measure"),
    ("cli", "measure_history"),
    ("cli", "outputs"),
    ("cli", "pagecache"),
    ("cli", "pagecache_saved"),
    ("cli", "prefetch"),
    ("cli", "prefetch_exact"),
    ("cli", "prefetch_process"),
    ("cli", "report_page"),
    ("cli", "speedup"),
    ("cli", "trace_record"),
    ("rewrite", "replace_killed"),
];

/// The tests in groups that run one after another: first all that may run beside each other, then each binary that may not.
pub(super) fn groups(tests: Vec<Test<'_>>) -> Vec<Vec<Test<'_>>> {
    let (alone, shared): (Vec<_>, Vec<_>) = tests.into_iter().partition(|test| {
        let (package, name) = (test.binary.package.as_str(), test.binary.name.as_str());
        PACKAGES.contains(&package) || BINARIES.contains(&(package, name))
    });
    let mut groups = vec![shared];
    for test in alone {
        match groups.iter_mut().skip(1).find(|group| group.first().is_some_and(|first| first.binary == test.binary)) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}
