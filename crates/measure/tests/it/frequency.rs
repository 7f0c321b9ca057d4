//! Holding the frequency of machines that are played by files. Each test compares the whole tree with what it was.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::ProcessFiles;
use coldstart_launch::LaunchOptions;
use coldstart_measure::frequency::{FixedFrequency, FrequencyError, SYSFS, check, look};
use coldstart_measure::{Candidate, Event, MeasureError, MeasurePlan, Silent, StartState, measure};
use coldstart_profile::measurement::{FrequencyRange, Turbo};
use coldstart_testing::Turn;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use tempfile::TempDir;

/// Names the tree that [`a_holder`] holds.
const HOLD: &str = "COLDSTART_TEST_HOLDS_FREQUENCY";

fn turn() -> Turn {
    Turn::alone("frequency")
}

/// Two hot starts of `true`.
fn starts_of_true() -> MeasurePlan {
    let candidate = Candidate {
        label: "true".to_owned(),
        command_line: "true".parse().unwrap(),
        launch: LaunchOptions::default(),
        files: Vec::new(),
    };
    MeasurePlan { runs: 2, ..MeasurePlan::new(vec![candidate], vec![StartState::Hot]) }
}

struct Machine(TempDir);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for (name, value) in files {
            let path = machine.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        machine
    }

    fn with_policy(self, number: u32, files: &[(&str, &str)]) -> Self {
        let folder = self.root().join(format!("cpufreq/policy{number}"));
        fs::create_dir_all(&folder).unwrap();
        for (name, value) in files {
            fs::write(folder.join(name), format!("{value}\n")).unwrap();
        }
        self
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn value(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap().trim().to_owned()
    }

    /// Every file with what it says.
    fn all(&self) -> BTreeMap<PathBuf, String> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.root().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read_to_string(&path).unwrap().trim().to_owned());
                }
            }
        }
        files
    }
}

/// A laptop with `intel_pstate` in its active mode: two kinds of cores.
fn intel() -> Machine {
    let policy = |base: &'static str, greatest: &'static str| {
        [
            ("scaling_driver", "intel_pstate"),
            ("scaling_governor", "powersave"),
            ("scaling_available_governors", "performance powersave"),
            ("energy_performance_preference", "balance_power"),
            ("scaling_min_freq", "800000"),
            ("scaling_max_freq", greatest),
            ("cpuinfo_min_freq", "800000"),
            ("cpuinfo_max_freq", greatest),
            ("scaling_cur_freq", "1900000"),
            ("base_frequency", base),
        ]
    };
    Machine::new(&[("intel_pstate/no_turbo", "0")])
        .with_policy(0, &[&policy("2600000", "4900000")[..], &[("affected_cpus", "0")]].concat())
        .with_policy(10, &[&policy("1900000", "3800000")[..], &[("affected_cpus", "10 11")]].concat())
}

/// `acpi-cpufreq` on an Intel processor, with turbo's entry in the list and a switch for all.
fn acpi() -> Machine {
    Machine::new(&[("cpufreq/boost", "1")]).with_policy(
        0,
        &[
            ("affected_cpus", "0 1"),
            ("scaling_driver", "acpi-cpufreq"),
            ("scaling_governor", "userspace"),
            ("scaling_setspeed", "1600000"),
            ("scaling_available_governors", "userspace ondemand performance"),
            ("scaling_available_frequencies", "2601000 2600000 2000000 1600000 1200000"),
            ("scaling_min_freq", "1200000"),
            ("scaling_max_freq", "1600000"),
            ("cpuinfo_min_freq", "1200000"),
            ("cpuinfo_max_freq", "2601000"),
            ("scaling_cur_freq", "1600000"),
        ],
    )
}

/// `amd-pstate`: a switch for each policy, the base frequency in the firmware's tables, one processor offline.
fn amd() -> Machine {
    let policy = [
        ("scaling_driver", "amd-pstate-epp"),
        ("scaling_governor", "performance"),
        ("scaling_available_governors", "performance powersave"),
        ("energy_performance_preference", "performance"),
        ("scaling_min_freq", "400000"),
        ("scaling_max_freq", "5100000"),
        ("cpuinfo_min_freq", "400000"),
        ("cpuinfo_max_freq", "5100000"),
        ("scaling_cur_freq", "3000000"),
    ];
    Machine::new(&[("cpu0/acpi_cppc/nominal_freq", "3800"), ("cpu1/acpi_cppc/nominal_freq", "3800")])
        .with_policy(0, &[&policy[..], &[("affected_cpus", "0"), ("boost", "1")]].concat())
        .with_policy(1, &[&policy[..], &[("affected_cpus", "1"), ("boost", "0")]].concat())
        .with_policy(2, &[("affected_cpus", ""), ("scaling_governor", "<offline>")])
}

fn range(least: u64, greatest: u64) -> Option<FrequencyRange> {
    Some(FrequencyRange { least, greatest })
}

