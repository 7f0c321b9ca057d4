//! The process that replays a plan beside the program: whose child it is, when it ends, and what it holds.
//!
//! `witness` is a small C program that looks at its own children and signals, or changes what is inherited before it becomes
//! another program. The plan says that the disk has one head and is written by hand, so that pages are kept for 20 s.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::mounts::is_on_root_mount;
use coldstart_host::process::{Mapping, ProcessFiles, numbers};
use coldstart_profile::plan::{PlanSummary, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use coldstart_profile::{FileIdentity, PageRange};
use coldstart_testing::skip;
use serde_json::Value;

use crate::cold::make_cold;
use crate::text;

const COLDSTART: &str = env!("CARGO_BIN_EXE_coldstart");
/// Well below the 20 s for which the pages of these plans may be kept while the program runs.
const SHORTER_THAN_KEPT: Duration = Duration::from_secs(15);
const PAGES: u64 = 500;

const WITNESS: &str = include_str!("prefetch_process/witness.c");

struct Scene {
    folder: tempfile::TempDir,
    predicted_replay: Duration,
}

impl Scene {
    /// A folder on a real disk with a file of [`PAGES`] pages. On the mount of the root directory if possible: pages of
    /// other mounts are not kept.
    fn new() -> Self {
        let places = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp"];
        let place = places.into_iter().find(|place| may_keep_pages_in(Path::new(place)));
        let folder = tempfile::tempdir_in(place.unwrap_or(places[0])).unwrap();
        let scene = Self { folder, predicted_replay: Duration::from_secs(15) };
        fs::write(scene.data(), vec![b'x'; PAGES as usize * 4096]).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn witness(&self) -> String {
        let (source, program) = (self.path("witness.c"), self.path("witness"));
        fs::write(&source, WITNESS).unwrap();
        assert!(Command::new("cc").arg("-o").arg(&program).arg(&source).status().unwrap().success());
        program.into_os_string().into_string().unwrap()
    }

    /// A plan that reads all of `data`, before the program starts or beside it.
    fn plan(&self, data: &Path, before_start: bool) -> PathBuf {
        let stat = fs::metadata(data).unwrap();
        let identity = FileIdentity::from_stat(stat.size() as i64, stat.mtime(), stat.mtime_nsec());
        let step = |window: u32| Step {
            target: 0,
            window,
            pages: PageRange::new(u64::from(window) * PAGES / 10, PAGES / 10),
            first_use: Duration::ZERO,
            physical: None,
        };
        let plan = PrefetchPlan {
            summary: PlanSummary {
                recorded_at: 0,
                recorded_start: Duration::from_secs(90),
                hot_start: Duration::from_secs(60),
                windows_before_start: if before_start { u32::MAX } else { 0 },
                threads: 1,
                chunk_pages: 64,
                device: PlannedDevice {
                    latency: Duration::from_millis(8),
                    bandwidth: 100 << 20,
                    parallel: 1,
                    seeks: before_start,
                },
                predicted_replay: self.predicted_replay,
                predicted_start: Duration::ZERO,
            },
            command: vec!["true".into()],
            targets: vec![Target { path: data.to_owned(), kind: TargetKind::File(identity) }],
            steps: (0..10).map(step).collect(),
        };
        let path = self.path(if before_start { "before.prefetch" } else { "beside.prefetch" });
        fs::write(&path, plan.to_bytes().unwrap()).unwrap();
        path
    }
}

/// Whether pages of files in a directory may be kept: on the mount of the root directory.
fn may_keep_pages_in(directory: &Path) -> bool {
    is_on_root_mount(fs::File::open(directory).unwrap())
}

/// Whether pages of a scene are kept; otherwise the test is skipped.
fn keeps_pages(scene: &Scene) -> bool {
    let keeps = may_keep_pages_in(scene.folder.path());
    if !keeps {
        skip("neither the build directory nor /var/tmp lies on the mount of the root directory");
    }
    keeps
}

/// `FIRST coldstart prefetch run PLAN -- PROGRAM`.
fn through(first: &[&str], plan: &Path, program: &[&str]) -> Command {
    let words = [first, &[COLDSTART, "prefetch", "run", plan.to_str().unwrap(), "--"], program].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Waits until something holds; says whether it does in the end.
fn holds_in_time(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() > end {
            return condition();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Processes that have the file mapped.
fn mapping(data: &Path) -> Vec<ProcessFiles> {
    let is_it = |mapping: &Mapping| mapping.path.to_string_lossy().contains(data.to_str().unwrap());
    let maps = |process: &ProcessFiles| process.maps().is_ok_and(|mappings| mappings.iter().any(is_it));
    numbers().unwrap().into_iter().map(ProcessFiles::of).filter(maps).collect()
}

fn resident_pages(data: &Path) -> u64 {
    let output = Command::new(COLDSTART).args(["pagecache", "show", "--json"]).arg(data).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    shown["files"][0]["resident_pages"].as_u64().unwrap()
}

/// Words that make what follows the place to which orphans come back.
fn reapers(witness: &str) -> Vec<Vec<&str>> {
    let namespace = vec!["unshare", "--pid", "--fork", "--mount-proc"];
    let mut reapers = vec![vec![witness, "subreaper"]];
    if Command::new("unshare").args([&namespace[1..], &["true"]].concat()).status().is_ok_and(|status| status.success())
    {
        reapers.push(namespace);
    } else {
        skip("no PID namespace may be made");
    }
    reapers
}

#[test]
fn a_program_that_reaps_orphans_has_no_child() {
    let scene = Scene::new();
    let witness = scene.witness();
    for before_start in [true, false] {
        let plan = scene.plan(&scene.data(), before_start);
        for reaper in reapers(&witness) {
            let output = through(&reaper, &plan, &[&witness, "children"]).output().unwrap();
            assert_eq!(text(&output.stdout), "none\n", "{reaper:?}, before: {before_start}: {}", text(&output.stderr));
            assert_eq!(text(&output.stderr), "", "{reaper:?}");
        }
    }
}

#[test]
fn a_program_that_reaps_orphans_has_its_pages_all_the_same() {
    let scene = Scene::new();
    let witness = scene.witness();
    for reaper in reapers(&witness) {
        // Read when the program starts. Not each time: some kernels reclaim pages within a second that nobody has used yet.
        let plan = scene.plan(&scene.data(), true);
        let look = [COLDSTART, "pagecache", "show", "--json", scene.path("data").to_str().unwrap()].map(str::to_owned);
        let look: Vec<&str> = look.iter().map(String::as_str).collect();
        let mut found = Vec::new();
        while found.len() < 5 && found.last().is_none_or(|pages| pages * 5 < PAGES * 4) {
            make_cold(&scene.data());
            let output = through(&reaper, &plan, &look).output().unwrap();
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
            found.push(shown["files"][0]["resident_pages"].as_u64().unwrap());
        }
        assert!(found.last().is_some_and(|pages| pages * 5 >= PAGES * 4), "{reaper:?}: {found:?} of {PAGES}");

        // Asked for when the program starts, and read after a while.
        let plan = scene.plan(&scene.data(), false);
        let brought = (0..5).any(|_| {
            make_cold(&scene.data());
            assert!(through(&reaper, &plan, &["true"]).status().unwrap().success());
            holds_in_time(Duration::from_secs(5), || resident_pages(&scene.data()) * 5 >= PAGES * 4)
        });
        assert!(brought, "{reaper:?}");
    }
}

#[test]
fn a_blocked_signal_tells_of_no_child() {
    let scene = Scene::new();
    let witness = scene.witness();
    let plan = scene.plan(&scene.data(), true);
    for first in [&[witness.as_str(), "blocked"][..], &[&witness, "blocked", &witness, "subreaper"]] {
        let output = through(first, &plan, &[&witness, "pending"]).output().unwrap();
        assert_eq!(text(&output.stdout), "none\n", "{first:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_first_process_of_a_namespace_is_left_to_the_program() {
    if !Command::new("unshare").args(["--pid", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("no PID namespace may be made");
    }
    let scene = Scene::new();
    let plan = scene.plan(&scene.data(), true);
    // With the namespace's first process its life ends: no other could be started.
    let output = through(&["unshare", "--pid"], &plan, &["sh", "-c", "/bin/echo started; :"]).output().unwrap();
    assert_eq!(text(&output.stdout), "started\n", "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("started without prefetch") && said.contains("PID namespace"), "{said}");
}

/// A program that runs until its input ends, and the process that keeps pages for it.
fn running(scene: &Scene) -> (Child, ProcessFiles) {
    let plan = scene.plan(&scene.data(), true);
    // One that waits would have settled soon.
    let mut command = through(&["env"], &plan, &[&scene.witness(), "busy"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    let mut keepers = Vec::new();
    holds_in_time(SHORTER_THAN_KEPT, || {
        keepers = mapping(&scene.data());
        !keepers.is_empty()
    });
    assert_eq!(keepers.len(), 1, "{keepers:?}");
    (child, keepers.remove(0))
}

#[test]
fn the_process_beside_the_program_ends_with_it() {
    let scene = Scene::new();
    if !keeps_pages(&scene) {
        return;
    }
    let (mut child, keeper) = running(&scene);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(holds_in_time(SHORTER_THAN_KEPT, || !keeper.exist() || mapping(&scene.data()).is_empty()));
}

#[test]
fn the_process_beside_the_program_has_nothing_of_it() {
    let scene = Scene::new();
    if !keeps_pages(&scene) {
        return;
    }
    let (child, keeper) = running(&scene);
    let descriptors = || {
        let names = fs::read_dir(keeper.at("fd")).unwrap().map(|entry| entry.unwrap().path());
        // One that is closed meanwhile leads nowhere.
        let mut found: Vec<String> =
            names.filter_map(|name| Some(text(fs::read_link(name).ok()?.as_os_str().as_encoded_bytes()))).collect();
        found.sort();
        found
    };
    // Which it has locked.
    let plan = scene.path("before.prefetch");
    let mut expected = ["/dev/null", "/dev/null", "/dev/null", plan.to_str().unwrap(), "anon_inode", "pipe"];
    // The plan's directory decides where its path stands among the others.
    expected.sort_unstable();
    let mut found = Vec::new();
    // It has the data open until it only keeps, and opens `stat` of the program for a moment now and then.
    let only_these = holds_in_time(SHORTER_THAN_KEPT, || {
        found = descriptors();
        let mut kinds: Vec<&str> = found.iter().map(|leads_to| leads_to.split([':', '[']).next().unwrap()).collect();
        kinds.sort_unstable();
        kinds == expected
    });
    assert!(only_these, "{found:?} instead of {expected:?}");
    assert!(found.iter().any(|leads_to| leads_to.contains("pidfd")), "{found:?}");
    assert_eq!(fs::read_link(keeper.at("cwd")).unwrap(), Path::new("/"));
    // Its input ends with the child's other pipes.
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "x");
}

#[test]
fn a_pipe_behind_the_program_ends_with_the_program() {
    let scene = Scene::new();
    let plan = scene.plan(&scene.data(), true);
    let line = format!("{COLDSTART} prefetch run {} -- true | cat", plan.display());
    let mut shell = Command::new("sh").args(["-c", &line]).spawn().unwrap();
    assert!(holds_in_time(SHORTER_THAN_KEPT, || shell.try_wait().unwrap().is_some()));
}

#[test]
fn a_file_system_can_be_unmounted_once_the_program_ended() {
    unmounts_behind("\"$4\" prefetch run \"$5\" -- true");
}

#[test]
fn a_file_system_that_the_program_does_not_use_can_be_unmounted_while_it_runs() {
    // The program ends with the file that it waits for.
    let program = "touch \"$1.started\"; cd /; while [ -e \"$1\" ]; do sleep 0.2; done";
    let start = format!("\"$4\" prefetch run \"$5\" -- sh -c '{program}' sh \"$3\" </dev/null >/dev/null 2>&1");
    unmounts_behind(&format!("{{ {start} & }}; while ! [ -e \"$3.started\" ]; do sleep 0.05; done"));
}

/// Whether a file system whose file is in the plan can be unmounted when a program has been started by a shell's command.
fn unmounts_behind(start: &str) {
    let scene = Scene::new();
    let (image, mount) = (scene.path("image"), scene.path("mount"));
    fs::create_dir(&mount).unwrap();
    // In a mount namespace of its own, where whatever fails leaves nothing mounted.
    let prepare = "truncate -s 32M \"$1\" && mkfs.ext4 -q \"$1\" && mount -o loop \"$1\" \"$2\" && cp --preserve=timestamps \"$3\" \"$2/data\"";
    let script = format!(
        "({prepare}) >&2 || exit 77; {start} || exit 78; \
         echo ended; while read line; do umount \"$2\" 2>/dev/null && {{ echo free; exit; }}; echo busy; done"
    );
    let data = scene.data();
    let plan = {
        // The same file as the copy in everything that a plan records but the name.
        let mut plan =
            coldstart_profile::plan::PlanView::read(&fs::read(scene.plan(&data, true)).unwrap()).unwrap().to_plan();
        plan.targets[0].path = mount.join("data");
        let path = scene.path("mounted.prefetch");
        fs::write(&path, plan.to_bytes().unwrap()).unwrap();
        path
    };
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).args([&image, &mount, &data]).arg(COLDSTART).arg(&plan);
    let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut ask, mut answers) = (shell.stdin.take().unwrap(), lines(shell.stdout.take().unwrap()));
    if answers.next().is_none() {
        let output: Output = shell.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(77), "{}", text(&output.stderr));
        return skip(&format!("no file system may be made and mounted: {}", text(&output.stderr)));
    }
    let mut unmounts = || {
        ask.write_all(b"\n").unwrap();
        answers.next().unwrap() == "free"
    };
    let is_free = holds_in_time(SHORTER_THAN_KEPT, &mut unmounts);
    drop(ask);
    shell.wait().unwrap();
    assert!(is_free, "something holds the file system after the program");
}

#[test]
fn the_process_beside_the_program_ends_when_the_program_has_settled() {
    let scene = Scene::new();
    if !keeps_pages(&scene) {
        return;
    }
    let plan = scene.plan(&scene.data(), true);
    let mut command = through(&["env"], &plan, &["cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let is_kept = || !mapping(&scene.data()).is_empty();
    // It may have settled between two looks of ours on a loaded machine.
    holds_in_time(Duration::from_secs(3), is_kept);
    assert!(holds_in_time(SHORTER_THAN_KEPT, || !is_kept()), "kept though the program only waits");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_process_beside_the_program_that_is_stopped_ends_all_the_same() {
    let mut scene = Scene::new();
    if !keeps_pages(&scene) {
        return;
    }
    scene.predicted_replay = Duration::from_millis(1);
    let (mut child, keeper) = running(&scene);
    let number: i32 = keeper.directory().file_name().unwrap().to_str().unwrap().parse().unwrap();
    let number = rustix::process::Pid::from_raw(number).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::STOP).unwrap();
    // After 2 s for reading and at most 20 s for keeping.
    let has_ended = holds_in_time(Duration::from_secs(60), || !keeper.exist());
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(has_ended);
}

/// Holds a lock on a plan by an independent tool, while a program is started with it, and says how many pages that brought.
fn pages_beside_a_lock(scene: &Scene, before_start: bool, kind: &str) -> u64 {
    let plan = scene.plan(&scene.data(), before_start);
    let mut holder = Command::new("flock");
    holder.arg(kind).arg(&plan).args(["sh", "-c", "echo locked; read line"]);
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(lines(holder.stdout.take().unwrap()).next().as_deref(), Some("locked"));
    make_cold(&scene.data());
    let output = through(&["env"], &plan, &["echo", "started"]).output().unwrap();
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("started\n".to_owned(), String::new()));
    let found = resident_pages(&scene.data());
    drop(holder.stdin.take());
    holder.wait().unwrap();
    found
}

#[test]
fn what_another_start_replays_is_not_replayed_again() {
    if Command::new("flock").arg("--version").output().is_err() {
        return skip("no flock");
    }
    let scene = Scene::new();
    // An exclusive lock is a replay under way, which here never tells that it goes on; a shared one has done it.
    for (before_start, kind) in [(true, "--exclusive"), (true, "--shared"), (false, "--exclusive"), (false, "--shared")]
    {
        assert_eq!(pages_beside_a_lock(&scene, before_start, kind), 0, "{kind}, before: {before_start}");
    }
}

#[test]
fn many_starts_at_once_have_one_process_beside_them() {
    let scene = Scene::new();
    if !keeps_pages(&scene) {
        return;
    }
    let plan = scene.plan(&scene.data(), true);
    let witness = scene.witness();
    // Not each time: on a loaded machine a program may have started without waiting for its replay.
    let mut found = Vec::new();
    while found.len() < 5 && !found.contains(&1) {
        make_cold(&scene.data());
        found.push(keepers_of_many_starts(&scene, &plan, &witness));
        assert!(found.iter().all(|&keepers| keepers <= 1), "{found:?}");
    }
    assert!(found.contains(&1), "{found:?}");
}

/// Starts programs that compute, all at once, and says how many processes keep pages for them.
fn keepers_of_many_starts(scene: &Scene, plan: &Path, witness: &str) -> usize {
    let start = |_| through(&["env"], plan, &[witness, "busy"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut children: Vec<Child> = (0..8).map(|number| start(number).unwrap()).collect();
    for child in &mut children {
        child.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
        assert_eq!(lines(child.stdout.take().unwrap()).next().as_deref(), Some("x"));
    }
    // All have started, and the first one's pages are kept for longer.
    let keepers = mapping(&scene.data()).len();
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    children.iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
    keepers
}

fn lines(stdout: std::process::ChildStdout) -> impl Iterator<Item = String> {
    use std::io::{BufRead, BufReader};
    BufReader::new(stdout).lines().map_while(Result::ok)
}
