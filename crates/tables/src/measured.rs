//! The runs of kept measurements.

use coldstart_profile::measurement::{KeptMeasurement, Residency, Sample};

use crate::column::row;

row! {
    /// One run of a measured command, with the columns of `coldstart measure --history --csv`.
    RunRow in "runs" {
        /// The measurement's number in the history.
        measurement: u64,
        /// The measurement's ID, the same in every history.
        id: String,
        /// When it began, in seconds since 1970-01-01 UTC.
        measured_at: u64,
        /// The user's label.
        label: Option<String>,
        /// The version of coldstart that measured.
        coldstart_version: String,
        /// The kernel.
        kernel: String,
        /// The processor.
        processor: String,
        /// Number of processors.
        processor_count: u64,
        /// Memory in bytes.
        memory: u64,
        /// The frequency governor, where it is known.
        governor: Option<String>,
        /// The command's label.
        command: String,
        /// Program and arguments.
        command_line: String,
        /// What it was ready by.
        readiness: String,
        /// The program's path, where it is known.
        program: Option<String>,
        /// The program's build ID.
        build_id: Option<String>,
        /// The program's digest.
        content_hash: Option<String>,
        /// Place of the run in its measurement, from 1.
        number: u64,
        /// The state of the caches that it was started in.
        state: String,
        /// Runs of one round ran close together.
        round: u64,
        /// 1 for the first try of this command in this round.
        attempt: u64,
        /// Whether it counts: `counted`, `warm-up`, `failed` or `contradicts`.
        used: &'static str,
        /// Why it does not count.
        reason: Option<String>,
        /// From the start to readiness, in seconds; absent if it never became ready.
        seconds: Option<f64>,
        /// How the program ended: `exited`, `signalled`, `ended` once it was ready, or `timed-out`.
        end: &'static str,
        /// Exit code or number of the signal.
        end_value: Option<i64>,
        /// Pages of 4 KiB of the program's files.
        file_pages: Option<u64>,
        /// How many of them were resident before the start.
        resident_pages: Option<u64>,
        /// Files whose residency is hidden.
        unknown_files: Option<u64>,
        /// Files that are not there any more.
        missing_files: Option<u64>,
        /// Bytes read from disks for the program's processes.
        bytes_read: Option<u64>,
        /// Page faults that waited for I/O.
        major_faults: Option<u64>,
        /// Page faults served from memory.
        minor_faults: Option<u64>,
        /// Processor time in user mode, in seconds.
        user_seconds: Option<f64>,
        /// Processor time in the kernel, in seconds.
        system_seconds: Option<f64>,
        /// Requests to the devices with the program's files.
        device_requests: Option<u64>,
        /// Bytes read from them.
        device_bytes: Option<u64>,
        /// These devices, as MAJOR:MINOR, separated by spaces.
        devices: String,
    }
}

impl RunRow {
    /// The runs of a measurement with this number.
    pub fn of(measurement: i64, kept: &KeptMeasurement) -> Vec<Self> {
        kept.measurement.samples.iter().map(|sample| Self::of_run(measurement, kept, sample)).collect()
    }

    fn of_run(measurement: i64, kept: &KeptMeasurement, sample: &Sample) -> Self {
        let machine = &kept.measurement.machine;
        let measured = kept.measurement.commands.get(sample.command);
        let command = |text: fn(&coldstart_profile::measurement::MeasuredCommand) -> &String| {
            measured.map(text).cloned().unwrap_or_default()
        };
        let program = kept.program(sample.command);
        let residency = |value: fn(&Residency) -> u64| sample.residency.as_ref().map(value);
        Self {
            measurement: u64::try_from(measurement).unwrap_or_default(),
            id: kept.id.clone(),
            measured_at: u64::try_from(kept.measured_at).unwrap_or_default(),
            label: kept.label.clone(),
            coldstart_version: kept.coldstart_version.clone(),
            kernel: machine.kernel.clone(),
            processor: machine.processor.clone(),
            processor_count: machine.processor_count.into(),
            memory: machine.memory,
            governor: machine.governor.clone(),
            command: command(|command| &command.label),
            command_line: command(|command| &command.command_line),
            readiness: command(|command| &command.readiness),
            program: program.map(|program| program.path.clone()),
            build_id: program.and_then(|program| program.build_id.clone()),
            content_hash: program.and_then(|program| program.content_hash.clone()),
            number: sample.number.into(),
            state: sample.state.to_string(),
            round: sample.round.into(),
            attempt: sample.attempt.into(),
            used: sample.used.name(),
            reason: sample.used.reason().map(str::to_owned),
            seconds: sample.seconds,
            end: sample.end.name(),
            end_value: sample.end.value().map(i64::from),
            file_pages: residency(|residency| residency.file_pages),
            resident_pages: residency(|residency| residency.resident_pages),
            unknown_files: residency(|residency| residency.unknown_files),
            missing_files: residency(|residency| residency.missing_files),
            bytes_read: sample.bytes_read,
            major_faults: sample.major_faults,
            minor_faults: sample.minor_faults,
            user_seconds: sample.user_seconds,
            system_seconds: sample.system_seconds,
            device_requests: sample.over_devices(|device| device.requests),
            device_bytes: sample.over_devices(|device| device.bytes),
            devices: sample.device_numbers(),
        }
    }
}