#[test]
fn what_is_set_is_told() {
    let _turn = turn();
    let frequency = look(intel().root()).unwrap();
    assert_eq!((&frequency.driver[..], &frequency.governors[..]), ("intel_pstate", &["powersave".to_owned()][..]));
    assert_eq!(frequency.energy_preferences, ["balance_power"]);
    assert_eq!((frequency.turbo, frequency.allowed), (Some(Turbo::On), range(800_000, 4_900_000)));
    assert_eq!(frequency.at_begin, range(1_900_000, 1_900_000));
    assert_eq!(look(amd().root()).unwrap().turbo, Some(Turbo::Mixed));
    let machine = intel();
    fs::write(machine.root().join("intel_pstate/no_turbo"), "1\n").unwrap();
    fs::write(machine.root().join("cpufreq/policy0/scaling_governor"), "performance\n").unwrap();
    let frequency = look(machine.root()).unwrap();
    assert_eq!((frequency.turbo, frequency.governors.len()), (Some(Turbo::Off), 2));
}

#[test]
fn each_policy_is_held_at_its_base_frequency_and_put_back() {
    let _turn = turn();
    for (machine, frequencies, switches) in [
        (intel(), &[(0, "2600000"), (10, "1900000")][..], &[("intel_pstate/no_turbo", "1")][..]),
        (acpi(), &[(0, "2600000")], &[("cpufreq/boost", "0")]),
        (amd(), &[(0, "3800000"), (1, "3800000")], &[("cpufreq/policy0/boost", "0"), ("cpufreq/policy1/boost", "0")]),
    ] {
        let before = machine.all();
        let held = FixedFrequency::hold(machine.root()).unwrap();
        for (policy, frequency) in frequencies {
            let value = |name: &str| machine.value(&format!("cpufreq/policy{policy}/{name}"));
            assert_eq!(value("scaling_governor"), "performance");
            assert_eq!((&value("scaling_min_freq")[..], &value("scaling_max_freq")[..]), (*frequency, *frequency));
        }
        for (switch, off) in switches {
            assert_eq!(machine.value(switch), *off);
        }
        held.still_held().unwrap();
        held.release().unwrap();
        assert_eq!(machine.all(), before);
    }
}

#[test]
fn a_drop_and_a_panic_put_everything_back() {
    let _turn = turn();
    let machine = intel();
    let before = machine.all();
    drop(FixedFrequency::hold(machine.root()).unwrap());
    assert_eq!(machine.all(), before);
    let panicked = std::panic::catch_unwind(|| {
        let held = FixedFrequency::hold(machine.root()).unwrap();
        assert!(held.range().is_none(), "this panics");
    });
    assert!(panicked.is_err());
    assert_eq!(machine.all(), before);
}

#[test]
fn what_somebody_else_changes_meanwhile_is_seen_and_put_back() {
    let _turn = turn();
    let machine = intel();
    let before = machine.all();
    let held = FixedFrequency::hold(machine.root()).unwrap();
    fs::write(machine.root().join("cpufreq/policy10/scaling_governor"), "powersave\n").unwrap();
    let error = held.still_held().unwrap_err();
    assert!(matches!(&error, FrequencyError::NotTaken { found, .. } if found == "powersave"), "{error}");
    held.release().unwrap();
    assert_eq!(machine.all(), before);
}

#[test]
fn a_killed_guardian_does_not_keep_us_from_putting_back() {
    let _turn = turn();
    let machine = acpi();
    let before = machine.all();
    let held = FixedFrequency::hold(machine.root()).unwrap();
    let guardian = i32::try_from(held.guardian().unwrap()).unwrap();
    kill_process(Pid::from_raw(guardian).unwrap(), Signal::KILL).unwrap();
    held.release().unwrap();
    assert_eq!(machine.all(), before);
}

