//! Processors: number, frequency, and load.

use coldstart_host::machine;
use coldstart_host::text::count_of_ranges;

use crate::ability::Ability;
use crate::check::{Check, Status};
use crate::groups::facts::Facts;
use crate::probes::Probes;
use crate::root::{MOST, Root};

const MEASURING: [Ability; 4] =
    [Ability::MeasureCold, Ability::MeasureBoot, Ability::MeasureSelective, Ability::MeasureHot];
const FIRST: &str = "/sys/devices/system/cpu/cpu0/cpufreq";

/// Facts from files.
#[derive(Clone, Debug)]
pub(crate) struct Processors {
    /// Online processors; 0 when unknown.
    online: u32,
    allowed: Option<u32>,
    /// Average number of runnable processes of the last minute.
    load: Result<f64, String>,
    governor: Option<String>,
    driver: Option<String>,
    turbo: Option<Turbo>,
    is_virtual: bool,
}

/// Turbo: whether the frequency may exceed the sustained maximum.
#[derive(Clone, Debug)]
struct Turbo {
    is_on: bool,
    file: &'static str,
    /// The value that disables it.
    off: &'static str,
}

/// Files that control it, with their values for on and off.
const TURBO: [(&str, i64, &str); 2] =
    [("/sys/devices/system/cpu/intel_pstate/no_turbo", 0, "1"), ("/sys/devices/system/cpu/cpufreq/boost", 1, "0")];

pub(crate) fn look(root: &Root, probes: &Probes) -> Processors {
    let cpuinfo = root.bytes(machine::PROCESSORS, MOST).unwrap_or_default();
    let load = root.text(machine::LOAD).and_then(|text| {
        let average = machine::load_average(text.as_bytes());
        average.ok_or_else(|| format!("{} does not contain a number", machine::LOAD))
    });
    let turbo = TURBO.iter().find_map(|&(file, on, off)| {
        let value = root.number(file).ok()?;
        Some(Turbo { is_on: value == on, file, off })
    });
    Processors {
        online: count_of_ranges(&root.text("/sys/devices/system/cpu/online").unwrap_or_default()),
        allowed: probes.processors,
        load,
        governor: root.text(format!("{FIRST}/scaling_governor")).ok(),
        driver: root.text(format!("{FIRST}/scaling_driver")).ok(),
        turbo,
        is_virtual: machine::has_hypervisor(&cpuinfo),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = vec![number(facts), load(facts), governor(facts)];
    checks.extend(turbo(facts));
    checks
}

fn number(facts: &Facts) -> Check {
    let source = "sched_getaffinity(2); /sys/devices/system/cpu/online";
    let processors = &facts.processors;
    let (status, now) = match (processors.online, processors.allowed) {
        (0, None) => (Status::Unknown, "unknown".to_owned()),
        (0, Some(allowed)) => (Status::Yes, format!("{allowed} may be used")),
        (online, None) => (Status::Yes, format!("{online}")),
        (online, Some(allowed)) if allowed < online => (Status::Partly, format!("{allowed} of {online} may be used")),
        (online, _) => (Status::Yes, format!("all {online}")),
    };
    let check = Check::new("processors", status, now).source(source);
    match status {
        Status::Yes => check,
        Status::Unknown => check.cost("Nothing by itself: it helps to compare figures with those of other machines."),
        _ => check
            .needed("all")
            .cost("Programs start with fewer processors than the machine has: concurrent prefetching gains less.")
            .grants([crate::check::Grant {
                command: format!("taskset -c 0-{} coldstart measure -- PROGRAM", processors.online.saturating_sub(1)),
                run: crate::check::Where::Here,
            }]),
    }
}

fn load(facts: &Facts) -> Check {
    let source = "proc_loadavg(5)";
    let processors = f64::from(facts.processors.allowed.unwrap_or(facts.processors.online).max(1));
    match &facts.processors.load {
        Ok(load) if *load > processors / 2.0 => {
            let now = format!("{load:.2} runnable in the last minute, on {processors} processors");
            Check::new("load", Status::Partly, now)
                .needed("an idle machine")
                .cost("Other programs compete with the measured ones: more spread, and more runs for the same confidence.")
                .grants([crate::check::Grant {
                    command: "coldstart measure --runs 50 -- PROGRAM".to_owned(),
                    run: crate::check::Where::Here,
                }])
                .source(source)
                .leaves(Status::Yes, &MEASURING, "other programs keep the machine busy now")
        }
        Ok(load) => Check::new("load", Status::Yes, format!("{load:.2} runnable in the last minute")).source(source),
        Err(reason) => Check::new("load", Status::Unknown, reason.clone())
            .cost("The load of the machine is unknown.")
            .source(source),
    }
}

fn governor(facts: &Facts) -> Check {
    let source = "Documentation/admin-guide/pm/cpufreq.rst";
    let name = "clock";
    let processors = &facts.processors;
    let driver = processors.driver.as_deref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
    match processors.governor.as_deref() {
        None => {
            let what = if processors.is_virtual { "a virtual machine, " } else { "" };
            Check::new(name, Status::Unknown, format!("{what}no cpufreq: frequency control is not visible"))
                .cost("The frequency may change unnoticed between runs; compare in alternating order (`--compare`).")
                .source(source)
        }
        Some("performance") => Check::new(name, Status::Yes, format!("governor performance{driver}")).source(source),
        Some(governor) => {
            let file = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
            Check::new(name, Status::Partly, format!("governor {governor}{driver}"))
                .needed("governor performance while measuring")
                .cost("The frequency is low when a start begins and rises while it runs: short starts look slower, and times spread.")
                .grants([facts.who.as_root(&format!("for file in {file}; do echo performance > $file; done"))])
                .source(source)
                .leaves(Status::Yes, &MEASURING, "the processors' frequency changes while programs start")
        }
    }
}

fn turbo(facts: &Facts) -> Option<Check> {
    let source = "Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst (boost)";
    let turbo = facts.processors.turbo.as_ref()?;
    if !turbo.is_on {
        return Some(Check::new("turbo", Status::Yes, "off").source(source));
    }
    Some(
        Check::new("turbo", Status::Partly, "on")
            .needed("off while measuring")
            .cost("The processors' speed depends on their temperature: the first of many runs look faster.")
            .grants([facts.who.write(turbo.off, turbo.file)])
            .source(source)
            .leaves(Status::Yes, &MEASURING, "the processors run faster while they are cool (turbo)"),
    )
}
