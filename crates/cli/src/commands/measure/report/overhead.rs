//! The overhead of measuring, as a sentence.

use coldstart_profile::measurement::Measurement;

use crate::output::text::{counted, plain};
use crate::output::time::seconds;

/// The overhead in each time, the time to start `true`, and the polling interval for readiness. `None` if unknown.
pub(super) fn overhead_sentence(measurement: &Measurement) -> Option<String> {
    let overhead = measurement.overhead.as_ref()?;
    let floor = overhead.floor.map(|floor| {
        format!(
            "starting `true` takes {} ({} to {} in the middle half of {})",
            seconds(floor.median),
            seconds(floor.low),
            seconds(floor.high),
            plain(&counted(floor.count as u64, "start"))
        )
    });
    let own = overhead.own().map(|own| {
        format!("own overhead in each time: about {} (creating a process and noticing its end)", seconds(own))
    });
    let step = |(command, step): (_, &Option<f64>)| -> Option<String> {
        let command: &coldstart_profile::measurement::MeasuredCommand = command;
        Some(format!(
            "the readiness of {} is polled every {}, so its times may be too long by this much",
            command.label,
            seconds((*step)?)
        ))
    };
    let steps = measurement.commands.iter().zip(&overhead.readiness_step).filter_map(step);
    let parts: Vec<String> = own.into_iter().chain(floor).chain(steps).collect();
    (!parts.is_empty()).then(|| format!("{}; nothing is subtracted", parts.join("; ")))
}
