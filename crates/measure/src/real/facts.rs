//! What of the machine bears on start-up times.

use std::fs;

use coldstart_profile::measurement::{Device, Machine};

/// Reads what stays as it is from `/proc` and `/sys`; what cannot be read stays empty. What may change meanwhile is entered
/// by [`Surroundings`](crate::surroundings::Surroundings).
pub(crate) fn machine(devices: Vec<Device>) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let processors = read("/proc/cpuinfo");
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    Machine {
        kernel: read("/proc/sys/kernel/osrelease"),
        // "model name" on x86, "Model" or "cpu model" elsewhere; ARM mostly tells none.
        processor: ["model name", "cpu model", "Model", "cpu"]
            .iter()
            .find_map(|name| field(&processors, name))
            .unwrap_or_default()
            .to_owned(),
        processor_count: processor_count(&read("/sys/devices/system/cpu/online")),
        governor: (!governor.is_empty()).then_some(governor),
        memory: memory(&read("/proc/meminfo")),
        devices,
        ..Machine::default()
    }
}

/// "name : value"
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim())
    })
}

/// "0-3,6": five.
fn processor_count(online: &str) -> u32 {
    let length = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    online.split(',').filter_map(length).fold(0, u32::saturating_add)
}

/// "MemTotal: 24 kB": in bytes.
fn memory(text: &str) -> u64 {
    let kib = field(text, "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = machine(Vec::new());
        assert!(!machine.kernel.is_empty() && machine.memory > 1 << 20);
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap();
        let listed = processors.lines().filter(|line| line.starts_with("processor")).count();
        assert_eq!(machine.processor_count as usize, listed);
    }

    #[test]
    fn processors_come_in_ranges() {
        for (online, count) in [("0", 1), ("0-3,6", 5), ("", 0), ("3-1", 0), ("x,0-1", 2)] {
            assert_eq!(processor_count(online), count, "{online}");
        }
    }
}