#[test]
fn a_refused_write_is_named_and_the_rest_put_back() {
    let _turn = turn();
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let machine = intel();
    // A file that reads well and refuses writes even of root.
    let governor = memfd_create("governor", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&governor, b"powersave\n").unwrap();
    fcntl_add_seals(&governor, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW).unwrap();
    let path = machine.root().join("cpufreq/policy10/scaling_governor");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(ProcessFiles::of(std::process::id()).at(format!("fd/{}", governor.as_raw_fd())), &path)
        .unwrap();
    let before = machine.all();
    let error = FixedFrequency::hold(machine.root()).unwrap_err();
    assert!(error.to_string().contains("policy10/scaling_governor` rejects `performance`"), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(machine.all(), before);
}

#[test]
fn a_setting_that_does_not_stay_is_an_error() {
    let _turn = turn();
    let machine = intel();
    // Two names of one file: what is written to the second undoes the first.
    let path = machine.root().join("cpufreq/policy10/scaling_max_freq");
    fs::remove_file(&path).unwrap();
    fs::hard_link(machine.root().join("cpufreq/policy0/scaling_max_freq"), &path).unwrap();
    let before = machine.all();
    let error = FixedFrequency::hold(machine.root()).unwrap_err();
    assert!(matches!(&error, FrequencyError::NotTaken { .. }), "{error:?}");
    assert!(error.to_string().contains("is `1900000` instead of `2600000`"), "{error}");
    assert_eq!(machine.all(), before);
}

#[test]
fn a_machine_without_frequencies_says_who_decides() {
    let _turn = turn();
    let machine = Machine::new(&[("online", "0-1")]);
    fs::create_dir(machine.root().join("cpufreq")).unwrap();
    assert_eq!(look(machine.root()), None);
    let error = FixedFrequency::hold(machine.root()).unwrap_err();
    assert!(matches!(error, FrequencyError::NotThere { .. }));
    assert!(error.hint().unwrap().contains("without --fixed-frequency"), "{error}");
}

#[test]
fn nothing_is_launched_where_the_frequency_cannot_be_held() {
    let _turn = turn();
    if check(Path::new(SYSFS)).is_ok() {
        // Played machines show what happens then; this one's frequency is not for tests to set.
        return;
    }
    let plan = MeasurePlan { fixed_frequency: true, ..starts_of_true() };
    let mut events = 0;
    let error = measure(&plan, &mut |_: Event<'_>| events += 1).unwrap_err();
    assert!(matches!(&error, MeasureError::Frequency(FrequencyError::NotThere { .. })), "{error:?}");
    assert!(error.hint().is_some() && events == 0);
}

#[test]
fn only_one_holds() {
    let _turn = turn();
    let machine = intel();
    let first = FixedFrequency::hold(machine.root()).unwrap();
    let error = FixedFrequency::hold(machine.root()).unwrap_err();
    assert!(matches!(&error, FrequencyError::HeldByAnother { .. }), "{error:?}");
    first.still_held().unwrap();
    first.release().unwrap();
    FixedFrequency::hold(machine.root()).unwrap().release().unwrap();
}

#[test]
fn launches_leave_the_guardian_alone() {
    let _turn = turn();
    let machine = intel();
    let held = FixedFrequency::hold(machine.root()).unwrap();
    measure(&starts_of_true(), &mut Silent).unwrap();
    let guardian = Pid::from_raw(i32::try_from(held.guardian().unwrap()).unwrap()).unwrap();
    test_kill_process(guardian).unwrap();
    assert_eq!(machine.value("cpufreq/policy0/scaling_governor"), "performance");
    held.release().unwrap();
    assert_eq!(machine.value("cpufreq/policy0/scaling_governor"), "powersave");
    assert!(test_kill_process(guardian).is_err());
}

/// No test by itself: what the tests below start, and kill.
#[test]
fn a_holder() {
    let Some(root) = std::env::var_os(HOLD) else { return };
    match FixedFrequency::hold(Path::new(&root)) {
        Ok(_held) => {
            println!("\nheld");
            std::thread::sleep(Duration::from_secs(600));
        }
        Err(error) => println!("\n{error}"),
    }
}

/// This program again, doing nothing but [`a_holder`]; in a process group of its own.
fn holder(machine: &Machine, mut command: Command) -> (Child, BufReader<ChildStdout>) {
    use std::os::unix::process::CommandExt;
    command.args(["--exact", "frequency::a_holder", "--nocapture", "--test-threads=1"]).env(HOLD, machine.root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn until_says(output: &mut BufReader<ChildStdout>, word: &str) {
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "it ended without having said `{word}`");
    }
}

#[test]
fn what_a_killed_process_held_is_put_back() {
    let _turn = turn();
    for interrupt in [false, true] {
        let machine = intel();
        let before = machine.all();
        let (mut child, mut output) = holder(&machine, this_program());
        until_says(&mut output, "held");
        assert_ne!(machine.all(), before);
        let group = Pid::from_child(&child);
        if interrupt {
            // As the terminal does, to the whole group.
            kill_process_group(group, Signal::INT).unwrap();
        } else {
            kill_process(group, Signal::KILL).unwrap();
        }
        child.wait().unwrap();
        // Nobody else keeps the pipe open: this ends.
        while output.read_line(&mut String::new()).unwrap() > 0 {}
        let begin = Instant::now();
        while machine.all() != before {
            assert!(begin.elapsed().as_secs() < 120, "not put back: {:#?}", machine.all());
            std::thread::sleep(Duration::from_millis(2));
        }
        // The lock is free again, at the latest once the guardian has ended.
        FixedFrequency::hold(machine.root()).unwrap().release().unwrap();
        assert_eq!(machine.all(), before);
    }
}

#[test]
fn a_read_only_sysfs_is_an_error_with_advice() {
    let _turn = turn();
    if !rustix::process::geteuid().is_root() {
        coldstart_testing::skip("mounting needs root");
        return;
    }
    let machine = intel();
    let before = machine.all();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c"]);
    command.arg("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"").arg(machine.root());
    command.arg(std::env::current_exe().unwrap());
    let (mut child, mut output) = holder(&machine, command);
    until_says(&mut output, "no_turbo` rejects `1`");
    child.wait().unwrap();
    assert_eq!(machine.all(), before);
    let read_only =
        FrequencyError::Write { path: "f".into(), value: "1".into(), source: rustix::io::Errno::ROFS.into() };
    assert!(read_only.hint().unwrap().contains("read-only"));
}
