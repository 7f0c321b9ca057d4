//! `coldstart doctor` where people run it: as root, as a user, in containers, in a chroot. What it claims is compared with
//! what happens there.
//!
//! The other witness is a Python script that makes the same system calls by their numbers, and the verbs themselves.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_host::kernel::{self, settings};
use coldstart_host::mounts;
use coldstart_testing::skip;
use serde_json::Value;

use coldstart_testing::copy_program;

use crate::filtered::{FILTERED, WITHOUT_CACHESTAT};
use crate::text;

/// Makes the calls and prints what happened. No argument: everything is tried on what every system has.
const WITNESS: &str = include_str!("doctor/witness.py");

/// As container managers do: `cachestat` fails as on an old kernel (`ENOSYS`), performance events are refused (`EPERM`).
const OF_A_CONTAINER: [&str; 2] =
    if cfg!(target_arch = "aarch64") { [WITHOUT_CACHESTAT, "241=1"] } else { [WITHOUT_CACHESTAT, "298=1"] };

/// `prctl` does not know `PR_GET_AUXV` (`EINVAL`), as before Linux 6.4.
const OF_OLD_PRCTL: &str = if cfg!(target_arch = "aarch64") { "167:1096112214=22" } else { "157:1096112214=22" };

/// A root made of what the machine's root holds, with a proc of its own, reached by pivot_root, as container managers do.
const CONTAINER: &str = include_str!("doctor/container.sh");

const READ_ONLY_SETTINGS: &str =
    "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec \"$@\"";

/// A directory that everybody may enter, with the program and the scripts.
struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
        let scratch = Self { directory };
        copy_program(env!("CARGO_BIN_EXE_coldstart"), scratch.path("coldstart"));
        fs::write(scratch.path("witness.py"), WITNESS).unwrap();
        fs::write(scratch.path("filtered.py"), FILTERED).unwrap();
        fs::write(scratch.path("container.sh"), CONTAINER).unwrap();
        fs::create_dir(scratch.path("root")).unwrap();
        fs::create_dir(scratch.path("plans")).unwrap();
        fs::create_dir(scratch.path("images")).unwrap();
        fs::set_permissions(scratch.path("plans"), Permissions::from_mode(0o777)).unwrap();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A way to run something somewhere: the words in front of it.
type Scene = Vec<String>;

fn scene(words: &[&str]) -> Scene {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run_in(scene: &Scene, scratch: &Scratch, program: &Path, args: &[&str]) -> Output {
    let mut words = scene.iter().map(std::ffi::OsString::from).chain([program.into()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(args).stdin(Stdio::null()).current_dir("/");
    command.env("COLDSTART_SCRATCH", scratch.directory.path()).env("HOME", "/").env_remove("DISPLAY");
    command.env("COLDSTART_HISTORY", scratch.path("plans/history.sqlite"));
    command.output().unwrap()
}

/// Whether something harmless can be run there; else why not.
fn works(scene: &Scene, scratch: &Scratch) -> Result<(), String> {
    let output = run_in(scene, scratch, Path::new("/usr/bin/true"), &[]);
    if output.status.success() { Ok(()) } else { Err(format!("{scene:?}: {}", text(&output.stderr))) }
}

fn doctor(scene: &Scene, scratch: &Scratch) -> (Value, Option<i32>) {
    let output = run_in(scene, scratch, &scratch.path("coldstart"), &["doctor", "--json"]);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (report, output.status.code())
}

fn check<'r>(report: &'r Value, name: &str) -> &'r Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap_or(&Value::Null)
}

fn ability<'r>(report: &'r Value, name: &str) -> &'r str {
    let abilities = report["abilities"].as_array().unwrap();
    abilities.iter().find(|standing| standing["ability"] == name).unwrap()["status"].as_str().unwrap()
}

