//! The second part: the same program, on the model of a network disk.
//!
//! Only what its start uses is copied into a small image, so this takes seconds where `cargo xtask corpus` takes minutes. The
//! program then runs there by chroot, plainly and by `coldstart-run`, which lies on the slow disk as well.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use serde_json::Value;

use super::Programs;
use super::candidate::{Candidate, write_files};
use super::interrupt::Interrupt;
use super::story::Story;
use super::tree::{Tree, remove};
use crate::tools::{find, run};

/// Names inside the image.
const HOME: &str = "/demo";
const PLAN: &str = "/demo/start.prefetch";
/// The bed's mount point, relative to the demonstration's directory: commands that are measured need no other part of its path.
const ROOT: &str = "root";
/// All copies of our own image have the same layout.
const UUID: &str = "6c1de5a3-2b8e-4f0e-9d2c-0c01d57a2702";

/// What this machine lacks for this part, as a clause with its remedy; `None` if nothing.
pub(super) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, which mounts it (`sudo -E cargo xtask demo`)".to_owned());
    }
    for (tool, package) in
        [("mkfs.ext4", "e2fsprogs"), ("losetup", "mount"), ("mount", "mount"), ("chroot", "coreutils")]
    {
        if find(tool).is_none() {
            return Some(format!("`{tool}` is missing (apt-get install {package})"));
        }
    }
    for (device, remedy) in [
        ("/dev/fuse", "modprobe fuse; in a container: --device /dev/fuse"),
        ("/dev/loop-control", "modprobe loop; in a container: --privileged"),
        ("/dev/shm", "mount -t tmpfs tmpfs /dev/shm"),
    ] {
        if !Path::new(device).exists() {
            return Some(format!("{device} is missing ({remedy})"));
        }
    }
    None
}

/// Where it is done, and with what.
pub(super) struct Network<'a> {
    pub(super) programs: &'a Programs,
    /// The demonstration's directory.
    pub(super) directory: &'a Path,
    pub(super) interrupt: &'a Interrupt,
    /// Counted runs of each command in each state.
    pub(super) runs: u32,
}

