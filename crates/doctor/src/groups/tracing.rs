//! Kernel tracing: page-cache fills through tracefs, perf events, and debug registers.

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Status};
use crate::groups::facts::Facts;
use crate::groups::launching::partly;
use crate::groups::who::RECORDING;

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![page_fills(facts), perf(facts), debug_registers(facts)]
}

fn page_fills(facts: &Facts) -> Check {
    let source = "Documentation/trace/ftrace.rst; filemap:mm_filemap_add_to_page_cache; kernel/trace/trace.c";
    let probes = &facts.probes;
    let name = "page-fills";
    let has_proc = facts.processes.mounted.is_ok();
    let first_failure = [
        ("tracefs cannot be mounted", &probes.tracefs),
        ("filemap:mm_filemap_add_to_page_cache cannot be enabled", &probes.tracepoint),
        ("no instance of tracefs can be created", &probes.instances),
    ]
    .into_iter()
    .find(|(_, answer)| !answer.works());
    let (status, now) = match first_failure {
        None if has_proc => {
            let now = "tracefs and filemap:mm_filemap_add_to_page_cache can be used";
            return Check::new(name, Status::Yes, now).source(source);
        }
        // The recorder reaches its mount through /proc/self/fd.
        None => (Status::No, "tracefs can be mounted, but not reached without /proc".to_owned()),
        Some((_, Answer::Untried(reason))) => (Status::Unknown, reason.clone()),
        Some((what, answer)) => (Status::No, format!("{what}: {}", answer.words())),
    };
    let left = partly(status);
    Check::new(name, status, now)
        .needed("CAP_SYS_ADMIN over the machine, and a kernel with tracefs and the tracepoint")
        .cost(
            "`prefetch record` learns which pages a start reads, but not their order: they are planned file by file, \
             in the order of opening. Concurrent prefetching gains less from such a plan. `trace` knows the opened \
             files, but neither which parts were read nor what came from the disk.",
        )
        .grants([facts.who.as_root("coldstart prefetch record -- PROGRAM")])
        .source(source)
        .leaves(left, &[Ability::PrefetchRecord], "the order of pages within a file is unknown")
        .leaves(left, &RECORDING[1..], "its plan has no order of pages within a file")
        .leaves(left, &[Ability::TraceRecord], "reads of parts of files, and disk I/O, are not seen")
}

/// What is left of a start image without the touches of pages.
pub(crate) const USED_UNKNOWN: &str = "all pages that a start reads count as used: which it uses is not seen";

/// Page touches are recorded by them; `trace` has no substitute.
fn perf(facts: &Facts) -> Check {
    let source = "perf_event_open(2); kernel/events/core.c; Documentation/admin-guide/sysctl/kernel.rst";
    let paranoid = match &facts.perf_paranoid {
        Ok(value) => format!("kernel.perf_event_paranoid = {value}"),
        Err(reason) => reason.clone(),
    };
    let (user, kernel) = (&facts.probes.perf_user, &facts.probes.perf_kernel);
    let rule = || match facts.perf_paranoid {
        _ if facts.who.is_machine_root() && facts.who.has(super::who::SYS_ADMIN) => Status::Yes,
        Ok(..=1) => Status::Yes,
        Ok(2) => Status::Partly,
        // Debian's and Android's own addition: only with the capability.
        Ok(3..) => Status::No,
        Err(_) => Status::Unknown,
    };
    let (status, now) = match (user, kernel) {
        (Answer::Works, Answer::Works) => (Status::Yes, "user and kernel side".to_owned()),
        (Answer::Works, _) => (Status::Partly, "user side only".to_owned()),
        (Answer::Untried(_), _) => (rule(), "not tried".to_owned()),
        (refused, _) => (Status::No, format!("refused: {}", refused.words())),
    };
    let check = Check::new("perf-events", status, format!("{now}; {paranoid}")).source(source);
    let (cost, because) = match status {
        Status::Yes => return check,
        Status::Partly => (
            "`trace` does not see pages that the kernel touches for the program, such as in `read(2)` into fresh memory.",
            "pages that the kernel touches for the program are not seen",
        ),
        Status::No => (
            "`trace` records phases, files and functions, but no page touches, because these events are not permitted.",
            "no page touches: phases and files only (perf events)",
        ),
        Status::Unknown => {
            ("Whether `trace` sees page touches is unknown.", "whether page touches are seen is unknown")
        }
    };
    let check = check
        .needed("kernel.perf_event_paranoid of 1 or less, or CAP_PERFMON")
        .cost(cost)
        .grants([facts.who.sysctl("kernel.perf_event_paranoid", "1")])
        .leaves(partly(status), &[Ability::TraceRecord], because);
    // What the program itself touches is enough for an image.
    if status == Status::Partly { check } else { check.leaves(partly(status), &[Ability::ImageMake], USED_UNKNOWN) }
}

/// Phases of a start are detected by breakpoints in debug registers.
fn debug_registers(facts: &Facts) -> Check {
    let source = "ptrace(2), PTRACE_POKEUSER; arch/x86/kernel/ptrace.c; arch/x86/kernel/hw_breakpoint.c";
    let name = "debug-registers";
    let check = |status, now: String| Check::new(name, status, now).source(source);
    match std::env::consts::ARCH {
        "x86_64" => {}
        "aarch64" => {
            return check(Status::No, "`trace` does not use them on aarch64".to_owned())
                .needed("x86-64")
                .cost("`trace` records files, pages and disk I/O, but no loader phases, initialisers or first calls.")
                .leaves(Status::Partly, &[Ability::TraceRecord], "no loader phases (aarch64)");
        }
        other => {
            return check(Status::No, format!("{other} is not supported by `trace`"))
                .needed("x86-64 or aarch64")
                .cost("`trace` does not record starts here. Traces of other machines can be shown and queried.")
                .leaves(Status::No, &[Ability::TraceRecord], "not for this architecture");
        }
    }
    let answer = &facts.probes.debug_registers;
    let status = match answer {
        Answer::Works => return check(Status::Yes, "breakpoints can be set".to_owned()),
        Answer::Untried(_) => Status::Unknown,
        Answer::Refused(_) => Status::No,
    };
    check(status, answer.words())
        .needed("free debug registers")
        .cost("`trace` sees when programs are executed and when they end, but no phase in between: loading, initialisers, main.")
        .leaves(partly(status), &[Ability::TraceRecord], "no loader phases (debug registers)")
}