/// Compares all claims that the witness can tell about, and starts the verbs.
fn holds(scene: &Scene, scratch: &Scratch) -> Value {
    let (report, code) = doctor(scene, scratch);
    assert_eq!(report["schema"], "coldstart.doctor/1");
    let output = run_in(scene, scratch, Path::new("/usr/bin/python3"), &[scratch.path("witness.py").to_str().unwrap()]);
    let truth: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let worked = |name: &str| truth[name] == "";
    let claims = |name: &str| check(&report, name)["status"].as_str().unwrap_or("none").to_owned();
    let told = || format!("{scene:?}\n{truth:#}\n{report:#}");

    assert_eq!(claims("drop-caches") == "yes", worked("drop_caches"), "{}", told());
    assert_eq!(claims("cachestat") == "yes", worked("cachestat"), "{}", told());
    assert_eq!(claims("pidfd") == "yes", worked("pidfd"), "{}", told());
    let perf = match (worked("perf_user"), worked("perf_kernel")) {
        (true, true) => "yes",
        (true, false) => "partly",
        _ => "no",
    };
    assert_eq!(claims("perf-events"), perf, "{}", told());
    assert!(claims("userfaultfd") != "yes" || worked("userfaultfd"), "{}", told());
    if worked("cachestat") {
        assert_eq!(claims("other-files") != "no", worked("other"), "{}", told());
    }

    let program = scratch.path("coldstart");
    if ability(&report, "measure-cold") == "no" {
        let cold = run_in(scene, scratch, &program, &["measure", "--state", "cold", "--runs", "1", "--", "true"]);
        assert_eq!(cold.status.code(), Some(2), "{}", told());
        assert!(text(&cold.stderr).contains("cannot start cold"), "{}\n{}", text(&cold.stderr), told());
        assert_eq!(ability(&report, "measure-boot"), "no", "{}", told());
    }
    for state in ["selective", "hot"] {
        let possible = ability(&report, &format!("measure-{state}")) != "no";
        let measured = run_in(scene, scratch, &program, &["measure", "--state", state, "--runs", "2", "--", "true"]);
        // 1: the machine is too noisy for the state, which is no matter of what is allowed.
        assert_eq!(matches!(measured.status.code(), Some(0 | 1)), possible, "{}\n{}", text(&measured.stderr), told());
    }
    let plan = scratch.path("plans/true.prefetch");
    let recorded = run_in(
        scene,
        scratch,
        &program,
        &["prefetch", "record", "--as-is", "-o", plan.to_str().unwrap(), "--", "true"],
    );
    assert_eq!(
        recorded.status.success(),
        ability(&report, "prefetch-record") != "no",
        "{}\n{}",
        text(&recorded.stderr),
        told()
    );
    let page_order = !text(&recorded.stderr).contains("cannot record page-cache fills");
    assert_eq!(claims("page-fills") == "yes", page_order, "{}\n{}", text(&recorded.stderr), told());
    let _ = fs::remove_file(&plan);
    holds_of_trace(scene, scratch, &report);
    holds_of_images_and_indexes(scene, scratch, &report);
    let shown = run_in(scene, scratch, &program, &["pagecache", "show", "/usr/bin/env"]);
    match (ability(&report, "pagecache-others"), report["checks"][0]["now"].as_str().unwrap()) {
        ("no", _) => assert_eq!(shown.status.code(), Some(1), "{}", told()),
        ("yes", _) => assert_eq!(shown.status.code(), Some(0), "{}", told()),
        _ => {}
    }
    assert_eq!(code, Some(if report["impossible"].as_array().unwrap().is_empty() { 0 } else { 1 }), "{}", told());
    report
}

/// Compares what is claimed of `trace` with what a trace says of itself.
fn holds_of_trace(scene: &Scene, scratch: &Scratch, report: &Value) {
    let trace = scratch.path("plans/true.coldtrace");
    let words = ["trace", "--json", "-o", trace.to_str().unwrap(), "--", "true"];
    let recorded = run_in(scene, scratch, &scratch.path("coldstart"), &words);
    let _ = fs::remove_file(&trace);
    let told = || format!("{scene:?}\n{}\n{report:#}", text(&recorded.stderr));
    assert_eq!(recorded.status.success(), ability(report, "trace-record") != "no", "{}", told());
    if !recorded.status.success() {
        return;
    }
    let shown: Value = serde_json::from_slice(&recorded.stdout).unwrap();
    let claims = |name: &str| check(report, name)["status"] == "yes";
    let pages: &[&str] =
        match (check(report, "perf-events")["status"].as_str(), check(report, "userfaultfd")["status"].as_str()) {
            (Some("no"), _) => &["none"],
            (_, Some("yes")) => &["each"],
            (_, Some("unknown")) => &["each", "fault-around"],
            _ => &["fault-around"],
        };
    assert!(pages.contains(&shown["basis"]["pages"].as_str().unwrap()), "{}", told());
    let notes = shown["run"]["notes"].to_string();
    assert_eq!(claims("page-fills"), !notes.contains("tracefs"), "{notes}\n{}", told());
    let has_main = shown["phases"].to_string().contains("\"main\"");
    // On a slow machine the attempt may not end in time. Then nothing is claimed.
    if check(report, "tracing")["status"] != "unknown" {
        assert_eq!(claims("debug-registers") && claims("tracing"), has_main, "{}", told());
    }
}

