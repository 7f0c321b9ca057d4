//! Launches from odd places: pid namespaces whose parts do not fit together. Needs root.

use std::process::Command;

use crate::common::example;

fn in_namespace(options: &[&str]) -> Option<std::process::Output> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork"]).args(options);
    if !unshare.args(["--", "true"]).status().is_ok_and(|status| status.success()) {
        coldstart_testing::skip("no pid namespace may be made");
        return None;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork"]).args(options).arg("--").arg(example()).args(["exit", "true"]);
    Some(unshare.output().unwrap())
}

/// The leader of our process group is outside the namespace: its number there is 0.
#[test]
fn our_process_group_may_have_no_number() {
    let Some(output) = in_namespace(&["--mount-proc"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_proc_of_another_namespace_is_refused() {
    let Some(output) = in_namespace(&[]) else { return };
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
