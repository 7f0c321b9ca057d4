//! A machine played by a tree of files and by answers of a kernel that is not there.

use std::fs;
use std::path::PathBuf;

use coldstart_doctor::{
    Ability, Answer, Check, Facts, Kind, OthersFile, PlaceProbe, Probes, Standing, Status, Surroundings, judge,
    standings,
};
use coldstart_sys::private_mounts::Method;

pub(crate) const EPERM: Answer = Answer::Refused(1);
pub(crate) const EACCES: Answer = Answer::Refused(13);
pub(crate) const ENOSYS: Answer = Answer::Refused(38);
pub(crate) const STATUS: &str =
    "Name:\tcoldstart\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n";
pub(crate) const USER: &str =
    "Name:\tcoldstart\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n";
pub(crate) const MOUNTS: &str = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n25 22 0:22 / /proc rw - proc proc rw\n";

/// A machine: a tree of files, what the process was given, and what trying gives.
pub(crate) struct Machine {
    pub(crate) root: tempfile::TempDir,
    pub(crate) surroundings: Surroundings,
    pub(crate) probes: Probes,
}

impl Machine {
    /// Linux 6.12 as root with everything there.
    pub(crate) fn new() -> Self {
        let works = || Answer::Works;
        let place = PlaceProbe {
            name: "usr",
            path: "/usr".into(),
            real_path: Some("/usr".into()),
            kind: Some(Kind::Disk),
            fiemap: works(),
            direct: works(),
            device: Some(("/dev/sda1".into(), works())),
        };
        let probes = Probes {
            drop_caches: works(),
            cachestat: works(),
            mincore: works(),
            others_file: Some(OthersFile {
                path: "/usr/bin/env".into(),
                is_own: false,
                counts: works(),
                lists: works(),
            }),
            perf_user: works(),
            perf_kernel: works(),
            tracefs: works(),
            tracepoint: works(),
            instances: works(),
            observer: works(),
            names_readable: Some(true),
            tracing: works(),
            debug_registers: works(),
            exchange: works(),
            links: works(),
            private_view: Some(Ok(Method::Root)),
            pidfd: works(),
            null_device: works(),
            userfaultfd_device: works(),
            places: vec![place],
            ..Probes::default()
        };
        let machine = Self { root: tempfile::tempdir().unwrap(), surroundings: Surroundings::default(), probes };
        machine.write("proc/self/status", STATUS);
        machine.write("proc/self/uid_map", "         0          0 4294967295\n");
        machine.write("proc/self/mountinfo", MOUNTS);
        machine.write("proc/sys/kernel/osrelease", "6.12.5\n");
        machine.write("proc/filesystems", "nodev\tproc\n\text4\n\terofs\n");
        machine.write("proc/sys/vm/drop_caches", "0\n");
        machine.write("proc/loadavg", "0.10 0.20 0.30 1/200 4711\n");
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Adds a line to the mount table.
    pub(crate) fn mount(&self, line: &str) {
        let table = fs::read_to_string(self.path("proc/self/mountinfo")).unwrap();
        self.write("proc/self/mountinfo", table + line + "\n");
    }

    pub(crate) fn become_user(&mut self) {
        self.write("proc/self/status", USER);
        self.probes.drop_caches = EACCES;
        self.probes.tracefs = EPERM;
        self.probes.others_file =
            Some(OthersFile { path: "/usr/bin/env".into(), is_own: false, counts: EPERM, lists: EPERM });
    }

    pub(crate) fn judged(&self) -> Judged {
        let mut surroundings = self.surroundings.clone();
        surroundings.mounts = Surroundings::mounts_of(self.root.path());
        let checks = judge(&Facts::look(self.root.path(), &surroundings, self.probes.clone()));
        let standings = standings(&checks);
        Judged { checks, standings }
    }
}

pub(crate) struct Judged {
    pub(crate) checks: Vec<Check>,
    pub(crate) standings: Vec<Standing>,
}

impl Judged {
    pub(crate) fn check(&self, name: &str) -> &Check {
        self.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no check {name}"))
    }

    pub(crate) fn status(&self, name: &str) -> Status {
        self.check(name).status
    }

    pub(crate) fn of(&self, ability: Ability) -> Status {
        self.standings.iter().find(|standing| standing.ability == ability).unwrap().status
    }

    pub(crate) fn command(&self, name: &str) -> &str {
        self.check(name).grants.first().map_or("", |grant| grant.command.as_str())
    }
}
