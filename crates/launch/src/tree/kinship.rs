//! Which processes belong to one launch: a pure decision over a process table.
//!
//! We are the subreaper, so all living descendants of the program are below one of our children:
//! below the launched process itself, or below an orphan reparented to us. The children of other parts of this process must not
//! be touched: those that existed before, and those in our own process group.

use std::collections::{HashMap, HashSet};

use super::process::{Identity, Process};

/// Criteria for the launch's processes.
#[derive(Debug)]
pub(crate) struct Kinship {
    /// Our own PID.
    pub(crate) own: u32,
    /// Our process group if the program got another one: then a child in ours was not started by the program.
    /// `None` if the program shares our group.
    pub(crate) foreign_group: Option<u32>,
    /// Our own session.
    pub(crate) session: u32,
    /// Children that existed before the launch.
    pub(crate) earlier_children: HashSet<Identity>,
    /// The first process, until it is reaped.
    pub(crate) launched: Option<u32>,
    /// When the launch began, in clock ticks since boot: an orphan of an earlier helper is older.
    pub(crate) since: u64,
}

impl Kinship {
    /// Our direct children that belong to the launch, zombies included.
    pub(crate) fn roots<'t>(&self, table: &'t [Process]) -> impl Iterator<Item = &'t Process> {
        table.iter().filter(|process| {
            process.stat.parent == self.own
                && (self.launched == Some(process.identity.number)
                    || self.foreign_group != Some(process.stat.group)
                        && !self.earlier_children.contains(&process.identity)
                        && process.identity.started >= self.since)
        })
    }

    /// Process groups that contain only processes of the launch.
    ///
    /// A session cannot be joined, only created (setsid(2)): a process in another session than ours descends from a process of
    /// the launch that created it. Only groups of our own children are returned, zombies included: until such a child is reaped,
    /// the kernel does not reuse its group's number.
    pub(crate) fn own_groups(&self, table: &[Process]) -> HashSet<u32> {
        self.roots(table).filter(|root| root.stat.session != self.session).map(|root| root.stat.group).collect()
    }

    /// All processes of the launch, zombies included, parents before their children.
    pub(crate) fn members(&self, table: &[Process]) -> Vec<Process> {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for process in table {
            children.entry(process.stat.parent).or_default().push(process);
        }
        let mut members: Vec<Process> = self.roots(table).copied().collect();
        // The table is not a snapshot: a reused PID could make a cycle.
        let mut seen: HashSet<u32> = members.iter().map(|process| process.identity.number).collect();
        let mut next = 0;
        while let Some(parent) = members.get(next).map(|process| process.identity.number) {
            for child in children.get(&parent).into_iter().flatten() {
                if child.identity.number != self.own && seen.insert(child.identity.number) {
                    members.push(**child);
                }
            }
            next += 1;
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_host::process::Stat;

    fn process(number: u32, parent: u32, group: u32, started: u64) -> Process {
        let stat = Stat { state: b'S', parent, group, session: 5, threads: 1, started, ..Stat::default() };
        Process { identity: Identity { number, started }, stat }
    }

    fn kinship() -> Kinship {
        Kinship {
            own: 10,
            foreign_group: Some(10),
            session: 5,
            earlier_children: HashSet::from([Identity { number: 11, started: 150 }]),
            launched: Some(20),
            since: 100,
        }
    }

    #[test]
    fn only_what_the_program_started_belongs() {
        let table = [
            process(1, 0, 1, 0),
            process(10, 1, 10, 50),
            process(11, 10, 11, 150), // a helper that was there before, in a group of its own
            process(12, 11, 11, 160), // and what it started since
            process(13, 10, 10, 170), // a helper started beside the program
            process(14, 10, 14, 90),  // an old orphan
            process(20, 10, 20, 100), // the program
            process(21, 20, 20, 101),
            process(22, 21, 22, 102),
            process(30, 10, 30, 103), // a daemon of it, handed to us
            process(31, 30, 30, 104),
            process(40, 1, 40, 105), // somebody else's
        ];
        let mut numbers: Vec<_> = kinship().members(&table).iter().map(|process| process.identity.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [20, 21, 22, 30, 31]);
    }

    #[test]
    fn groups_are_the_launchs_own_in_sessions_that_it_has_begun() {
        let in_session = |session, process: Process| Process { stat: Stat { session, ..process.stat }, ..process };
        let table = [
            process(20, 10, 20, 100),                 // the program, in our session
            in_session(30, process(31, 10, 30, 103)), // left by a daemon that began a session
            in_session(30, process(32, 10, 32, 104)), // and made a group there
            in_session(40, process(41, 1, 40, 105)),  // somebody else's
        ];
        assert_eq!(kinship().own_groups(&table), HashSet::from([30, 32]));
    }

    #[test]
    fn a_reused_number_is_a_stranger() {
        // 11 ended, and the program's daemon got its number.
        let table = [process(11, 10, 33, 180)];
        assert_eq!(kinship().members(&table).len(), 1);
        // Launched process reaped, its number now a helper's in our group.
        let reaped = Kinship { launched: None, ..kinship() };
        assert_eq!(reaped.members(&[process(20, 10, 10, 190)]), []);
    }

    #[test]
    fn rings_end() {
        let table =
            [process(20, 10, 20, 100), process(21, 22, 20, 101), process(22, 21, 20, 101), process(10, 20, 1, 1)];
        assert_eq!(kinship().members(&table).len(), 1);
    }
}
