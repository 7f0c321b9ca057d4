//! Requirements for binding programs and tracing starts: a known loader, symbolic links, and ptrace.
//!
//! Not obvious: most of it is about the loader, not about privileges: the libraries found by an unknown loader
//! cannot be predicted, so nothing can be proven about it. `unbind`, `status` and `ldcache` read and write files like any
//! other program, and have no requirements.

use coldstart_loader::hwcaps;

use crate::ability::Ability::{Bind, BindAudit, ImageMake, Resolve, TraceRecord, VerifyRun};
use crate::answer::Answer;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::groups::launching::{kernel_or_filter, partly};
use crate::groups::loader::Library;
use crate::groups::tracing::USED_UNKNOWN;
use crate::groups::who::SYS_PTRACE;

/// The oldest release supported by the audit library (glibc 2.26).
const AUDIT_RELEASE: u32 = 26;
/// The oldest release whose search is fully known here: with `glibc-hwcaps` (glibc 2.33).
const KNOWN_RELEASE: u32 = 33;

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![rules(facts), auditing(facts), links(facts), exchange(facts), tracing(facts)]
}

/// Whether the loader's search rules are known.
fn rules(facts: &Facts) -> Check {
    let source = "elf/dl-load.c of glibc 2.33 and later; ldso/dynlink.c of musl 1.2";
    let name = "loader-rules";
    let words = facts.loader.words();
    let (status, now) = match &facts.loader.library {
        Library::Glibc(Some(release)) if *release < KNOWN_RELEASE => {
            (Status::Partly, format!("{words} also searches older subdirectories, which are not supported"))
        }
        Library::Glibc(Some(_)) | Library::Musl(_) => {
            return Check::new(name, Status::Yes, format!("the rules of {words} are known")).source(source);
        }
        Library::Glibc(None) => (Status::Partly, format!("{words}: the newest release is assumed")),
        Library::Unknown => (Status::Unknown, words),
    };
    let check = Check::new(name, status, now)
        .needed("glibc 2.33 or later, or musl 1.2")
        .cost(
            "`bind` and `resolve` follow the loader's rules. They refuse programs with an unknown loader; \
             where only the release is old or unknown, subdirectories for the processor may be missed. \
             Caches can be written, for any architecture.",
        )
        .source(source);
    let because = match status {
        Status::Partly => "subdirectories for the processor may be missed",
        _ => "this machine's loader is unknown",
    };
    check.leaves(status, &[Resolve, Bind, BindAudit], because)
}

/// Whether the loader supports audit libraries.
fn auditing(facts: &Facts) -> Check {
    let source = "rtld-audit(7); elf/rtld.c, load_audit_modules; ldso/dynlink.c of musl, which has none";
    let name = "loader-auditing";
    let words = facts.loader.words();
    let machine_is_known = hwcaps::platform_of_this_cpu().is_some();
    let (status, now, because) = match &facts.loader.library {
        Library::Glibc(Some(release)) if *release >= AUDIT_RELEASE && machine_is_known => {
            return Check::new(name, Status::Yes, format!("{words} supports audit libraries")).source(source);
        }
        Library::Glibc(Some(release)) if *release >= AUDIT_RELEASE => (
            Status::No,
            format!("{words} supports them, but there is none for this architecture"),
            "not for this architecture",
        ),
        Library::Glibc(Some(_)) => (Status::No, format!("{words} is too old"), "glibc is older than 2.26"),
        Library::Musl(_) => (Status::No, format!("{words} has no auditing"), "musl has no auditing"),
        Library::Glibc(None) | Library::Unknown => (Status::Unknown, words, "the loader's release is unknown"),
    };
    Check::new(name, status, now)
        .needed("glibc 2.26 or later on x86-64 or aarch64")
        .cost(
            "`bind --mode audit`, which covers libraries opened later, does not work; the other modes do not need it.",
        )
        .source(source)
        .leaves(status, &[BindAudit], because)
}

fn links(facts: &Facts) -> Check {
    let source = "symlink(2)";
    let name = "symbolic-links";
    let answer = &facts.probes.links;
    if answer.works() {
        return Check::new(name, Status::Yes, "can be created").source(source);
    }
    let status = if matches!(answer, Answer::Untried(_)) { Status::Unknown } else { Status::No };
    Check::new(name, status, answer.words())
        .needed("can be created")
        .cost("`bind` creates a directory of links to a program's libraries; only --mode absolute, origin and audit work without.")
        .source(source)
        .leaves(if status == Status::No { Status::Partly } else { status }, &[Bind], "no directory of links can be created")
}

fn exchange(facts: &Facts) -> Check {
    let source = "renameat2(2), RENAME_EXCHANGE (Linux 3.15)";
    let name = "exchange-names";
    let answer = &facts.probes.exchange;
    if answer.works() {
        return Check::new(name, Status::Yes, "works; a file system may still refuse it").source(source);
    }
    let status = if matches!(answer, Answer::Untried(_)) { Status::Unknown } else { Status::No };
    let left = if status == Status::No { Status::Partly } else { status };
    Check::new(name, status, answer.words())
        .needed("works")
        .cost(
            "`bind --rebind` swaps a program's directory of links atomically; without that, \
             it refuses. Programs can be bound for the first time.",
        )
        .grants(kernel_or_filter(facts, answer, 3, 15))
        .source(source)
        .leaves(left, &[Bind], "directories of links cannot be replaced")
}

/// Whether a program that we start can be traced.
fn tracing(facts: &Facts) -> Check {
    let source = "ptrace(2); Documentation/admin-guide/LSM/Yama.rst; seccomp(2)";
    let name = "tracing";
    let scope = match &facts.launching.ptrace_scope {
        Ok(scope) => format!("kernel.yama.ptrace_scope = {scope}"),
        Err(_) => "no Yama".to_owned(),
    };
    let answer = &facts.probes.tracing;
    let (status, now) = match (answer, &facts.launching.ptrace_scope) {
        (Answer::Works, _) => {
            return Check::new(name, Status::Yes, format!("programs we start can be traced; {scope}")).source(source);
        }
        (Answer::Untried(_), Ok(3..)) => (Status::No, scope),
        (Answer::Untried(_), Ok(2)) if !facts.who.has(SYS_PTRACE) => (Status::No, scope),
        (Answer::Untried(reason), _) => (Status::Unknown, format!("{reason}; {scope}")),
        (refused, _) => (Status::No, format!("refused: {}; {scope}", refused.words())),
    };
    let grants = match facts.launching.ptrace_scope {
        // Scope 3 holds until the next reboot.
        Ok(3..) => vec![facts.who.as_root("echo kernel.yama.ptrace_scope=1 > /etc/sysctl.d/10-ptrace.conf; reboot")],
        Ok(2) => vec![facts.who.sysctl("kernel.yama.ptrace_scope", "1")],
        _ if facts.who.is_confined() => {
            vec![Grant { command: "docker run --cap-add SYS_PTRACE IMAGE".to_owned(), run: Where::Host }]
        }
        _ => Vec::new(),
    };
    Check::new(name, status, now)
        .needed("ptrace of our own children: kernel.yama.ptrace_scope of 0 or 1, no filter, no other tracer")
        .cost(
            "`trace` cannot record a start. `verify --run` cannot count the loader's failed probes; `verify` proves bound \
             programs without starting them.",
        )
        .grants(grants)
        .source(source)
        .leaves(status, &[VerifyRun, TraceRecord], "programs cannot be traced here (ptrace)")
        .leaves(partly(status), &[ImageMake], USED_UNKNOWN)
}
