//! The overhead of measuring, determined before the measurement.
//!
//! A time runs from our clock reading before the spawn to that after readiness. Besides the program itself, it
//! includes creating a process and noticing its end. The first is measured by the same call with a missing program,
//! which fails where another would begin; the second by a process that records the time of its own end.
//! Starting `true` in the same way then shows the cost of the smallest program on top.

use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::ProcessFiles;
use coldstart_profile::measurement::{Overhead, Spread};
use coldstart_sys::empty_process::wake_time;

use crate::statistics::median;

/// Repetitions of each; together some 40 ms, most of which the processes sleep.
const REPETITIONS: usize = 31;

/// Polling interval of these kinds of readiness, in seconds; the kernel notifies us of all others.
const POLLED: [&str; 3] = ["port", "http", "file"];
const POLLING_STEP: f64 = 0.001;

/// Measures the overhead. `floor_times` are those of starting `true`, in seconds; `readiness` that of each command, as displayed.
pub(crate) fn calibrate(floor_times: &[f64], readiness: &[String]) -> Overhead {
    let repeated = |measure: fn() -> io::Result<Duration>| {
        let times: Vec<f64> = (0..REPETITIONS).filter_map(|_| Some(measure().ok()?.as_secs_f64())).collect();
        spread(&times)
    };
    Overhead {
        floor: spread(floor_times),
        spawn: repeated(spawn_time),
        wake: repeated(wake_time),
        readiness_step: readiness.iter().map(|readiness| readiness_step(readiness)).collect(),
    }
}

/// The time from before a spawn, as in a launch, until we know that the program is missing. It includes the child's end,
/// which is not part of other starts: the true figure is smaller, not larger.
fn spawn_time() -> io::Result<Duration> {
    // No kernel has such a file.
    let mut command = Command::new(ProcessFiles::own().at("no-such-program"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let begin = Instant::now();
    match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(begin.elapsed()),
        Err(error) => Err(error),
        Ok(mut child) => child.kill().and_then(|()| child.wait()).and(Err(ErrorKind::AlreadyExists.into())),
    }
}

fn spread(times: &[f64]) -> Option<Spread> {
    Some(Spread {
        count: u32::try_from(times.len()).unwrap_or(u32::MAX),
        median: median(times)?,
        low: quartile(times, 1)?,
        high: quartile(times, 3)?,
    })
}

/// The quartile number `number`, without interpolation.
fn quartile(times: &[f64], number: usize) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get((sorted.len().checked_sub(1)? * number + 2) / 4).copied()
}

fn readiness_step(readiness: &str) -> Option<f64> {
    let kind = readiness.split_once(':').map_or(readiness, |(kind, _)| kind);
    POLLED.contains(&kind).then_some(POLLING_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_polled_has_a_step() {
        let overhead = calibrate(&[0.3, 0.1, 0.2], &["exit".into(), "port:80".into(), "stdout:port:1".into()]);
        assert_eq!(overhead.readiness_step, [None, Some(0.001), None]);
        let floor = overhead.floor.unwrap();
        assert_eq!((floor.count, floor.median), (3, 0.2));
        assert!(floor.low <= floor.median && floor.median <= floor.high);
        let own = overhead.own().unwrap();
        assert!(own > 0.0 && own >= overhead.wake.unwrap().median);
        assert_eq!(overhead.spawn.unwrap().count as usize, REPETITIONS);
    }

    #[test]
    fn quartiles_are_values_of_the_list() {
        let quartiles = |times: &[f64]| [1, 2, 3].map(|number| quartile(times, number).unwrap());
        assert_eq!(quartiles(&[5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[7.0]), [7.0; 3]);
        assert_eq!(quartile(&[], 1), None);
    }

    #[test]
    fn without_true_the_rest_is_still_known() {
        let overhead = calibrate(&[], &[]);
        assert!(overhead.floor.is_none() && overhead.own().is_some());
    }
}
