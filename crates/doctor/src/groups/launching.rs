//! Requirements for starting a program, observing its file names, and ending all of it.

use coldstart_host::kernel::{setting_name, settings};
use coldstart_host::process::{Status as ProcessStatus, own};
use coldstart_sys::private_mounts::Method;
use rustix::io::Errno;

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::groups::who::{SYS_ADMIN, SYS_PTRACE};
use crate::probes::Refusal;
use crate::root::{MOST, Root};

/// Facts from files.
#[derive(Clone, Debug)]
pub(crate) struct Launching {
    /// Yama's rule; an error where the kernel has no Yama.
    pub(crate) ptrace_scope: Result<i64, String>,
    /// System call filters inherited by programs we start; `None` if unknown (before Linux 5.9).
    pub(crate) inherited_filters: Option<u32>,
}

pub(crate) fn look(root: &Root) -> Launching {
    let status = ProcessStatus::new(root.bytes(own::STATUS, MOST).unwrap_or_default());
    Launching { ptrace_scope: root.number(settings::PTRACE_SCOPE), inherited_filters: status.seccomp_filters() }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![null_device(facts), handles(facts), observer(facts), ptrace(facts), privileges(facts), private_view(facts)]
}

fn null_device(facts: &Facts) -> Check {
    let source = "null(4); programs under measurement read from it and write to it";
    let answer = &facts.probes.null_device;
    if answer.works() {
        return Check::new("dev-null", Status::Yes, "/dev/null can be opened").source(source);
    }
    let status = if matches!(answer, Answer::Untried(_)) { Status::Unknown } else { Status::No };
    Check::new("dev-null", status, format!("/dev/null cannot be opened: {}", answer.words()))
        .needed("readable and writable")
        .cost("No program can be started under measurement: its input and output cannot be redirected.")
        .grants([facts.who.as_root("mknod -m 666 /dev/null c 1 3")])
        .source(source)
        .leaves(status, &Ability::WATCHING, "/dev/null cannot be opened")
}

fn handles(facts: &Facts) -> Check {
    let source = "pidfd_open(2) (Linux 5.3)";
    let answer = &facts.probes.pidfd;
    if answer.works() {
        return Check::new("pidfd", Status::Yes, "works").source(source);
    }
    let status = if matches!(answer, Answer::Untried(_)) { Status::Unknown } else { Status::No };
    Check::new("pidfd", status, answer.words())
        .needed("works")
        .cost("No program can be started under measurement: its end could not be awaited safely.")
        .grants(kernel_or_filter(facts, answer, 5, 3))
        .source(source)
        .leaves(status, &Ability::WATCHING, "processes cannot be waited for safely (pidfd_open)")
        .leaves(status, &[Ability::TraceRecord], "processes cannot be waited for safely (pidfd_open)")
}

/// The remedy for a missing call: a newer kernel, or no filter.
pub(crate) fn kernel_or_filter(facts: &Facts, answer: &Answer, major: u32, minor: u32) -> Option<Grant> {
    let run = if facts.who.is_confined() { Where::Host } else { Where::Here };
    if matches!(answer, Answer::Untried(_)) {
        return None;
    }
    if facts.kernel.since(major, minor) == Some(false) {
        return Some(Grant { command: format!("install a kernel of Linux {major}.{minor} or later"), run });
    }
    let command = "docker run --security-opt seccomp=unconfined IMAGE".to_owned();
    facts.who.is_confined().then_some(Grant { command, run })
}

/// The status of a verb that can work without something of this status.
pub(crate) fn partly(status: Status) -> Status {
    if status == Status::No { Status::Partly } else { status }
}

fn observer(facts: &Facts) -> Check {
    let source = "seccomp_unotify(2); kernel/seccomp.c (Linux 5.5 for SECCOMP_USER_NOTIF_FLAG_CONTINUE)";
    let answer = &facts.probes.observer;
    let name = "watching-file-names";
    if answer.works() {
        return Check::new(name, Status::Yes, "seccomp user notification works").source(source);
    }
    let (status, now) = match answer {
        Answer::Untried(reason) => (Status::Unknown, reason.clone()),
        // A process can have one listener only, and we inherit those of our parents.
        _ if answer.is(Errno::BUSY) => {
            (Status::No, "another process observes us in the same way already (EBUSY)".to_owned())
        }
        _ => (Status::No, format!("seccomp user notification does not work: {}", answer.words())),
    };
    Check::new(name, status, now)
        .needed("seccomp user notification")
        .cost(
            "A program's files cannot be determined, the first step of all verbs that start programs: `measure`, \
             `prefetch record` and `speedup` do not work. `trace --layers phases,pages,functions` works.",
        )
        .grants(kernel_or_filter(facts, answer, 5, 5))
        .source(source)
        .leaves(status, &Ability::WATCHING, "a program's files cannot be determined (seccomp)")
        .leaves(partly(status), &[Ability::TraceRecord], "only without files: `--layers phases,pages,functions`")
}

