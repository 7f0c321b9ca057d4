//! How exactly the readiness `window` is timed: `window_precision [LAUNCHES]`, on the display of `DISPLAY`.
//!
//! Launches `map_window plain` (build it first: `cargo build --examples`) and compares the moment that the launch reports
//! with the program's own stopwatch, which stops when it learns of the same event. Both read the monotonic clock.

use std::error::Error;
use std::time::Duration;

use coldstart_launch::{CommandLine, LaunchOptions, Output, PreparedLaunch};
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn Error>> {
    let launches: usize = std::env::args().nth(1).map_or(Ok(50), |number| number.parse())?;
    let program = std::env::current_exe()?.with_file_name("map_window");
    let output = std::env::temp_dir().join(format!("window-precision-{}", std::process::id()));
    let options = LaunchOptions {
        readiness: "window".parse()?,
        output: Output::File(output.clone()),
        time_limit: Some(Duration::from_secs(20)),
        ..LaunchOptions::default()
    };
    let mut differences = Vec::new();
    let mut times = Vec::new();
    for _ in 0..launches {
        let prepared = PreparedLaunch::new(&CommandLine::new(&program, ["plain"]), &options, None)?;
        // The launch's own clock starts some microseconds later.
        let begin = monotonic();
        // The program may still be about to write its line.
        let launched = prepared.run(&mut || std::thread::sleep(Duration::from_millis(50)))?;
        let ready_after = launched.ready_after.ok_or_else(|| format!("it was not ready: {launched:?}"))?;
        let told = std::fs::read_to_string(&output)?;
        let mapped = told.lines().find_map(|line| line.strip_prefix("mapped ")).ok_or("it did not tell its time")?;
        let ready = begin + i128::try_from(ready_after.as_nanos())?;
        differences.push(ready - mapped.parse::<i128>()?);
        times.push(ready_after.as_secs_f64() * 1e3);
    }
    std::fs::remove_file(&output)?;
    let milliseconds = |nanoseconds: &i128| *nanoseconds as f64 / 1e6;
    let (earliest, latest) = (differences.iter().min(), differences.iter().max());
    let mut distances: Vec<f64> = differences.iter().map(|difference| milliseconds(difference).abs()).collect();
    println!(
        "{launches} launches, ready after {:.2} ms (median); distance from the program's own stopwatch: median {:.3} ms, \
         maximum {:.3} ms (from {:.3} to {:+.3} ms)",
        median(&mut times),
        median(&mut distances),
        distances.last().copied().unwrap_or_default(),
        earliest.map_or(0.0, milliseconds),
        latest.map_or(0.0, milliseconds),
    );
    // For programs: JSON.
    println!("{{\"stopwatch\": {:?}}}", differences.iter().map(milliseconds).collect::<Vec<_>>());
    Ok(())
}

/// Sorts, too.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn monotonic() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
