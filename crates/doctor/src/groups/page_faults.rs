//! Seeing each page that a program touches: userfaultfd, with which `trace` switches fault-around off.
//!
//! The call itself is not made here; its rule is short and its inputs can be read.
//! `vm.unprivileged_userfaultfd` is not one of them. It is about faults of the kernel, and `trace` requests the program's own
//! only (`UFFD_USER_MODE_ONLY`), which needs no privileges.

use rustix::io::Errno;

use crate::ability::Ability;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::groups::launching::partly;

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![userfaultfd(facts)]
}

fn userfaultfd(facts: &Facts) -> Check {
    let source = "userfaultfd(2); fs/userfaultfd.c, userfaultfd_syscall_allowed; by its rule, not tried";
    let device = &facts.probes.userfaultfd_device;
    let absent = facts.unprivileged_userfaultfd.is_err() && facts.processes.mounted.is_ok();
    let install = |command: &str| {
        let run = if facts.who.is_confined() { Where::Host } else { Where::Here };
        Some(Grant { command: command.to_owned(), run })
    };
    let (status, now, grant) = if absent && (device.is(Errno::NOENT) || device.is(Errno::NODEV)) {
        let now = "the kernel has none (vm.unprivileged_userfaultfd does not exist)".to_owned();
        (Status::No, now, install("install a kernel with CONFIG_USERFAULTFD"))
    } else {
        match (facts.kernel.since(6, 7), facts.launching.inherited_filters) {
            (Some(true), Some(1..)) => {
                let now = "we run under a system call filter, which may refuse it; not tried".to_owned();
                let docker = "docker run --security-opt seccomp=unconfined IMAGE";
                (Status::Unknown, now, if facts.who.is_confined() { install(docker) } else { None })
            }
            (Some(true), _) => {
                let now = format!("{} has asynchronous write protection (6.7)", facts.kernel.words());
                return Check::new("userfaultfd", Status::Yes, now).source(source);
            }
            (Some(false), _) => {
                let now = format!("{} has no asynchronous write protection", facts.kernel.words());
                (Status::Partly, now, install("install a kernel of Linux 6.7 or later"))
            }
            (None, _) => (Status::Unknown, "the kernel's release is unknown".to_owned(), None),
        }
    };
    let because = match status {
        Status::Unknown => "pages may be seen up to 16 at a time (fault-around)",
        _ => "pages are seen up to 16 at a time (fault-around)",
    };
    Check::new("userfaultfd", status, now)
        .needed("CONFIG_USERFAULTFD, Linux 6.7, and no filter that refuses the call")
        .cost(
            "When a program touches a page of a file, the kernel maps up to 16 resident pages, and `trace` does not see \
             whether the others are used. Written pages are all seen.",
        )
        .grants(grant)
        .source(source)
        .leaves(partly(status), &[Ability::TraceRecord], because)
        .leaves(partly(status), &[Ability::ImageMake], "up to 15 pages beside a used one count as used (fault-around)")
}