fn ptrace(facts: &Facts) -> Check {
    let source = "Documentation/admin-guide/LSM/Yama.rst; process_vm_readv(2)";
    let name = "reading-file-names";
    let scope = match &facts.launching.ptrace_scope {
        Ok(scope) => format!("kernel.yama.ptrace_scope = {scope}"),
        Err(_) if facts.processes.mounted.is_ok() => "no Yama".to_owned(),
        Err(reason) => reason.clone(),
    };
    let may = match (&facts.launching.ptrace_scope, facts.probes.names_readable) {
        (_, Some(seen)) => Some(seen),
        (Ok(0 | 1) | Err(_), None) if facts.processes.mounted.is_ok() => Some(true),
        (Ok(2), None) => Some(facts.who.has(SYS_PTRACE)),
        (Ok(_), None) => Some(false),
        (Err(_), None) => None,
    };
    match may {
        Some(true) => {
            return Check::new(name, Status::Yes, format!("our programs' memory can be read; {scope}")).source(source);
        }
        None => {
            return Check::new(name, Status::Unknown, scope)
                .needed("reading the memory of the programs we start")
                .cost("If it cannot be read, a program's files stay unknown.")
                .source(source);
        }
        Some(false) => {}
    }
    use Ability::{
        IndexMake, InstalledRefresh, MeasureBoot, MeasureCold, MeasureHot, MeasureSelective, PrefetchRecord, Speedup,
    };
    let grants = match facts.launching.ptrace_scope {
        // Scope 3 holds until the next reboot.
        Ok(3..) => vec![facts.who.as_root("echo kernel.yama.ptrace_scope=1 > /etc/sysctl.d/10-ptrace.conf; reboot")],
        Ok(2) => vec![facts.who.sysctl("kernel.yama.ptrace_scope", "1")],
        _ => Vec::new(),
    };
    Check::new(name, Status::No, format!("our programs' memory cannot be read; {scope}"))
        .needed("kernel.yama.ptrace_scope of 0 or 1, or CAP_SYS_PTRACE with 2")
        .cost(
            "The file names of a program's system calls are in its memory and cannot be read there. `measure` times \
             starts without checking their state, and cannot evict the files; `prefetch record` and `index make` refuse.",
        )
        .grants(grants)
        .source(source)
        .leaves(
            Status::No,
            &[MeasureSelective, PrefetchRecord, IndexMake, InstalledRefresh, Speedup],
            "the names of a program's files cannot be read",
        )
        .leaves(Status::Partly, &[MeasureCold, MeasureBoot, MeasureHot], "the state of a start is not checked")
}

fn private_view(facts: &Facts) -> Check {
    let source = "mount_namespaces(7), user_namespaces(7)";
    let name = "private-view";
    let refusal = match &facts.probes.private_view {
        Some(Ok(Method::Root)) => {
            return Check::new(name, Status::Yes, "files can be replaced in a private mount namespace").source(source);
        }
        Some(Ok(Method::UserNamespace)) => {
            let now = "files can be replaced in a private user and mount namespace, in which set-user-ID programs \
                       gain no privileges";
            return Check::new(name, Status::Yes, now).source(source);
        }
        None => None,
        Some(Err(refusal)) => Some(refusal),
    };
    let status = if refusal.is_some() { Status::Partly } else { Status::Unknown };
    let grant = |refusal: &Refusal| match refusal.setting {
        Some((setting, value)) => Some(facts.who.sysctl(&setting_name(setting), value)),
        None if facts.who.is_confined() => facts.who.privileged_container(),
        None => Some(facts.who.as_root("coldstart speedup -- PROGRAM")),
    };
    Check::new(name, status, refusal.map_or("not tried", |refusal| refusal.reason.as_str()))
        .needed("a private mount namespace, as root or by an unprivileged user namespace")
        .cost(
            "Changed files cannot be tried without changing the originals: `speedup` tries only fixes that change no \
             file.",
        )
        .grants(refusal.and_then(grant))
        .source(source)
        .leaves(status, &[Ability::Speedup], "only fixes that change no file are tried")
        .leaves(status, &[Ability::ImageMake], "no start from a new image is tried")
}

fn privileges(facts: &Facts) -> Check {
    let source = "Documentation/userspace-api/no_new_privs.rst; kernel/seccomp.c, seccomp_prepare_filter";
    let name = "setuid-programs";
    let inherited = facts.probes.no_new_privileges;
    if facts.who.has(SYS_ADMIN) && inherited != Some(true) {
        return Check::new(name, Status::Yes, "set-user-ID programs keep their privileges while observed")
            .source(source);
    }
    let now = match inherited {
        Some(true) => "programs we start cannot gain privileges (no_new_privs is already set)",
        _ => "observed programs cannot gain privileges: without CAP_SYS_ADMIN the filter requires no_new_privs",
    };
    // It affects few programs, and no verb as a whole.
    Check::new(name, Status::Partly, now)
        .needed("CAP_SYS_ADMIN, and no_new_privs not inherited")
        .cost(
            "While it is observed, recorded or traced, a program that starts `sudo`, `su` or a sandbox with \
             the set-user-ID bit fails there; measured starts themselves are not observed.",
        )
        .grants([facts.who.as_root("coldstart measure -- PROGRAM")])
        .source(source)
}
