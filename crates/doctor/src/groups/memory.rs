//! Unexpected reclaim of pages, and causes of variation in memory use.

use coldstart_host::kernel::settings;
use coldstart_host::machine;
use coldstart_host::text::chosen;

use crate::ability::Ability;
use crate::check::{Check, Status};
use crate::groups::facts::Facts;
use crate::root::{MOST, Root};

/// Facts from files.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// `always [madvise] never`, or why it is unknown.
    huge_pages: Result<String, String>,
    /// Bytes of swap, all and free.
    swap: Result<(u64, u64), String>,
    /// Files to write "off" to: running monitors with a scheme that reclaims pages.
    kdamonds: Vec<String>,
    /// Monitors without such a scheme, or with unreadable schemes.
    harmless_kdamonds: usize,
    damon_reclaim: bool,
    has_damon: bool,
    /// `kernel.randomize_va_space`.
    address_layout: Result<i64, String>,
}

const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";
const DAMON_RECLAIM: &str = "/sys/module/damon_reclaim/parameters/enabled";

pub(crate) fn look(root: &Root) -> Memory {
    let numbered = |path: &str| -> Vec<String> {
        let names = root.names(path).into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        names.map(|name| format!("{path}/{name}")).collect()
    };
    let mut kdamonds = Vec::new();
    let mut harmless_kdamonds = 0;
    for kdamond in numbered(DAMON) {
        let state = format!("{kdamond}/state");
        if root.text(&state).as_deref() != Ok("on") {
            continue;
        }
        let actions = numbered(&format!("{kdamond}/contexts"))
            .iter()
            .flat_map(|context| numbered(&format!("{context}/schemes")))
            .map(|scheme| root.text(format!("{scheme}/action")))
            .collect::<Vec<_>>();
        // `pageout` and `cold` reclaim pages; `stat` and others only monitor.
        let evicts = |action: &Result<String, String>| matches!(action.as_deref(), Ok("pageout" | "cold"));
        if actions.iter().any(evicts) { kdamonds.push(state) } else { harmless_kdamonds += 1 }
    }
    let swap = root.bytes(machine::MEMORY, MOST).and_then(|text| {
        let memory = machine::Memory::parse(&text);
        let has_no = |name: &str| format!("{} has no {name}", machine::MEMORY);
        let total = memory.swap_total.ok_or_else(|| has_no("SwapTotal"))?;
        Ok((total, memory.swap_free.ok_or_else(|| has_no("SwapFree"))?))
    });
    Memory {
        huge_pages: root.text("/sys/kernel/mm/transparent_hugepage/enabled"),
        swap,
        kdamonds,
        harmless_kdamonds,
        damon_reclaim: matches!(root.text(DAMON_RECLAIM).as_deref(), Ok("Y" | "1")),
        has_damon: root.exists("/sys/kernel/mm/damon"),
        address_layout: root.number(settings::RANDOMIZE_VA_SPACE),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![damon(facts), huge_pages(facts), swap(facts), address_layout(facts)]
}

fn damon(facts: &Facts) -> Check {
    let source = "Documentation/admin-guide/mm/damon/usage.rst, reclaim.rst";
    let memory = &facts.memory;
    if memory.kdamonds.is_empty() && !memory.damon_reclaim {
        let now = match (memory.harmless_kdamonds, memory.has_damon) {
            (0, true) => "no proactive reclaim".to_owned(),
            (0, false) => "the kernel has no DAMON, or /sys is not there".to_owned(),
            (count, _) => format!("{count} monitors run, without a visible scheme that reclaims pages"),
        };
        return Check::new("proactive-reclaim", Status::Yes, now).source(source);
    }
    let mut words = Vec::new();
    words.extend(memory.kdamonds.iter().map(|state| format!("{state} is on, with a scheme that pages out")));
    words.extend(memory.damon_reclaim.then(|| format!("{DAMON_RECLAIM} is Y")));
    let mut grants: Vec<_> = memory.kdamonds.iter().map(|state| facts.who.write("off", state)).collect();
    grants.extend(memory.damon_reclaim.then(|| facts.who.write("N", DAMON_RECLAIM)));
    Check::new("proactive-reclaim", Status::Partly, words.join("; "))
        .needed("off while measuring; write `on` (or `Y`) afterwards to restore it")
        .cost(
            "The kernel proactively reclaims pages that were not used for some seconds. Hot starts that do not \
             follow each other at once are not hot, and prefetched pages may be evicted before they are used. `measure` detects \
             this, repeats such runs and reports it.",
        )
        .grants(grants)
        .source(source)
        .leaves(Status::Partly, &[Ability::MeasureHot], "the kernel reclaims unused pages (DAMON); such runs are repeated")
}

fn huge_pages(facts: &Facts) -> Check {
    let source = "Documentation/admin-guide/mm/transhuge.rst; mm/memory.c, do_set_pmd";
    let name = "huge-pages";
    match &facts.memory.huge_pages {
        Ok(line) => {
            let chosen = chosen(line);
            let now = format!("transparent huge pages: {chosen}");
            if chosen == "always" {
                // `trace` disables them for the program elsewhere. Here that would change the program's behaviour.
                return Check::new(name, Status::Partly, now)
                    .needed("madvise or never while recording; write `always` afterwards to restore it")
                    .cost(
                        "Where a file is cached in folios of 2 MiB, one touch maps all of it, and `trace` does not see the \
                         touches of the other 511 pages. Page faults of memory without a file vary between runs.",
                    )
                    .grants([facts.who.write("madvise", "/sys/kernel/mm/transparent_hugepage/enabled")])
                    .source(source)
                    .leaves(Status::Yes, &[Ability::TraceRecord], "huge pages of files may hide touches");
            }
            Check::new(name, Status::Yes, now).source(source)
        }
        Err(reason) => Check::new(name, Status::Unknown, reason.clone())
            .cost("Nothing by itself: it helps to compare figures with those of other machines.")
            .source(source),
    }
}

fn swap(facts: &Facts) -> Check {
    let source = "proc_meminfo(5)";
    let mib = |bytes: u64| bytes >> 20;
    match &facts.memory.swap {
        Ok((0, _)) => Check::new("swap", Status::Yes, "none").source(source),
        Ok((total, free)) => {
            let used = total.saturating_sub(*free);
            let now = format!("{} MiB, {} MiB of it used", mib(*total), mib(used));
            let check = Check::new("swap", Status::Yes, now).source(source);
            if used == 0 {
                return check;
            }
            check.cost("Swapped-out programs read from the disk during measurements.")
        }
        Err(reason) => Check::new("swap", Status::Unknown, reason.clone())
            .cost("Nothing by itself: swapping would show as reads of other programs.")
            .source(source),
    }
}

fn address_layout(facts: &Facts) -> Check {
    let source = "Documentation/admin-guide/sysctl/kernel.rst, randomize_va_space";
    let name = "address-layout";
    match &facts.memory.address_layout {
        Ok(0) => Check::new(name, Status::Yes, "the same at each start (randomize_va_space = 0)").source(source),
        // As it should be: users' machines have it, and runs should vary as theirs do.
        Ok(value) => Check::new(name, Status::Yes, format!("random (randomize_va_space = {value})")).source(source),
        Err(reason) => Check::new(name, Status::Unknown, reason.clone())
            .cost("Nothing by itself: it contributes to the spread of figures.")
            .source(source),
    }
}
