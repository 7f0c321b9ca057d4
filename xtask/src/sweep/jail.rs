//! A jail for programs that are started without knowing what they do: namespaces of their own, and a system in which nothing stays.
//!
//! The system is an overlay. Its layers are only read; what a program writes goes to a directory in memory that ends with the jail's
//! mount namespace. All processes of a jail end with the first of its PID namespace, so neither mounts nor processes are left, also
//! when the chore is killed.
//!
//! Not obvious: a traced program shares the PID namespace of the machine, because the kernel's tracing knows no other numbers.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::answers::Answer;
use crate::tools::run;

/// Seconds for a command that works on the whole system.
const FOR_WORK: u32 = 3600;
/// Bytes of stdout and of stderr that are compared. A program that says more is read to its end all the same.
const MOST_BYTES: u64 = 1 << 20;
/// Where a jail shows `coldstart`.
pub(super) const COLDSTART: &str = "/coldstart";

/// Runs in the new namespaces, before the chroot. `$1` is an empty directory, `$2` the layers, `$3` where changes stay or nothing,
/// `$4` the device files, `$5` `coldstart`, `$6` what timeout(1) is told; the command follows.
///
/// The shell is the first process of the PID namespace, and the program is not: signals to the first are ignored unless it handles
/// them (`pid_namespaces(7)`), and abort(3) would end otherwise. Capabilities that reach the machine itself are given up.
const ENTER: &str = r#"
place=$1 layers=$2 changes=${3:-$1} devices=$4 coldstart=$5 patience=$6
shift 6
ulimit -c 0
mount -t tmpfs -o mode=755 sweep "$place"
mkdir -p "$place/root" "$changes/upper" "$changes/work"
mount -t overlay -o "lowerdir=$layers,upperdir=$changes/upper,workdir=$changes/work" overlay "$place/root"
cd "$place/root"
mkdir -p proc sys dev tmp/home
mount -t proc proc proc
mount --bind -o ro proc/sys proc/sys
[ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
mount -t sysfs -o ro sysfs sys
mount --bind -o ro "$devices" dev
mount -t tmpfs -o mode=1777 shm dev/shm
: >>coldstart
mount --bind -o ro "$coldstart" coldstart
[ "${traced:-}" ] && mount -t tracefs tracefs sys/kernel/tracing
code=0
timeout --foreground $patience setpriv --bounding-set=-sys_boot,-sys_module,-sys_rawio,-sys_time \
    env -i HOME=/tmp/home LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot . "$@" </dev/null || code=$?
exit $code
"#;

/// Device files without a disk or a display among them.
const DEVICES: &str = r#"
cd "$1"
mknod -m 666 null c 1 3
mknod -m 666 zero c 1 5
mknod -m 666 full c 1 7
mknod -m 666 random c 1 8
mknod -m 666 urandom c 1 9
mkdir shm pts
ln -s /proc/self/fd fd
ln -s /proc/self/fd/0 stdin
ln -s /proc/self/fd/1 stdout
ln -s /proc/self/fd/2 stderr
"#;

/// What all jails of a sweep share.
pub(super) struct Ground {
    /// A directory in memory of this mount namespace, which ends with the chore.
    directory: PathBuf,
    coldstart: PathBuf,
    /// Seconds for an answer.
    limit: u32,
}

impl Ground {
    /// Takes an empty place below `home` for this mount namespace, which must be the chore's own.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub(super) fn new(home: &Path, coldstart: &Path, limit: u32) -> Result<Self> {
        let directory = home.join("mounts");
        fs::create_dir_all(&directory)?;
        run(Command::new("mount").args(["-t", "tmpfs", "-o", "mode=755", "sweep"]).arg(&directory))?;
        for name in ["place", "devices"] {
            fs::create_dir(directory.join(name))?;
        }
        run(Command::new("sh").args(["-euc", DEVICES, "sh"]).arg(directory.join("devices")))?;
        Ok(Self { directory, coldstart: coldstart.to_owned(), limit })
    }

    /// A jail with this system.
    pub(super) fn jail(&self, tree: &Path) -> Jail<'_> {
        Jail { ground: self, layers: vec![tree.to_owned()] }
    }
}

/// A system to start programs in.
pub(super) struct Jail<'a> {
    ground: &'a Ground,
    /// The topmost first.
    layers: Vec<PathBuf>,
}

impl<'a> Jail<'a> {
    /// Lets a command change the system, and returns what it said with a jail that has the changes.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn changed(&self, name: &str, words: &[OsString]) -> Result<(Output, Jail<'a>)> {
        let changes = self.ground.directory.join(name);
        fs::create_dir(&changes)?;
        let patience = format!("--signal=KILL {FOR_WORK}");
        let output = self.command(Some(&changes), &patience, false, words).output().context("cannot start unshare")?;
        let layers = std::iter::once(changes.join("upper")).chain(self.layers.iter().cloned()).collect();
        Ok((output, Jail { ground: self.ground, layers }))
    }

    /// What a command that changes nothing says.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn output(&self, words: &[OsString]) -> Result<Output> {
        let patience = format!("--signal=KILL {FOR_WORK}");
        self.command(None, &patience, false, words).output().context("cannot start unshare")
    }

    /// How a program answers. One that is still running after the limit is killed, with all that it has started.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn ask(&self, words: &[OsString]) -> Result<Answer> {
        let patience = format!("--signal=KILL {}", self.ground.limit);
        answer(self.command(None, &patience, false, words).spawn().context("cannot start unshare")?)
    }

    /// The same outside of a PID namespace, with thrice the time.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn ask_traced(&self, words: &[OsString]) -> Result<Answer> {
        let patience = format!("--signal=TERM --kill-after=5 {}", 3 * self.ground.limit);
        answer(self.command(None, &patience, true, words).spawn().context("cannot start unshare")?)
    }

    fn command(&self, changes: Option<&Path>, patience: &str, traced: bool, words: &[OsString]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--net", "--ipc", "--uts"]);
        if traced {
            command.env("traced", "yes");
        } else {
            command.args(["--pid", "--fork", "--kill-child"]).env_remove("traced");
        }
        let layers: Vec<&OsStr> = self.layers.iter().map(|layer| layer.as_os_str()).collect();
        command.args(["--", "sh", "-euc", ENTER, "sh"]).arg(self.ground.directory.join("place"));
        command.arg(layers.join(OsStr::new(":"))).arg(changes.unwrap_or(Path::new("")));
        command.arg(self.ground.directory.join("devices")).arg(&self.ground.coldstart).arg(patience).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Reads both streams to their ends, and keeps their beginnings.
fn answer(mut child: Child) -> Result<Answer> {
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("a jail without output");
    };
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| beginning(stderr));
        (beginning(stdout), stderr.join())
    });
    let Ok(stderr) = stderr else { bail!("reading stderr failed") };
    let status = child.wait()?;
    let code = status.code().with_context(|| format!("a jail ended with {status}"))?;
    Ok(Answer { code, stdout: stdout?, stderr: stderr? })
}

fn beginning(mut stream: impl Read) -> io::Result<String> {
    let mut kept = Vec::new();
    stream.by_ref().take(MOST_BYTES).read_to_end(&mut kept)?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(String::from_utf8_lossy(&kept).into_owned())
}
