//! The result of a launch.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;
use std::time::Duration;

use coldstart_sys::wait::ResourceUsage;

/// The result of a launch, also if the program crashed or never became ready.
#[derive(Clone, Debug)]
pub struct Launched {
    /// PID of the process that was started; already reaped.
    pub process: u32,
    /// From right before the spawn to readiness. `None` if the program never became ready.
    ///
    /// With [`Readiness::Exit`](crate::Readiness::Exit) any exit is readiness, whatever its code; death by a signal is not.
    pub ready_after: Option<Duration>,
    /// From right before the spawn to readiness, or to the moment when it was given up.
    pub elapsed: Duration,
    /// How the program ended.
    pub end: End,
    /// If it never became ready: the last state of the readiness watch, if known, as a clause
    /// such as "http://127.0.0.1:8080/up answered with status 503".
    pub last_seen: Option<String>,
    /// What the whole tree had read by readiness, or by the moment when it was given up.
    pub counts: Counts,
    /// What the whole tree used until it was ended, the ending included.
    pub usage: Usage,
    /// How many processes got SIGTERM because they were still running.
    pub ended_processes: u32,
    /// How many processes of the tree got SIGKILL.
    pub killed_processes: u32,
}

/// How the first process of a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we did not send.
    Signalled(i32),
    /// After readiness other than exit: by us, or by itself before we ended it.
    Ended,
    /// By us, because it was not ready within the limit.
    TimedOut,
}

impl Launched {
    /// Whether it succeeded: it became ready, and with exit readiness its code is 0.
    pub fn succeeded(&self) -> bool {
        self.ready_after.is_some() && matches!(self.end, End::Exited(0) | End::Ended)
    }
}

/// "exited with code 1", "was killed by signal 11", ...: to follow "the program".
impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exited with code {code}"),
            Self::Signalled(signal) => write!(formatter, "was killed by signal {signal}"),
            Self::Ended => formatter.write_str("was ended after it was ready"),
            Self::TimedOut => formatter.write_str("was not ready within the time limit"),
        }
    }
}

/// What a process tree had read by one moment. Unknown figures are `None`, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Bytes read from disks on the tree's behalf, readahead included; 0 when all was cached.
    pub bytes_read: Option<u64>,
    /// Page faults that waited for I/O.
    pub major_faults: Option<u64>,
    /// Page faults served from memory.
    pub minor_faults: Option<u64>,
    /// Why a figure is unknown.
    pub unknown: Option<Uncounted>,
}

impl Counts {
    pub(crate) fn unknown(reason: Uncounted) -> Self {
        Self { bytes_read: None, major_faults: None, minor_faults: None, unknown: Some(reason) }
    }
}

/// Why a process tree's usage is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncounted {
    /// A process ignores SIGCHLD, so the kernel discards its children's usage when they end (`wait(2)`). Processor
    /// times are incomplete then, too.
    ChildrenNotWaitedFor,
    /// `/proc/PID/io` of a process is not readable, for example because of its privileges.
    Hidden,
    /// The kernel lacks I/O accounting (`CONFIG_TASK_IO_ACCOUNTING`).
    NoAccounting,
    /// Processes ended during each attempt to count.
    Changing,
}

/// A clause: "a process of it ignores SIGCHLD, ...".
impl fmt::Display for Uncounted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ChildrenNotWaitedFor => {
                "one of its processes ignores SIGCHLD, so the kernel discards its children's figures"
            }
            Self::Hidden => "the I/O counters of one of its processes (/proc/PID/io) are not readable",
            Self::NoAccounting => "the kernel has no I/O accounting (CONFIG_TASK_IO_ACCOUNTING)",
            Self::Changing => "its processes ended faster than they could be counted",
        })
    }
}

/// Resource usage of a process tree, summed over all its processes (`wait4(2)` of each that we reaped).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Bytes read from disks on the tree's behalf, readahead included; 0 when all was cached.
    pub bytes_read: u64,
    /// Times a process gave up the processor to wait.
    pub voluntary_switches: u64,
    /// Times the processor was taken from a process.
    pub involuntary_switches: u64,
    /// Largest resident set of one process of the tree, in bytes.
    pub peak_resident_bytes: u64,
}

impl From<ResourceUsage> for Usage {
    fn from(usage: ResourceUsage) -> Self {
        Self {
            user: usage.user,
            system: usage.system,
            major_faults: usage.major_faults,
            minor_faults: usage.minor_faults,
            bytes_read: usage.blocks_read.saturating_mul(512),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            peak_resident_bytes: usage.peak_resident_bytes,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.user = self.user.saturating_add(other.user);
        self.system = self.system.saturating_add(other.system);
        self.major_faults = self.major_faults.saturating_add(other.major_faults);
        self.minor_faults = self.minor_faults.saturating_add(other.minor_faults);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.voluntary_switches = self.voluntary_switches.saturating_add(other.voluntary_switches);
        self.involuntary_switches = self.involuntary_switches.saturating_add(other.involuntary_switches);
        self.peak_resident_bytes = self.peak_resident_bytes.max(other.peak_resident_bytes);
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), |mut sum, usage| {
            sum += usage;
            sum
        })
    }
}
