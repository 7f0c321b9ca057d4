//! Whether two measurements count as made on the same machine.

use super::{Device, Machine};

/// Memory may differ by one part in so many: the kernel keeps a little more or less for itself at each start.
const MEMORY_PART: u64 = 32;

impl Machine {
    /// In what this machine differs from another so that times of the two must not be compared, in words:
    /// "kernel 6.1 instead of 6.6". Nothing if they count as the same.
    ///
    /// Devices count where both have named some: a program whose files are in memory has none.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, this: String, that: String| {
            if this != that {
                found.push(format!("{what} {} instead of {}", named(&this), named(&that)));
            }
        };
        let processor = |machine: &Self| format!("{} x {}", machine.processor_count, machine.processor);
        compare("kernel", self.kernel.clone(), other.kernel.clone());
        compare("processor", processor(self), processor(other));
        compare("governor", self.governor.clone().unwrap_or_default(), other.governor.clone().unwrap_or_default());
        if self.memory.abs_diff(other.memory) > self.memory.max(other.memory) / MEMORY_PART {
            let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
            compare("memory", mebibytes(self.memory), mebibytes(other.memory));
        }
        if !self.devices.is_empty() && !other.devices.is_empty() {
            compare("device", devices(&self.devices), devices(&other.devices));
        }
        found
    }
}

fn named(text: &str) -> &str {
    if text.is_empty() { "(unknown)" } else { text }
}

/// By model or, of virtual ones, by name; numbers change from start to start. Readahead decides what a cold start
/// reads.
fn devices(devices: &[Device]) -> String {
    let mut names: Vec<String> = devices
        .iter()
        .map(|device| {
            let name = device.model.as_deref().unwrap_or(&device.name);
            device.read_ahead_kib.map_or_else(|| name.to_owned(), |kib| format!("{name} ({kib} KiB readahead)"))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let device = Device {
            number: "8:1".into(),
            name: "sda1".into(),
            model: Some("Disk 9".into()),
            rotational: Some(false),
            read_ahead_kib: Some(128),
            scheduler: None,
        };
        Machine {
            kernel: "6.1".into(),
            processor: "P".into(),
            processor_count: 2,
            governor: None,
            memory: 8 << 30,
            devices: vec![device],
            ..Machine::default()
        }
    }

    #[test]
    fn what_changes_from_start_to_start_is_no_difference() {
        let mut other = machine();
        other.memory -= 5 << 20;
        other.devices[0].number = "8:17".into();
        other.devices[0].name = "sdb1".into();
        assert_eq!(machine().differences(&other), Vec::<String>::new());
        other.devices.clear();
        assert_eq!(machine().differences(&other), Vec::<String>::new());
    }

    #[test]
    fn differences_are_named() {
        let mut other = machine();
        other.kernel = "6.6".into();
        other.governor = Some("performance".into());
        other.memory = 4 << 30;
        other.processor_count = 4;
        other.devices[0].read_ahead_kib = Some(4096);
        assert_eq!(
            machine().differences(&other),
            [
                "kernel 6.1 instead of 6.6",
                "processor 2 x P instead of 4 x P",
                "governor (unknown) instead of performance",
                "memory 8192 MiB instead of 4096 MiB",
                "device Disk 9 (128 KiB readahead) instead of Disk 9 (4096 KiB readahead)",
            ]
        );
    }
}
