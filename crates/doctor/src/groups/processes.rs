//! `/proc`: whether it is mounted, and which processes it shows.

use std::ffi::OsStr;
use std::path::Path;

use coldstart_host::process;

use crate::ability::Ability;
use crate::check::{Check, Status};
use crate::groups::facts::Facts;
use crate::groups::who::may_trace_others;
use crate::root::Root;
use crate::surroundings::Surroundings;

/// What `/proc` shows.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    /// Whether processes are there, our own to begin with.
    pub(crate) mounted: Result<(), String>,
    /// Value of the mount option; "0" or "off" and none mean everything is shown.
    hidepid: Option<String>,
}

pub(crate) fn look(root: &Root, surroundings: &Surroundings) -> Processes {
    let mount = surroundings.mounts.of(Path::new(process::ALL)).filter(|mount| mount.file_system == "proc");
    let hidepid = |option: &OsStr| option.to_str()?.strip_prefix("hidepid=").map(str::to_owned);
    Processes {
        mounted: root.text(process::own::STATUS).map(|_| ()),
        hidepid: mount.and_then(|mount| mount.all_options().find_map(hidepid)),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = vec![mounted(facts)];
    if facts.processes.mounted.is_ok() {
        checks.push(hidden(facts));
    }
    checks
}

fn mounted(facts: &Facts) -> Check {
    let source = "proc(5); the names of files and of processes are read there";
    if facts.processes.mounted.is_ok() {
        return Check::new("proc", Status::Yes, "mounted at /proc").source(source);
    }
    use Ability::{
        ImageMake, IndexMake, InstalledRefresh, MeasureBoot, MeasureCold, MeasureHot, MeasureSelective, MeasureWindow,
        PagecacheEvict, PrefetchRecord, Speedup,
    };
    let reason = facts.processes.mounted.as_ref().err().cloned().unwrap_or_default();
    let no_names = "without /proc a program's files cannot be determined";
    Check::new("proc", Status::No, format!("not mounted: {reason}"))
        .needed("mounted at /proc")
        .cost(
            "A program's files cannot be determined, so there is nothing to evict, to record or to prefetch, and \
             the caches cannot be dropped. Processes that continue after a program is ready cannot be found and ended. Hot \
             starts of programs that exit by themselves can be timed.",
        )
        .grants([facts.who.as_root("mount -t proc proc /proc")])
        .source(source)
        .leaves(
            Status::No,
            &[MeasureSelective, PrefetchRecord, ImageMake, IndexMake, InstalledRefresh, Speedup],
            no_names,
        )
        .leaves(Status::No, &[MeasureCold, MeasureBoot], "without /proc the machine's caches cannot be dropped")
        .leaves(Status::No, &[MeasureWindow], "without /proc the owner of a window cannot be determined")
        .leaves(Status::No, &[Ability::TraceRecord], "without /proc a program's processes cannot be traced")
        .leaves(Status::Partly, &[MeasureHot], "only programs that exit by themselves, and the state is not checked")
        .leaves(Status::Partly, &[Ability::PagecacheSave], "only of named directories")
        .leaves(Status::Partly, &[Ability::PagecacheRestore], "only with `--add`: the machine's caches may not be dropped")
        .leaves(Status::Partly, &[PagecacheEvict], "processes that keep a page in memory are unknown")
}

fn hidden(facts: &Facts) -> Check {
    let source = "proc(5), hidepid; /proc/PID/smaps requires ptrace access";
    let option = facts.processes.hidepid.as_deref().unwrap_or("0");
    let is_shown = matches!(option, "0" | "off");
    let now = if is_shown { "all processes are shown".to_owned() } else { format!("hidepid={option}") };
    if may_trace_others(facts) {
        return Check::new("other-processes", Status::Yes, format!("{now}, and we may inspect them")).source(source);
    }
    let check = Check::new("other-processes", Status::Partly, format!("{now}; only your own can be inspected"))
        .needed("root, or CAP_SYS_PTRACE")
        .cost(
            "When `pagecache evict` cannot drop a page because another user's process uses it, that process is not listed.",
        )
        .grants([facts.who.as_root("coldstart pagecache evict FILE")])
        .source(source);
    check.leaves(
        Status::Partly,
        &[Ability::PagecacheEvict],
        "other users' processes that keep pages in memory are not listed",
    )
}
