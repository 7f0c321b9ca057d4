//! Real programs whose page faults are known: they touch pages in a known order and print what they did.
//!
//! Needs gcc and, for what holds without privileges, root: this test program again as the user nobody, with its role in the environment.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_sys::fault_recorder::{
    Fault, FaultRecorder, FaultRecorderError, FaultRecorderOptions, FaultSource, Mapped, PerfRecord, PerfRecordKind,
    Recorded,
};
use coldstart_testing::{copy_this_program, skip};

const ROLE: &str = "COLDSTART_FAULT_RECORDER_FOLDER";

/// A folder that everybody may read, with the program and a file for it to map.
fn prepare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fault_recorder/touches.c");
    let program = folder.path().join("touches");
    let built = Command::new("gcc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status().unwrap();
    assert!(built.success());
    let mut file = File::create(folder.path().join("data")).unwrap();
    file.write_all(&vec![7; 2 << 20]).unwrap();
    file.sync_all().unwrap();
    folder
}

/// What a recorded run has brought.
struct Run {
    recorded: Recorded,
    records: Vec<PerfRecord>,
    process: u32,
    output: String,
    /// `ru_minflt` and `ru_majflt` of the program and its children, with those before it was recorded.
    minor: i64,
    major: i64,
}

/// Runs `command`, recorded from a moment at which it stands still before its `execve`. It is reaped by `wait4`, which tells its faults.
#[allow(clippy::zombie_processes)]
fn record(command: &mut Command, options: &FaultRecorderOptions) -> Result<Run, FaultRecorderError> {
    let (mut number, number_out) = std::io::pipe().unwrap();
    let (go, mut go_out) = std::io::pipe().unwrap();
    let (number_fd, go_fd) = (number_out.as_raw_fd(), go.as_raw_fd());
    // SAFETY: between fork and exec there are only system calls; the descriptors are open as long as the command is spawned.
    unsafe {
        command.pre_exec(move || {
            let own = libc::getpid().to_ne_bytes();
            let mut byte = 0u8;
            if libc::write(number_fd, own.as_ptr().cast(), 4) != 4 || libc::read(go_fd, (&raw mut byte).cast(), 1) != 1
            {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        })
    };
    command.stdout(Stdio::piped());
    std::thread::scope(|scope| {
        let spawner = scope.spawn(|| command.spawn().unwrap());
        let mut bytes = [0; 4];
        number.read_exact(&mut bytes).unwrap();
        let process = u32::from_ne_bytes(bytes);
        let recorder = FaultRecorder::start(process, options);
        go_out.write_all(&[1]).unwrap();
        let mut child = spawner.join().unwrap();
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        // SAFETY: all-zero bytes are a valid `rusage`, and the kernel fills it and `status`.
        let (usage, status) = unsafe {
            let (mut usage, mut status) = (std::mem::zeroed::<libc::rusage>(), 0);
            assert_eq!(libc::wait4(process as i32, &raw mut status, 0, &raw mut usage), process as i32);
            (usage, status)
        };
        assert_eq!(status, 0, "{output}");
        let recorded = recorder?.finish().unwrap();
        let records: Vec<PerfRecord> = recorded.records().collect();
        assert_eq!((recorded.len(), recorded.is_empty()), (records.len(), false));
        assert_eq!((recorded.throttled, recorded.unreadable), (0, 0));
        assert!(records.is_sorted_by_key(|record| record.at));
        Ok(Run { recorded, records, process, output, minor: usage.ru_minflt, major: usage.ru_majflt })
    })
}

fn touches(folder: &Path, rounds: u32) -> Command {
    let mut command = Command::new(folder.join("touches"));
    command.arg(folder.join("data")).arg(rounds.to_string());
    command
}

impl Run {
    fn faults(&self) -> impl Iterator<Item = (&PerfRecord, Fault)> {
        self.records.iter().filter_map(|record| match record.what {
            PerfRecordKind::Fault(fault) => Some((record, fault)),
            _ => None,
        })
    }

    fn mappings(&self) -> impl Iterator<Item = &Mapped> {
        self.records.iter().filter_map(|record| match &record.what {
            PerfRecordKind::Mapped(mapped) => Some(mapped),
            _ => None,
        })
    }

    /// What the program says of this range: address and length.
    fn range(&self, name: &str) -> (u64, u64) {
        let line = self.output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        let (address, length) = line.split_once(' ').unwrap();
        (u64::from_str_radix(address, 16).unwrap(), u64::from_str_radix(length, 16).unwrap())
    }

    /// Thread, address and kind of each touch, as the program says.
    fn expected(&self) -> Vec<(u32, u64, String)> {
        let parse = |line: &str| {
            let [thread, address, how] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            Some((thread.parse().ok()?, u64::from_str_radix(address, 16).ok()?, String::from(how)))
        };
        self.output.lines().filter_map(parse).collect()
    }

    /// The same as it was recorded, each page's first record only where the kernel had to begin a fault anew.
    fn seen(&self, kind: impl Fn(Fault) -> &'static str) -> Vec<(u32, u64, String)> {
        let ranges = [self.range("file"), self.range("memory")];
        let inside = |address: u64| ranges.iter().any(|(start, length)| address.wrapping_sub(*start) < *length);
        let seen = self.faults().filter(|(_, fault)| inside(fault.address));
        let mut seen: Vec<_> =
            seen.map(|(record, fault)| (record.thread, fault.address, kind(fault).to_string())).collect();
        seen.dedup();
        seen
    }
}

#[test]
fn each_touch_is_a_record() {
    let folder = prepare();
    let run = record(&mut touches(folder.path(), 0), &FaultRecorderOptions::default()).unwrap();
    if run.recorded.abilities.source != Some(FaultSource::Tracepoints) {
        return skip("the tracepoints of page faults are not permitted or not here");
    }
    assert!(run.recorded.abilities.kernel_faults && run.recorded.abilities.access_kinds);
    assert_eq!(run.recorded.lost, 0);
    assert!(run.recorded.late_processors.is_empty());
    let kind = |fault: Fault| match fault.write {
        _ if fault.by_kernel => "kernel",
        Some(true) => "write",
        Some(false) => "read",
        None => "unknown",
    };
    assert_eq!(run.seen(kind), run.expected());
    assert_eq!(run.expected().len(), 8 + 4 + 2 + 1 + 2 + 2);

    // The instruction fetch of a page is told apart, and is at the instruction itself.
    let fetches: Vec<_> = run.faults().filter(|(_, fault)| fault.fetch == Some(true)).collect();
    assert!(!fetches.is_empty() && fetches.iter().all(|(_, fault)| fault.address == fault.instruction));

    // Those before it was recorded, and of arguments that the kernel copies by itself, are missing.
    let recorded = i64::try_from(run.faults().count()).unwrap();
    let counted = run.minor + run.major;
    assert!((counted - 100..=counted + 20).contains(&recorded), "{recorded} of {counted}");
}

#[test]
fn software_events_tell_of_the_same_pages() {
    let folder = prepare();
    let options = FaultRecorderOptions { source: Some(FaultSource::SoftwareEvents), ..FaultRecorderOptions::default() };
    let run = match record(&mut touches(folder.path(), 0), &options) {
        Err(FaultRecorderError::NotPermitted { .. }) => return skip("perf_event_open is not permitted"),
        run => run.unwrap(),
    };
    assert_eq!(run.recorded.abilities.source, Some(FaultSource::SoftwareEvents));
    check_software(&run);
}

/// Without writes told apart; without the kernel's own where those may not be seen.
fn check_software(run: &Run) {
    let abilities = run.recorded.abilities;
    assert!(!abilities.access_kinds && run.recorded.lost == 0);
    assert!(run.faults().all(|(_, fault)| fault.write.is_none() && fault.fetch.is_none()));
    let mut expected = run.expected();
    expected.retain(|(_, _, how)| abilities.kernel_faults || how != "kernel");
    expected.iter_mut().filter(|(_, _, how)| how != "kernel").for_each(|(_, _, how)| *how = "program".into());
    assert_eq!(run.seen(|fault| if fault.by_kernel { "kernel" } else { "program" }), expected);
}

#[test]
fn processes_threads_and_mappings_are_told() {
    let folder = prepare();
    let options = FaultRecorderOptions { faults: false, ..FaultRecorderOptions::default() };
    let run = match record(&mut touches(folder.path(), 0), &options) {
        Err(FaultRecorderError::NotPermitted { .. }) => return skip("perf_event_open is not permitted"),
        run => run.unwrap(),
    };
    assert_eq!(run.faults().count(), 0);
    assert_eq!(run.recorded.abilities.source, None);

    let executed: Vec<_> =
        run.records.iter().filter(|record| matches!(record.what, PerfRecordKind::Executed { .. })).collect();
    assert_eq!(executed.len(), 1);
    assert_eq!(executed[0].what, PerfRecordKind::Executed { name: "touches".into() });
    assert_eq!((executed[0].process, executed[0].thread), (run.process, run.process));

    let began: Vec<_> =
        run.records.iter().filter(|record| matches!(record.what, PerfRecordKind::Began { .. })).collect();
    let [thread, child] = began[..] else { panic!("{began:?}") };
    assert_eq!(thread.what, PerfRecordKind::Began { parent: run.process, parent_thread: run.process });
    assert_eq!(child.what, thread.what);
    assert!(thread.process == run.process && thread.thread != run.process);
    assert!(child.process == child.thread && child.process != run.process);
    for number in [thread.thread, child.thread, run.process] {
        assert!(run.records.iter().any(|record| record.thread == number && record.what == PerfRecordKind::Ended));
    }

    let file = fs::canonicalize(folder.path().join("data")).unwrap();
    let metadata = fs::metadata(&file).unwrap();
    let (address, length) = run.range("file");
    let of_file: Vec<_> = run.mappings().filter(|mapped| Path::new(&mapped.path) == file).collect();
    let [mapped, protected] = of_file[..] else { panic!("{of_file:?}") };
    assert_eq!((mapped.address, mapped.length, mapped.offset), (address, length, 0));
    assert_eq!((mapped.inode, mapped.protection, mapped.flags & 0x3), (metadata.ino(), 3, 2));
    let device = u64::from(libc::major(metadata.dev())) << 20 | u64::from(libc::minor(metadata.dev()));
    assert_eq!(mapped.device, device);
    // The kernel tells of a changed protection as of a new mapping.
    assert_eq!((protected.address, protected.length, protected.protection), (address, 65536, 1));
    let program = folder.path().join("touches");
    assert!(run.mappings().any(|mapped| Path::new(&mapped.path) == program && mapped.protection & 4 != 0));
    let (memory, _) = run.range("memory");
    assert!(run.mappings().any(|mapped| mapped.address == memory && mapped.path == "//anon" && mapped.inode == 0));
}

#[test]
fn moments_are_those_of_the_monotonic_clock() {
    let folder = prepare();
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
    };
    let before = now();
    let run = match record(&mut touches(folder.path(), 0), &FaultRecorderOptions::default()) {
        Err(FaultRecorderError::NotPermitted { .. }) => return skip("perf_event_open is not permitted"),
        run => run.unwrap(),
    };
    let after = now();
    assert!(run.records.iter().all(|record| (before..=after).contains(&record.at)));
}

