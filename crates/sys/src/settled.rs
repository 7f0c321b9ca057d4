//! Whether a program has done its first work: nobody but itself knows when it is ready, but then it waits.
//!
//! It counts as settled when for a second, it and its descendants have used less than a twentieth of a processor and have
//! not waited for the disk: no major fault, and no first thread in uninterruptible sleep.

use std::time::Duration;

use coldstart_host::process::ProcessFiles;

/// Between two looks.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// So many looks in a row find it idle.
const IDLE_LOOKS: u32 = 4;
/// Of processor time between two looks, in ticks of 10 ms.
const IDLE_TICKS: u64 = 1;
/// Processes that are looked at.
const MOST_PROCESSES: usize = 256;

/// A program that is being watched.
#[derive(Debug)]
pub struct Settling {
    program: u32,
    before: Option<Activity>,
    idle_looks: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Activity {
    ticks: u64,
    major_faults: u64,
    processes: usize,
    is_waiting: bool,
}

impl Settling {
    /// Watches a process and its descendants.
    pub fn of(program: u32) -> Self {
        Self { program, before: None, idle_looks: 0 }
    }

    /// Looks once, [`LOOK_INTERVAL`] after the last time: whether it has settled. A program of which nothing is shown has.
    pub fn has_settled(&mut self) -> bool {
        let Some(now) = activity(self.program) else { return true };
        let is_idle = self.before.replace(now).is_some_and(|before| {
            !now.is_waiting
                && now.processes == before.processes
                && now.major_faults == before.major_faults
                && now.ticks.saturating_sub(before.ticks) <= IDLE_TICKS
        });
        self.idle_looks = if is_idle { self.idle_looks + 1 } else { 0 };
        self.idle_looks >= IDLE_LOOKS
    }
}

fn activity(program: u32) -> Option<Activity> {
    let mut activity = Activity::default();
    let mut processes = vec![program];
    while let Some(number) = processes.pop() {
        let process = ProcessFiles::of(number);
        let Some(stat) = process.stat() else { continue };
        activity.ticks += stat.ticks;
        activity.major_faults += stat.major_faults;
        activity.is_waiting |= stat.state == b'D';
        activity.processes += 1;
        if activity.processes < MOST_PROCESSES {
            processes.extend(process.children_of_first_thread());
        }
    }
    (activity.processes > 0).then_some(activity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_program_that_waits_has_settled_and_one_that_computes_has_not() {
        for (line, settles) in [("read x", true), ("sh -c 'while :; do :; done'; :", false)] {
            let mut child = Command::new("sh").args(["-c", line]).stdin(Stdio::piped()).spawn().unwrap();
            let mut settling = Settling::of(child.id());
            // A loaded machine may show more looks with some activity.
            let looks = if settles { 100 } else { 10 };
            let has_settled = (0..looks).any(|_| {
                std::thread::sleep(LOOK_INTERVAL);
                settling.has_settled()
            });
            for descendant in ProcessFiles::of(child.id()).children_of_first_thread() {
                let number = rustix::process::Pid::from_raw(descendant as i32).unwrap();
                let _ = rustix::process::kill_process(number, rustix::process::Signal::KILL);
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(has_settled, settles, "{line}");
        }
    }
}
