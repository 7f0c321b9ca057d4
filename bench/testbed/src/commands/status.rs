//! `status`: the running beds.

use std::process::ExitCode;

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

use crate::args::Status;
use crate::bed::{BedKind, State};
use crate::model::Parameters;
use crate::server::{Figures, STATISTICS};
use crate::system::loop_device;
use crate::system::queue::QueueSettings;

/// The object `--json` prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    /// Whether the bed is usable.
    up: bool,
    #[serde(flatten)]
    bed: Option<Bed>,
}

#[derive(Serialize)]
struct Bed {
    name: String,
    kind: BedKind,
    parameters: Option<Parameters>,
    mount_point: String,
    device: Option<String>,
    queue: Option<QueueSettings>,
    server_pid: Option<i32>,
    /// Why it is not usable.
    broken: Option<&'static str>,
    served: Option<Figures>,
}

pub(crate) fn run(arguments: &Status) -> Result<ExitCode> {
    let state = State::load(&arguments.which.home()?)?;
    let bed = state.as_ref().map(describe);
    let up = bed.as_ref().is_some_and(|bed| bed.broken.is_none());
    if arguments.json {
        let report = Report { schema: "coldstart-testbed.status/1", up, bed };
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else if let Some(bed) = bed {
        print(&bed);
    } else {
        println!("nothing is up");
    }
    Ok(if up { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn describe(state: &State) -> Bed {
    let server = state.server().and_then(|(_, process)| process);
    let device = state.device().filter(|device| loop_device::is_attached(device));
    let alive = server.is_some_and(|process| process.is_running());
    let broken = if !state.complete {
        Some("`up` did not finish")
    } else if device.is_none() {
        Some("the loop device does not exist any more")
    } else if state.server().is_some() && !alive {
        Some("the server is dead or stopped")
    } else {
        None
    };
    // A stopped server would keep us waiting for its figures.
    let served = state
        .server()
        .filter(|_| alive)
        .and_then(|(mount_point, _)| serde_json::from_slice(&fs::read(mount_point.join(STATISTICS)).ok()?).ok());
    Bed {
        name: state.name.clone(),
        kind: state.kind,
        parameters: state.parameters.clone(),
        mount_point: state.mount_point.display().to_string(),
        device: device.map(|device| device.display().to_string()),
        queue: device.and_then(|device| QueueSettings::read(device).ok()),
        server_pid: server.map(|process| process.pid),
        broken,
        served,
    }
}

fn print(bed: &Bed) {
    println!("{}: {} at {}", bed.name, bed.kind, bed.mount_point);
    if let Some(broken) = bed.broken {
        println!("  broken: {broken}; take it down with `coldstart-testbed down`");
    }
    if let (Some(device), Some(queue)) = (&bed.device, &bed.queue) {
        println!(
            "  {device}: scheduler {}, rotational {}, read-ahead {} KiB",
            queue.scheduler,
            u8::from(queue.rotational),
            queue.read_ahead_kb
        );
    }
    if let Some(parameters) = &bed.parameters {
        println!("  {}", serde_json::to_string(parameters).unwrap_or_default());
    }
    if let Some(served) = &bed.served {
        println!(
            "  served {} reads, {} MB, at most {} at once, at most {} KiB each; answers late by {} us on average, {} at most",
            served.reads,
            served.bytes / 1_000_000,
            served.deepest_queue,
            served.largest_bytes / 1024,
            served.late_mean_us,
            served.late_most_us
        );
    }
}