#[test]
fn major_faults_are_told_apart() {
    let folder = prepare();
    let data = File::open(folder.path().join("data")).unwrap();
    rustix::fs::fadvise(&data, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let run = match record(&mut touches(folder.path(), 0), &FaultRecorderOptions::default()) {
        Err(FaultRecorderError::NotPermitted { .. }) => return skip("perf_event_open is not permitted"),
        run => run.unwrap(),
    };
    if run.major == 0 {
        return skip("files of the temporary folder cannot be evicted");
    }
    let major: Vec<_> = run.faults().filter(|(_, fault)| fault.major).collect();
    // Those of the arguments and of the program's first page may be the kernel's own, without a record.
    assert!(major.len() as i64 <= run.major && major.len() as i64 >= run.major - 5, "{} of {}", major.len(), run.major);
    let (address, length) = run.range("file");
    assert!(major.iter().any(|(_, fault)| fault.address.wrapping_sub(address) < length));
    if run.recorded.abilities.access_kinds {
        // Each has been found in the record of its begin.
        assert!(major.iter().all(|(_, fault)| fault.write.is_some()));
    }
}

#[test]
fn more_records_than_a_ring_holds_are_kept() {
    let folder = prepare();
    // Rings of two processors hold 5,400 of the software events' records; the tracepoints' are shared with all other processes.
    for (source, least) in [(None, 1), (Some(FaultSource::SoftwareEvents), 10_000)] {
        let options = FaultRecorderOptions { buffer_bytes_per_cpu: Some(128 << 10), faults: true, source };
        let run = match record(&mut touches(folder.path(), 30), &options) {
            Err(FaultRecorderError::NotPermitted { .. }) => return skip("perf_event_open is not permitted"),
            run => run.unwrap(),
        };
        let faults = run.faults().count() as u64;
        // On a busy machine some may be lost, and are counted.
        assert!(faults + run.recorded.lost >= 30 * 500, "{faults} and {} lost", run.recorded.lost);
        assert!(faults > least, "{faults} and {} lost", run.recorded.lost);
    }
}

#[test]
fn a_recording_may_end_before_the_program_and_be_dropped() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let start = || FaultRecorder::start(child.id(), &FaultRecorderOptions::default());
    match start() {
        Err(FaultRecorderError::NotPermitted { .. }) => skip("perf_event_open is not permitted"),
        recorder => drop(recorder.unwrap()),
    }
    if let Ok(recorder) = start() {
        assert!(recorder.buffer_bytes_per_cpu().is_power_of_two());
        assert_eq!(recorder.finish().unwrap().lost, 0);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_process_that_is_gone_is_named() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let error = FaultRecorder::start(child.id(), &FaultRecorderOptions::default()).unwrap_err();
    match error {
        FaultRecorderError::NotPermitted { .. } => skip("perf_event_open is not permitted"),
        FaultRecorderError::NoProcess { process } => assert_eq!(process, child.id()),
        error => panic!("{error}"),
    }
}

#[test]
fn a_user_without_privileges_records_the_own_programs() {
    if !rustix::process::geteuid().is_root() {
        return skip("becoming the user nobody takes root");
    }
    let folder = prepare();
    // The build's own folder need not be readable for everybody.
    let copy = folder.path().join("tests");
    copy_this_program(&copy);
    let output = Command::new(copy)
        .args(["--exact", "fault_recorder::role_of_a_user_without_privileges", "--nocapture"])
        .env(ROLE, folder.path())
        .current_dir(folder.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Does nothing unless it is started by the test above.
#[test]
fn role_of_a_user_without_privileges() {
    let Some(folder) = std::env::var_os(ROLE).map(PathBuf::from) else { return };
    let paranoid = coldstart_host::kernel::number(coldstart_host::kernel::settings::PERF_EVENT_PARANOID).unwrap();
    let run = match record(&mut touches(&folder, 0), &FaultRecorderOptions::default()) {
        Err(error @ FaultRecorderError::NotPermitted { .. }) if paranoid > 2 => {
            assert!(error.hint().unwrap().contains("perf_event_paranoid=2"));
            return;
        }
        run => run.unwrap(),
    };
    if paranoid >= 0 {
        assert_eq!(run.recorded.abilities.source, Some(FaultSource::SoftwareEvents));
        assert_eq!(run.recorded.abilities.kernel_faults, paranoid < 2);
        check_software(&run);
    }

    // Somebody else's process.
    let error = FaultRecorder::start(1, &FaultRecorderOptions::default()).unwrap_err();
    assert!(matches!(error, FaultRecorderError::NotPermitted { process: 1, .. }), "{error}");
    assert!(error.to_string().contains(&paranoid.to_string()) && error.hint().is_some(), "{error}");

    let demanded = FaultRecorderOptions { source: Some(FaultSource::Tracepoints), ..FaultRecorderOptions::default() };
    if paranoid >= 0 {
        let error = FaultRecorder::start(std::process::id(), &demanded).unwrap_err();
        assert!(
            matches!(error, FaultRecorderError::NoTracepoints | FaultRecorderError::NotPermitted { .. }),
            "{error}"
        );
    }
}
