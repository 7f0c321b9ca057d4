//! A survey by the tasks of a Slurm array, on a cluster of one node that the test starts: a controller, a node's daemon, and munge.
//!
//! The commands are those of `docs/scale.md`. Needs root, and Debian's `slurmctld`, `slurmd`, `slurm-client` and `munge`, whose
//! daemons need not run: these have their own configuration, state, key and ports.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use coldstart_testing::{PATIENCE, Random, attempt, distinct_port, eventually, is_root, one_line, skip, within};

use super::{Scene, tables};

const DAEMONS: [&str; 3] = ["/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"];

/// A cluster of this machine alone, until it is dropped.
struct Cluster {
    directory: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Starts it in a directory of the scene; `None` where that is not possible.
    fn start(scene: &Scene) -> Option<Self> {
        if !is_root() {
            return None;
        }
        if let Some(missing) = DAEMONS.iter().find(|daemon| !Path::new(daemon).exists()) {
            skip(&format!("needs {missing}"));
            return None;
        }
        let mut cluster = Self { directory: scene.path("slurm"), daemons: Vec::new() };
        for directory in ["", "state", "spool"] {
            fs::create_dir(cluster.path(directory)).unwrap();
        }
        cluster.configure();
        let [munge, controller, node] = DAEMONS;
        let option = |name: &str, file: &str| format!("--{name}={}", cluster.path(file).display());
        let options = [
            option("socket", "munge.socket"),
            option("key-file", "munge.key"),
            option("pid-file", "munged.pid"),
            option("seed-file", "munged.seed"),
        ];
        // Its rules for directories are those of a machine with users.
        cluster.daemon(Command::new(munge).args(["--foreground", "--force"]).args(options));
        eventually("munge's socket", || cluster.path("munge.socket").exists());
        cluster.daemon(Command::new(controller).args(["-D", "-i"]));
        cluster.daemon(Command::new(node).arg("-D"));
        let is_idle = || {
            let mut state = cluster.client("sinfo");
            state.args(["--noheader", "--format=%T"]).output().unwrap().stdout.starts_with(b"idle")
        };
        assert!(within(PATIENCE, is_idle), "the node is not idle: {}", cluster.messages());
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// One node with two processors. Nothing needs cgroups, systemd or a database.
    fn configure(&self) {
        let name = attempt(Command::new("uname").arg("-n")).unwrap();
        let host = name.trim().split('.').next().unwrap();
        let at = self.directory.display();
        let [controller_port, node_port] = [distinct_port("127.0.0.1"), distinct_port("127.0.0.1")];
        let text = format!(
            "ClusterName=coldstart\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={controller_port}\n\
             SlurmdPort={node_port}\n\
             SlurmUser=root\n\
             SlurmdUser=root\n\
             AuthType=auth/munge\n\
             CredType=cred/munge\n\
             # A job that is queued again waits until its first credential is no longer valid: the shortest time.\n\
             AuthInfo=socket={at}/munge.socket,cred_expire=5\n\
             SchedulerParameters=bf_interval=1\n\
             KillWait=2\n\
             StateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool\n\
             SlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd.pid\n\
             MpiDefault=none\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\n\
             SlurmdParameters=config_overrides\n\
             ReturnToService=2\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES State=UP\n"
        );
        fs::write(self.path("slurm.conf"), text).unwrap();
        let mut random = Random::new(8);
        let key: Vec<u8> = (0..1024).map(|_| random.below(256) as u8).collect();
        fs::write(self.path("munge.key"), key).unwrap();
        fs::set_permissions(self.path("munge.key"), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn daemon(&mut self, command: &mut Command) {
        let log = File::create(self.path(&format!("{}.log", self.daemons.len()))).unwrap();
        let output = [log.try_clone().unwrap(), log];
        let [out, err] = output.map(Stdio::from);
        let configured = command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        self.daemons.push(configured.stdout(out).stderr(err).spawn().unwrap());
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// Runs a line of a shell, in which `coldstart-survey` is the program under test.
    fn shell(&self, line: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_coldstart-survey")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", program.display());
        let mut shell = self.client("sh");
        shell.args(["-c", line]).env("PATH", path).env("SBATCH_OUTPUT", self.path("%A-%a.out")).env("SBATCH_WAIT", "1");
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Queued again, a job waits for a while.
        if !within(3 * PATIENCE, || child.try_wait().unwrap().is_some()) {
            child.kill().unwrap();
            panic!("`{line}` does not end: {}", self.messages());
        }
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn succeeds(&self, line: &str) {
        let output = self.shell(line);
        assert!(output.status.success(), "`{line}`: {output:?}\n{}", self.messages());
    }

    /// What the daemons and the jobs wrote.
    fn messages(&self) -> String {
        let files = fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().path());
        let written = files.filter(|path| path.extension().is_some_and(|end| end == "log" || end == "out"));
        written.map(|path| format!("{}:\n{}", path.display(), fs::read_to_string(&path).unwrap())).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs outlive the node's daemon.
        let cancelled =
            self.client("timeout").args(["10", "scancel", "--signal=KILL", "--full", "--user=root"]).status();
        if !cancelled.is_ok_and(|status| status.success()) {
            eprintln!("jobs may be left");
        }
        for daemon in self.daemons.iter_mut().rev() {
            // One that has ended already need not be killed.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// The line of `docs/scale.md` that begins so, for this scene and two tasks.
fn documented(begin: &str, scene: &Scene) -> String {
    let page = include_str!("../../../../docs/scale.md");
    let line = page.lines().map(str::trim).find(|line| line.starts_with(begin)).expect("docs/scale.md has the command");
    let [tree, out] = ["tree", "out"].map(|name| scene.path(name).display().to_string());
    let line = line.replace("/srv/packages", &tree).replace("/srv/survey", &out);
    line.replace("--array=1-100", "--array=1-2")
}

fn complete_shards(scene: &Scene) -> Vec<u32> {
    let is_complete = |number: &u32| scene.path(&format!("out/shard={number:05}/shard.json")).exists();
    (0..5).filter(is_complete).collect()
}

#[test]
fn an_array_makes_the_same_survey() {
    let scene = Scene::new(9000);
    let Some(cluster) = Cluster::start(&scene) else { return };
    scene.json(&[scene.path("tree").to_str().unwrap(), "-o", "whole"]);
    cluster.succeeds(&documented("sbatch --array", &scene));
    assert_eq!(complete_shards(&scene), [0, 1, 2]);
    cluster.succeeds(&documented("sbatch --dependency", &scene).replace("--dependency=afterany:JOB ", ""));
    assert!(tables(&scene.path("whole")) == tables(&scene.path("out")), "other bytes");
    assert!(!scene.path("out/.working").exists());
}

/// In the middle of its work, one task is queued again, and one dies with its job. Which shards are made until then is certain.
#[test]
fn an_array_of_which_tasks_are_killed_goes_on() {
    let scene = Scene::new(18_000);
    let Some(cluster) = Cluster::start(&scene) else { return };
    scene.json(&[scene.path("tree").to_str().unwrap(), "-o", "whole"]);
    let array = documented("sbatch --array", &scene);
    let work = array.split('\'').nth(1).unwrap();
    let half = work.replace("SLURM_ARRAY_TASK_COUNT", "HALVES");
    let marker = scene.path("first").display().to_string();
    let out = scene.path("out").display().to_string();
    let script = format!(
        "#!/bin/sh\n\
         if mkdir {marker}.$SLURM_ARRAY_TASK_ID; then\n\
           HALVES=4\n\
           {half}\n\
           mkdir {out}/.working/shard=00003 && echo PAR1 > {out}/.working/shard=00003/objects.parquet\n\
           case $SLURM_ARRAY_TASK_ID in\n\
             1) scontrol requeue $SLURM_JOB_ID; sleep 600 ;;\n\
             2) kill -9 $$ ;;\n\
           esac\n\
         fi\n\
         {work}\n"
    );
    fs::write(scene.path("job"), script).unwrap();
    let output = cluster.shell(&format!("sbatch --array=1-2 {}", scene.path("job").display()));
    assert!(!output.status.success(), "{output:?}\n{}", cluster.messages());
    assert_eq!(complete_shards(&scene), [0, 1, 2, 4], "{}", cluster.messages());
    let log = cluster.messages();
    assert!(one_line(&log).contains("Requeuing JobId="), "{log}");
    cluster.succeeds(&array);
    assert_eq!(complete_shards(&scene), [0, 1, 2, 3, 4]);
    scene.json(&[scene.path("tree").to_str().unwrap(), "-o", "out"]);
    assert!(tables(&scene.path("whole")) == tables(&scene.path("out")), "other bytes");
}
