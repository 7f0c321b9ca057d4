//! The kernel's own records: page-cache fills through tracefs, and performance events.

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Status};
use crate::facts::Facts;
use crate::groups::who::RECORDING;

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![page_fills(facts), perf(facts)]
}

fn page_fills(facts: &Facts) -> Check {
    let source = "Documentation/trace/ftrace.rst; filemap:mm_filemap_add_to_page_cache; kernel/trace/trace.c";
    let probes = &facts.probes;
    let name = "page-fills";
    let has_proc = facts.processes.mounted.is_ok();
    let first_failure = [
        ("tracefs cannot be mounted", &probes.tracefs),
        ("filemap:mm_filemap_add_to_page_cache cannot be switched on", &probes.tracepoint),
        ("no instance of tracefs can be made", &probes.instances),
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
    let left = if status == Status::No { Status::Partly } else { status };
    Check::new(name, status, now)
        .needed("CAP_SYS_ADMIN over the machine, and a kernel with tracefs and the tracepoint")
        .cost(
            "`prefetch record` learns which pages a start reads, but not in which order: they are planned file by file, \
             in the order of opening. Concurrent prefetching gains less from such a plan.",
        )
        .grants([facts.who.as_root("coldstart prefetch record -- PROGRAM")])
        .source(source)
        .leaves(left, &[Ability::PrefetchRecord], "the order of pages inside a file is not known")
        .leaves(left, &RECORDING[1..], "its plan does not know the order of pages inside a file")
}

/// No verb of ours uses these events; who looks into starts with `perf` wants to know.
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
        // Debian's and Android's own addition: nobody without the capability opens anything.
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
    if status == Status::Yes {
        return check;
    }
    check
        .needed("kernel.perf_event_paranoid of 1 or less, or CAP_PERFMON")
        .cost("No verb of coldstart uses them. `perf record` and other profilers do, to see page faults and functions.")
        .grants([facts.who.sysctl("kernel.perf_event_paranoid", "1")])
}