impl Network<'_> {
    /// Copies, mounts, records, measures. Nothing is left: copies of private files may be among those of a start.
    pub(super) fn story(&self, candidate: &Candidate) -> Result<Story> {
        self.take_down()?;
        let told = self.with_copies(candidate);
        let removed = remove(&self.tree_place()).and_then(|()| remove(&self.image()));
        told.and_then(|story| removed.map(|()| story))
    }

    fn with_copies(&self, candidate: &Candidate) -> Result<Story> {
        let mut bed = self.bed_with(candidate, None)?;
        if let Err(error) = self.start_inside(candidate, &[]) {
            self.interrupt.check()?;
            let own = own_tree(&candidate.program).ok_or_else(|| not_starting(error))?;
            // Some look for other files there than the traced start.
            drop(bed);
            bed = self.bed_with(candidate, Some(&own))?;
            self.start_inside(candidate, &[]).map_err(not_starting)?;
        }
        self.record(candidate)?;
        self.start_inside(candidate, &self.launcher()).context("the program does not start with its plan")?;
        let story = self.measure(candidate);
        drop(bed);
        story
    }

    /// The network disk with the files of a start, and all of the directory `own`.
    fn bed_with(&self, candidate: &Candidate, own: Option<&Path>) -> Result<Bed<'_>> {
        make_image(&self.tree(candidate, own)?, &self.image())?;
        remove(&self.tree_place())?;
        let bed = self.raise()?;
        // The bed has its own copy.
        fs::remove_file(self.image())?;
        Ok(bed)
    }

    /// A root with all that a start uses.
    fn tree(&self, candidate: &Candidate, own: Option<&Path>) -> Result<Tree> {
        let besides = own.map(|own| format!(", and {}", own.display())).unwrap_or_default();
        eprintln!("demo: copying the files that one start of {} uses{besides}", candidate.name);
        let mut tree = Tree::new(self.tree_place())?;
        tree.make_directory(Path::new(HOME), 0o700)?;
        write_files(&tree.inside(Path::new(HOME)))?;
        for program in [&self.programs.coldstart, &self.programs.launcher] {
            let name = program.file_name().context("a program without a name")?;
            fs::copy(program, tree.inside(&Path::new(HOME).join(name)))?;
        }
        let ours = [self.programs.coldstart.as_path(), self.programs.launcher.as_path(), &candidate.program];
        for name in self.closure(&ours).into_iter().chain(self.names_of_a_start(candidate)?) {
            self.interrupt.check()?;
            tree.add(&name)?;
        }
        tree.add(&candidate.program)?;
        if let Some(own) = own {
            tree.add_below(own)?;
        }
        eprintln!("demo: {} files, {:.0} MB", tree.files, tree.bytes as f64 / 1e6);
        Ok(tree)
    }

    /// The libraries of programs. A script has none, and its interpreter's are in the trace.
    fn closure(&self, programs: &[&Path]) -> Vec<PathBuf> {
        let resolved = |program: &&Path| {
            let output = self.coldstart(&["resolve", "--json"]).arg(program).output().ok()?;
            serde_json::from_slice::<Value>(&output.stdout).ok()
        };
        let mut names = Vec::new();
        programs.iter().filter_map(resolved).for_each(|answer| paths_in(&answer, &mut names));
        names
    }

    /// What a start of the program opens or asks for, seen by `coldstart trace`, and which files it reads, which its plan knows,
    /// where starts cannot be traced.
    fn names_of_a_start(&self, candidate: &Candidate) -> Result<Vec<PathBuf>> {
        let trace = self.directory.join("start.coldtrace");
        let mut record = self.coldstart(&["trace", "--force", "--json", "--layers", "files", "--output"]);
        record.arg(&trace).arg("--").arg(&candidate.program);
        record.args(candidate.arguments(&self.directory.to_string_lossy()));
        let traced = record.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        self.interrupt.check()?;
        let mut answer = Value::Null;
        if traced.status.success() {
            let select = "SELECT path FROM lookups WHERE NOT failed AND path IS NOT NULL UNION SELECT path FROM files";
            let output = self.coldstart(&["trace", "sql", "--json"]).arg(&trace).arg(select).output()?;
            answer = serde_json::from_slice(&output.stdout).context("`coldstart trace sql` printed something else")?;
        } else {
            let plan = self.directory.join(format!("{}.prefetch", super::file_name(candidate)));
            let output = self.coldstart(&["prefetch", "show", "--json"]).arg(plan).output()?;
            answer = serde_json::from_slice(&output.stdout).unwrap_or(answer);
        }
        remove(&trace)?;
        let mut names = Vec::new();
        paths_in(&answer, &mut names);
        if names.is_empty() {
            let said = String::from_utf8_lossy(&traced.stderr).trim().to_owned();
            bail!("cannot see which files a start of {} uses: {said}", candidate.name);
        }
        Ok(names)
    }

    fn raise(&self) -> Result<Bed<'_>> {
        eprintln!("demo: mounting them on the model of a network disk (1 ms, 250 MB/s)");
        // From here on there may be something to take down, even if bringing it up fails.
        let bed = Bed(self);
        let mut up = self.testbed("up");
        up.args(["net", "--image"]).arg(self.image()).arg("--at").arg(self.directory.join(ROOT));
        let output = up.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the disk could not be mounted: {}", said.trim());
        Ok(bed)
    }

    /// Takes down what is up, by whomever: an earlier demonstration may have been killed.
    fn take_down(&self) -> Result<()> {
        let output = self.testbed("down").arg("--kill").stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "the disk could not be taken down: {}\nhint: {} down --kill --home {}",
            String::from_utf8_lossy(&output.stderr).trim(),
            self.programs.testbed.display(),
            self.bed_home().display()
        );
        Ok(())
    }

    /// `coldstart` records inside, where files have the names that the launcher will find.
    fn record(&self, candidate: &Candidate) -> Result<()> {
        eprintln!("demo: recording a cold start there");
        let coldstart = format!("{HOME}/coldstart");
        let mut words = vec![coldstart, "prefetch".into(), "record".into(), "--json".into(), "--force".into()];
        words.extend(["--output".into(), PLAN.into(), "--".into()]);
        let output = self.inside(candidate, &words).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        self.interrupt.check()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "no start could be recorded there: {}", said.trim());
        Ok(())
    }

    fn measure(&self, candidate: &Candidate) -> Result<Story> {
        let words = |prefix: &[String]| {
            let mut words = vec!["chroot".to_owned(), ROOT.to_owned()];
            words.extend_from_slice(prefix);
            words.push(candidate.program.to_string_lossy().into_owned());
            words.extend(candidate.arguments(HOME));
            words
        };
        let mut measure = self.coldstart(&["measure", "--json", "--no-history", "--state", "cold", "--state", "hot"]);
        measure.args([
            "--runs",
            &self.runs.to_string(),
            "--compare",
            &shell_words::join(words(&self.launcher())),
            "--",
        ]);
        let output = measure.args(words(&[])).stderr(Stdio::inherit()).output()?;
        self.interrupt.check()?;
        let answer = serde_json::from_slice(&output.stdout).context("`coldstart measure` printed no result")?;
        Story::of_measurement(&answer)
    }

    /// One start inside, whose success is all that is asked for.
    fn start_inside(&self, candidate: &Candidate, prefix: &[String]) -> Result<()> {
        super::candidate::finish_quietly(&mut self.inside(candidate, prefix), self.interrupt)
    }

    fn inside(&self, candidate: &Candidate, prefix: &[String]) -> Command {
        let mut command = Command::new("chroot");
        command.current_dir(self.directory).arg(ROOT).args(prefix).arg(&candidate.program);
        command.args(candidate.arguments(HOME)).stdin(Stdio::null());
        command
    }

    fn launcher(&self) -> Vec<String> {
        vec![format!("{HOME}/coldstart-run"), PLAN.to_owned(), "--".to_owned()]
    }

    fn coldstart(&self, arguments: &[&str]) -> Command {
        let mut coldstart = Command::new(&self.programs.coldstart);
        coldstart.args(arguments).current_dir(self.directory).stdin(Stdio::null());
        coldstart
    }

    fn testbed(&self, action: &str) -> Command {
        let mut testbed = Command::new(&self.programs.testbed);
        testbed.args([action, "--home"]).arg(self.bed_home());
        testbed
    }

    fn bed_home(&self) -> PathBuf {
        self.directory.join("bed")
    }

    fn tree_place(&self) -> PathBuf {
        self.directory.join("tree")
    }

    fn image(&self) -> PathBuf {
        self.directory.join("image.ext4")
    }
}