/// Compares what is claimed of `image` and `index` with what becomes of them.
fn holds_of_images_and_indexes(scene: &Scene, scratch: &Scratch, report: &Value) {
    let program = scratch.path("coldstart");
    // Root mounts no image that others could change, so it is put where only whoever runs the tests can write.
    let (made, image) = (scratch.path("plans/true.image"), scratch.path("images/true.image"));
    let output = run_in(scene, scratch, &program, &["image", "make", "-o", made.to_str().unwrap(), "--", "true"]);
    let told = |output: &Output| format!("{scene:?}\n{}\n{report:#}", text(&output.stderr));
    assert_eq!(output.status.success(), ability(report, "image-make") != "no", "{}", told(&output));
    if output.status.success() {
        fs::copy(&made, &image).unwrap();
        fs::remove_file(&made).unwrap();
        let output = run_in(scene, scratch, &program, &["image", "run", image.to_str().unwrap(), "--", "true"]);
        assert!(output.status.success(), "{}", told(&output));
        let is_without = text(&output.stderr).contains("started without the image");
        let claimed = ability(report, "image-run");
        assert!(claimed == "unknown" || (claimed == "yes") != is_without, "{}", told(&output));
        fs::remove_file(&image).unwrap();
    }
    let index = scratch.path("plans/index");
    let words = ["index", "make", "-o", index.to_str().unwrap(), "--", "/usr/bin/perl", "-e", "1"];
    let output = run_in(scene, scratch, &program, &words);
    assert_eq!(output.status.success(), ability(report, "index-make") != "no", "{}", told(&output));
    let _ = fs::remove_dir_all(&index);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn claims_hold_for_whoever_runs_the_tests() {
    let report = holds(&scene(&["env"]), &Scratch::new());
    if is_root() && check(&report, "user-namespace")["status"] == "yes" {
        assert!(check(&report, "root")["now"].as_str().unwrap().starts_with("root"), "{report:#}");
    }
}

#[test]
fn claims_hold_for_an_ordinary_user() {
    let scratch = Scratch::new();
    let scene = scene(&["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    if let Err(reason) = works(&scene, &scratch) {
        return skip(&reason);
    }
    let report = holds(&scene, &scratch);
    assert_eq!(check(&report, "root")["status"], "no");
    assert_eq!(ability(&report, "measure-cold"), "no");
    assert_eq!(ability(&report, "prefetch-record"), "partly");
    let command = check(&report, "drop-caches")["grants"][0]["command"].as_str().unwrap().to_owned();
    assert!(command.contains("coldstart measure --state cold"), "{command}");
}

#[test]
fn claims_hold_in_a_user_namespace_with_read_only_settings() {
    let scratch = Scratch::new();
    let words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
    let inner = ["setsid", "--wait", "sh", "-c", READ_ONLY_SETTINGS, "sh"];
    let scene = scene(&[words.as_slice(), inner.as_slice()].concat());
    if let Err(reason) = works(&scene, &scratch) {
        return skip(&reason);
    }
    let report = holds(&scene, &scratch);
    assert_eq!(check(&report, "user-namespace")["status"], "no");
    assert!(check(&report, "root")["now"].as_str().unwrap().starts_with("root of a user namespace"));
    assert_eq!(check(&report, "drop-caches")["grants"][0]["run"], "host");
}

#[test]
fn claims_hold_behind_a_filter_of_system_calls() {
    let scratch = Scratch::new();
    let filtered = scratch.path("filtered.py");
    let [cachestat, events] = OF_A_CONTAINER;
    let scene = scene(&["/usr/bin/python3", filtered.to_str().unwrap(), cachestat, events, "--", "/usr/bin/env"]);
    if let Err(reason) = works(&scene, &scratch) {
        return skip(&reason);
    }
    let report = holds(&scene, &scratch);
    let cachestat = check(&report, "cachestat");
    assert_eq!(cachestat["status"], "no");
    let now = cachestat["now"].as_str().unwrap();
    // The same answer as from a kernel that is too old, told apart by the release.
    assert!(now.contains("a system call filter") || now.contains("does not have it"), "{now}");
    assert_eq!(check(&report, "perf-events")["status"], "no");
    assert_eq!(check(&report, "setuid-programs")["status"], "partly");
}

#[test]
fn claims_hold_in_a_container_made_by_hand() {
    let scratch = Scratch::new();
    let (script, root) = (scratch.path("container.sh"), scratch.path("root"));
    let scene =
        scene(&["unshare", "-mpfiu", "setsid", "--wait", "sh", script.to_str().unwrap(), root.to_str().unwrap()]);
    if let Err(reason) = works(&scene, &scratch) {
        return skip(&reason);
    }
    let report = holds(&scene, &scratch);
    assert_eq!(
        check(&report, "drop-caches")["now"],
        format!("{} is mounted read-only", kernel::SETTINGS),
        "{report:#}"
    );
    assert!(check(&report, "root")["now"].as_str().unwrap().starts_with("root without CAP_SYS_ADMIN"), "{report:#}");
    assert!(check(&report, "surroundings")["now"].as_str().unwrap().contains("looks like a container"), "{report:#}");
    assert_eq!(check(&report, "page-fills")["status"], "no");
}

#[test]
fn claims_hold_in_bubblewrap() {
    let scratch = Scratch::new();
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let words = [
        "bwrap",
        "--new-session",
        "--unshare-user",
        "--unshare-pid",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
    ];
    // Root's own number, even in a user namespace, may write the machine's settings.
    let mut scene = scene(if is_root() { &nobody } else { &[] });
    scene.extend(words.map(str::to_owned));
    for directory in ["/usr", "/bin", "/lib", "/lib64", "/etc", "/sys"] {
        scene.extend(["--ro-bind-try", directory, directory].map(str::to_owned));
    }
    let scratch_path = scratch.directory.path().to_str().unwrap().to_owned();
    scene.extend(["--bind".to_owned(), scratch_path.clone(), scratch_path, "--".to_owned()]);
    if let Err(reason) = Command::new("bwrap")
        .arg("--version")
        .output()
        .map_err(|error| error.to_string())
        .and_then(|_| works(&scene, &scratch))
    {
        return skip(&reason);
    }
    let report = holds(&scene, &scratch);
    assert_eq!(ability(&report, "measure-cold"), "no");
}

/// The libraries that the program loads, and its loader, by the loader's own word.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    text(&output.stdout).lines().filter_map(path).collect()
}

#[test]
fn works_in_a_chroot_with_nothing_but_the_program() {
    let scratch = Scratch::new();
    let root = scratch.path("root");
    let program = scratch.path("coldstart");
    for library in libraries(&program) {
        let target = root.join(library.strip_prefix("/").unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&library, target).unwrap();
    }
    copy_program(&program, root.join("coldstart"));
    let enter = |args: &[&str]| {
        let mut command = Command::new("chroot");
        command.env("COLDSTART_HISTORY", "/history.sqlite");
        command.arg(&root).arg("/coldstart").args(args).stdin(Stdio::null()).output().unwrap()
    };
    let output = enter(&["doctor", "--json"]);
    if output.stdout.is_empty() && text(&output.stderr).contains("cannot change root") {
        return skip("only root can change its root directory");
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(check(&report, "proc")["status"], "no", "{report:#}");
    assert_eq!(ability(&report, "measure-selective"), "no");
    assert_eq!(check(&report, "dev-null")["status"], "no", "{report:#}");
    assert_eq!(report["impossible"], serde_json::json!(["measure", "speedup"]));
    assert_eq!(output.status.code(), Some(1));
    // Without files of the kernel's, the size of a page comes from `prctl` or from what the process was started with.
    let mut older = Command::new("python3");
    older.args(["-c", FILTERED, OF_OLD_PRCTL, "--", "chroot"]).arg(&root).args(["/coldstart", "doctor", "--json"]);
    let older = older.stdin(Stdio::null()).output().unwrap();
    assert_eq!(older.status.code(), Some(1), "{}", text(&older.stderr));
    let measure = |state: &str, expected: i32| {
        let measured = enter(&["measure", "--state", state, "--runs", "2", "--", "/coldstart", "--version"]);
        assert_eq!(measured.status.code(), Some(expected), "{state}: {}", text(&measured.stderr));
    };
    for state in ["cold", "selective", "hot"] {
        measure(state, 2);
    }
    // A file serves as well as the device: with it, hot starts can be measured.
    fs::create_dir(root.join("dev")).unwrap();
    fs::write(root.join("dev/null"), "").unwrap();
    let with_null: Value = serde_json::from_slice(&enter(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(with_null["impossible"], serde_json::json!(["speedup"]));
    for (state, expected) in [("cold", 2), ("selective", 2), ("hot", 0)] {
        measure(state, expected);
    }
    assert_eq!(enter(&["doctor", "--verb", "inspect"]).status.code(), Some(0));
    assert_eq!(enter(&["doctor", "--verb", "speedup"]).status.code(), Some(1));
    assert_eq!(enter(&["inspect", "/coldstart"]).status.code(), Some(0));
    assert_eq!(ability(&with_null, "trace-record"), "no");
    let traced = enter(&["trace", "--hide-output", "-o", "/start.coldtrace", "--", "/coldstart", "--version"]);
    assert_eq!(traced.status.code(), Some(2), "{}", text(&traced.stderr));

    // With /proc it looks like a chroot, and more of it works.
    fs::create_dir(root.join("proc")).unwrap();
    let mount = "mount --bind /proc \"$1/proc\" && exec chroot \"$1\" /coldstart doctor --json";
    let output = Command::new("unshare").args(["-m", "sh", "-c", mount, "sh"]).arg(&root).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(check(&report, "proc")["status"], "yes", "{report:#}");
    let surroundings = check(&report, "surroundings")["now"].as_str().unwrap();
    assert!(surroundings.contains("looks like a chroot"), "{surroundings}");
    assert_ne!(ability(&report, "measure-selective"), "no");
}

#[test]
fn nobody_has_to_read_the_report() {
    for closing in [">&-", ">&- 2>&-", "<&- >&- 2>&-", "| true"] {
        let line = format!("\"$1\" doctor --verb inspect {closing}");
        let status = Command::new("sh").args(["-c", &line, "sh", env!("CARGO_BIN_EXE_coldstart")]).status().unwrap();
        assert_eq!(status.code(), Some(0), "{closing}");
    }
}

#[test]
fn the_report_fits_a_terminal_and_says_what_can_be_typed() {
    for args in [vec!["doctor"], vec!["doctor", "--all"], vec!["doctor", "--verb", "pagecache"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(&args).output().unwrap();
        let shown = text(&output.stdout);
        assert!(shown.starts_with("What works here\n"), "{shown}");
        let is_command = |line: &str| line.starts_with("  get it") || line.starts_with("  outside");
        for line in shown.lines().filter(|line| !is_command(line)) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert_eq!(shown.contains("\n  measure --state cold  "), args.len() < 3, "{shown}");
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["doctor", "--verb", "dance"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn nothing_is_changed() {
    let look = || [settings::DROP_CACHES, settings::PERF_EVENT_PARANOID].map(|path| fs::read(path).ok());
    let [directory, tables] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let before = look();
    // Mounts of its own, so that none of another test is taken for doctor's. Without root, doctor cannot mount anything.
    let own_mounts: &[&str] = if is_root() { &["unshare", "--mount"] } else { &[] };
    let script = r#"cat "$1" >"$2/before"; "$0" doctor --all; code=$?; cat "$1" >"$2/after"; exit $code"#;
    let words = [own_mounts, &["sh", "-c", script, env!("CARGO_BIN_EXE_coldstart"), mounts::TABLE]].concat();
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).arg(tables.path()).current_dir(&directory).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    assert_eq!(before, look());
    let [before, after] = ["before", "after"].map(|name| fs::read_to_string(tables.path().join(name)).unwrap());
    if is_root() {
        assert_eq!(before, after);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}
