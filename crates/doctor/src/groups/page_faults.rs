//! Watching page faults from user space: userfaultfd.
//!
//! The call itself is not made here; its rule is short and its three inputs can be read. A filter before it cannot be seen.

use rustix::io::Errno;

use crate::check::{Check, Grant, Status, Where};
use crate::facts::Facts;
use crate::groups::who::SYS_PTRACE;

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![userfaultfd(facts)]
}

fn userfaultfd(facts: &Facts) -> Check {
    let source = "userfaultfd(2); fs/userfaultfd.c, userfaultfd_syscall_allowed; by its rule, not tried";
    let setting = &facts.unprivileged_userfaultfd;
    let device = &facts.probes.userfaultfd_device;
    let nothing_lost = "No verb of coldstart uses it. Tools that see each page a program touches do.";
    let absent = setting.is_err() && facts.processes.mounted.is_ok();
    if absent && (device.is(Errno::NOENT) || device.is(Errno::NODEV)) {
        return Check::new("userfaultfd", Status::No, "the kernel has none (vm.unprivileged_userfaultfd is not there)")
            .needed("CONFIG_USERFAULTFD")
            .cost(nothing_lost)
            .grants([Grant {
                command: "install a kernel with CONFIG_USERFAULTFD".to_owned(),
                run: if facts.who.is_confined() { Where::Host } else { Where::Here },
            }])
            .source(source);
    }
    let kernel_faults = facts.who.has(SYS_PTRACE) && facts.who.is_machine_root() || *setting == Ok(1) || device.works();
    let user_faults = facts.kernel.since(5, 11);
    let asynchronous = match facts.kernel.since(6, 7) {
        Some(true) => "asynchronous write protection (Linux 6.7) is there",
        Some(false) => "without asynchronous write protection (Linux 6.7)",
        None => "the kernel's release is not told",
    };
    let (status, now) = match (kernel_faults, user_faults, setting) {
        (true, ..) => (Status::Yes, "faults of programs and of the kernel for them".to_owned()),
        (false, None, _) | (false, _, Err(_)) => (Status::Unknown, setting.clone().err().unwrap_or_default()),
        (false, Some(true), _) => (Status::Partly, "faults of programs only (UFFD_USER_MODE_ONLY)".to_owned()),
        (false, Some(false), _) => (Status::No, "vm.unprivileged_userfaultfd = 0 before Linux 5.11".to_owned()),
    };
    let check = Check::new("userfaultfd", status, format!("{now}; {asynchronous}")).source(source);
    if status == Status::Yes {
        return check;
    }
    check
        .needed("vm.unprivileged_userfaultfd = 1, or CAP_SYS_PTRACE")
        .cost(nothing_lost)
        .grants([facts.who.sysctl("vm.unprivileged_userfaultfd", "1")])
}