/// A network disk that is up; down when dropped.
struct Bed<'a>(&'a Network<'a>);

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.take_down() {
            eprintln!("demo: {error:#}");
        }
    }
}

fn not_starting(error: anyhow::Error) -> anyhow::Error {
    error.context("the copy of the program does not start (files in /tmp, /run, /dev, /proc and /sys are not copied)")
}

/// The directory that a program has for itself, as `/usr/lib/jvm/java-17` for `/usr/lib/jvm/java-17/bin/javac`.
fn own_tree(program: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(program).ok()?;
    let above = real.parent()?;
    let own = above.parent().filter(|_| above.ends_with("bin") || above.ends_with("program"))?;
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let is_shared = own.ends_with(".local") || home.starts_with(own);
    let is_shared = is_shared || ["/usr", "/usr/local"].iter().any(|shared| own == Path::new(shared));
    let size = || -> u64 {
        let entries = walkdir::WalkDir::new(own).into_iter().filter_map(Result::ok);
        entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
    };
    // Toolchains of gigabytes hold much that no start looks for.
    (!is_shared && size() < MOST_OWN_BYTES).then(|| own.to_owned())
}

const MOST_OWN_BYTES: u64 = 400 << 20;

/// Every absolute path in an answer.
fn paths_in(answer: &Value, names: &mut Vec<PathBuf>) {
    match answer {
        Value::String(text) if text.starts_with('/') => names.push(text.into()),
        Value::Array(values) => values.iter().for_each(|value| paths_in(value, names)),
        Value::Object(fields) => fields.values().for_each(|value| paths_in(value, names)),
        _ => {}
    }
}

/// An ext4 image of a tree.
fn make_image(tree: &Tree, image: &Path) -> Result<()> {
    remove(image)?;
    // Each file may leave most of its last block empty; the rest is for the file system itself and for what programs write.
    let bytes = tree.bytes + tree.files * 8192;
    fs::File::create_new(image)?.set_len(bytes + bytes / 8 + (96 << 20))?;
    let mut format = Command::new(find("mkfs.ext4").context("mkfs.ext4 is missing\nhint: apt-get install e2fsprogs")?);
    format.args(["-q", "-F", "-L", "demo", "-U", UUID, "-i", "8192", "-m", "0", "-J", "size=8"]);
    // Everything is initialised now: a kernel thread that does it later would write beside what is measured.
    format.args(["-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-d"]).arg(tree.root()).arg(image);
    run(format.stdin(Stdio::null()).stdout(Stdio::null())).context("no image could be made")
}
