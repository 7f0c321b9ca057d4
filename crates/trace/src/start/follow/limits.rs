//! Limits of the kernel's records, as text.

use coldstart_sys::fault_recorder::{FaultAbilities, Recorded};

/// What is missing in a recording, a clause each. `touches` says whether all touches of pages were wanted.
pub(super) fn limits(recorded: &Recorded, touches: bool) -> Vec<String> {
    let Recorded { abilities, throttled, unreadable, ref late_processors, .. } = *recorded;
    in_words(abilities, touches, [throttled, unreadable], late_processors)
}

fn in_words(
    abilities: FaultAbilities,
    touches: bool,
    [throttled, unreadable]: [u64; 2],
    late_processors: &[u32],
) -> Vec<String> {
    let mut limits = Vec::new();
    if touches && !abilities.kernel_faults {
        limits.push(
            "Pages that the kernel touched on the program's behalf are not seen without more privileges".to_owned(),
        );
    }
    if throttled > 0 {
        limits.push(format!(
            "The kernel throttled page faults {throttled} times, because they exceeded `kernel.perf_event_max_sample_rate`"
        ));
    }
    if unreadable > 0 {
        limits.push(format!("Unreadable records of the kernel: {unreadable}"));
    }
    if !late_processors.is_empty() {
        let numbers: Vec<String> = late_processors.iter().map(u32::to_string).collect();
        limits
            .push(format!("Activity on processors that came online meanwhile is not recorded: {}", numbers.join(", ")));
    }
    limits
}

#[cfg(test)]
mod tests {
    use coldstart_sys::fault_recorder::FaultSource;

    use super::*;

    const ALL: FaultAbilities =
        FaultAbilities { source: Some(FaultSource::Tracepoints), kernel_faults: true, access_kinds: true };

    #[test]
    fn what_is_whole_has_no_limits() {
        assert!(in_words(ALL, true, [0, 0], &[]).is_empty());
        let none = FaultAbilities { source: None, kernel_faults: false, access_kinds: false };
        assert!(in_words(none, false, [0, 0], &[]).is_empty());
    }

    #[test]
    fn each_gap_is_told() {
        let told = in_words(FaultAbilities { kernel_faults: false, ..ALL }, true, [3, 2], &[4, 5]);
        let parts = ["on the program's behalf", "3 times", "records of the kernel: 2", "not recorded: 4, 5"];
        assert_eq!(told.len(), parts.len());
        assert!(told.iter().zip(parts).all(|(told, part)| told.contains(part)), "{told:?}");
    }
}
