//! Facts of the machine that affect start-up times.

use std::fs;

use coldstart_host::kernel;
use coldstart_host::machine::{Memory, PROCESSORS, processor_model};
use coldstart_host::text::count_of_ranges;
use coldstart_profile::measurement::{Device, Machine};

/// Reads the constant facts; unreadable ones stay empty. Those that may change meanwhile are entered by
/// [`Surroundings`](crate::surroundings::Surroundings).
pub(crate) fn machine(devices: Vec<Device>) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let processors = fs::read(PROCESSORS).unwrap_or_default();
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    Machine {
        kernel: kernel::release().unwrap_or_default(),
        processor: String::from_utf8_lossy(processor_model(&processors).unwrap_or_default()).into_owned(),
        processor_count: count_of_ranges(&read("/sys/devices/system/cpu/online")),
        governor: (!governor.is_empty()).then_some(governor),
        memory: Memory::here().total.unwrap_or(0),
        devices,
        ..Machine::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = machine(Vec::new());
        assert!(!machine.kernel.is_empty() && machine.memory > 1 << 20);
        let processors = fs::read_to_string(PROCESSORS).unwrap();
        let listed = processors.lines().filter(|line| line.starts_with("processor")).count();
        assert_eq!(machine.processor_count as usize, listed);
    }
}
