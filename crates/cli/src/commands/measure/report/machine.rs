//! The machine of a measurement, in one line.

use coldstart_profile::measurement::{Device, Frequency, FrequencyRange, Machine, Turbo};

use crate::output::size;
use crate::output::wrap::wrapped;

/// Processors, memory, kernel, disks, and processor frequency.
pub(crate) fn machine_line(machine: &Machine) -> String {
    let processor = if machine.processor.is_empty() { "processor" } else { &machine.processor };
    let mut parts = vec![format!(
        "machine: {} x {processor}{}, {} memory, Linux {}",
        machine.processor_count,
        if machine.is_virtual { " (virtual)" } else { "" },
        size::bytes(machine.memory),
        machine.kernel
    )];
    parts.extend(machine.devices.iter().map(device));
    parts.push(machine.frequency.as_ref().map_or_else(|| "frequency: unknown".to_owned(), frequency));
    wrapped(&parts.join("; "), 0)
}

fn device(device: &Device) -> String {
    let readahead = device.read_ahead_kib.map(|kib| format!(", {kib} KiB readahead")).unwrap_or_default();
    let kind = match device.rotational {
        Some(true) => ", rotational",
        _ => "",
    };
    format!("{}{kind}{readahead}", device.name)
}

/// "frequency: intel_pstate, governor powersave (balance_power), 0.8 to 4.9 GHz, turbo on, 1.9 GHz at the beginning, ..."
fn frequency(frequency: &Frequency) -> String {
    let mut words = vec![format!("frequency: {}", frequency.driver)];
    let preferences = if frequency.energy_preferences.is_empty() {
        String::new()
    } else {
        format!(" ({})", frequency.energy_preferences.join(", "))
    };
    words.push(match &frequency.governors[..] {
        [] => "no governor".to_owned(),
        [governor] => format!("governor {governor}{preferences}"),
        mixed => format!("mixed governors {}{preferences}", mixed.join(", ")),
    });
    match (frequency.held, frequency.allowed) {
        (Some(held), _) => words.push(format!("held at {}", gigahertz(held))),
        (None, Some(allowed)) => words.push(gigahertz(allowed)),
        (None, None) => {}
    }
    words.extend(frequency.turbo.map(|turbo| {
        match turbo {
            Turbo::On => "turbo on",
            Turbo::Off => "turbo off",
            Turbo::Mixed => "turbo on for some",
        }
        .to_owned()
    }));
    words.extend(frequency.at_begin.map(|range| format!("{} at the beginning", gigahertz(range))));
    words.extend(frequency.at_end.map(|range| format!("{} at the end", gigahertz(range))));
    words.join(", ")
}

/// "2.6 GHz", "0.8 to 4.9 GHz"
fn gigahertz(range: FrequencyRange) -> String {
    let word = |kilohertz: u64| format!("{:.1}", kilohertz as f64 / 1e6);
    let (least, greatest) = (word(range.least), word(range.greatest));
    if least == greatest { format!("{least} GHz") } else { format!("{least} to {greatest} GHz") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(frequency: Option<Frequency>) -> String {
        let machine = Machine { kernel: "6.18".into(), processor_count: 2, frequency, ..Machine::default() };
        machine_line(&machine).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_machine_that_tells_no_frequency_is_said_to() {
        assert_eq!(line(None), "machine: 2 x processor, 0 B memory, Linux 6.18; frequency: unknown");
    }

    #[test]
    fn the_frequency_is_told_with_who_decides_it() {
        let frequency = Frequency {
            driver: "intel_pstate".into(),
            governors: vec!["performance".into(), "powersave".into()],
            energy_preferences: vec!["balance_power".into()],
            turbo: Some(Turbo::On),
            allowed: FrequencyRange::over([800_000, 4_900_000]),
            at_begin: FrequencyRange::over([1_900_000]),
            at_end: FrequencyRange::over([1_900_000, 3_210_000]),
            ..Frequency::default()
        };
        let free = line(Some(frequency.clone()));
        assert!(
            free.ends_with(
                "; frequency: intel_pstate, mixed governors performance, powersave (balance_power), 0.8 to 4.9 GHz, \
                 turbo on, 1.9 GHz at the beginning, 1.9 to 3.2 GHz at the end"
            ),
            "{free}"
        );
        let held = Frequency { held: FrequencyRange::over([2_600_000]), turbo: Some(Turbo::Off), ..frequency };
        assert!(line(Some(held)).contains("held at 2.6 GHz, turbo off, "));
    }
}
