//! Text for why pages remained.

use coldstart_pagecache::{Holder, Stayed};

use crate::output::path::printable;
use crate::output::size::{bytes, grouped};
use crate::output::text::{counted, plain};

/// Maximum number of named processes; the rest are counted.
const MOST_NAMED: usize = 4;

/// One reason as a clause.
pub(super) fn sentence(reason: &Stayed) -> String {
    match reason {
        Stayed::InMemory => "the file system is in memory (tmpfs) and has no backing store".to_owned(),
        Stayed::Unwritten(pages) => {
            format!("{} not yet written to disk (--sync writes them first)", plain(&counted(*pages, "page")))
        }
        Stayed::Held(holders) => format!("in use by {}", processes(holders)),
        Stayed::Mounted => "a file system is mounted from this device and keeps some of its metadata".to_owned(),
        Stayed::Layered => "they belong to the file in the lower file system, or are in use".to_owned(),
        Stayed::InUse { unreadable_processes: 0 } => {
            "in use: by a process in a container, a loop device, or pending I/O".to_owned()
        }
        Stayed::InUse { unreadable_processes } => format!(
            "in use; {} could not be examined (requires root)",
            plain(&counted(*unreadable_processes, "process"))
        ),
        Stayed::UnwrittenOrInUse => {
            "not yet written to disk (--sync writes them first), or in use; which of them is known from Linux 6.5 on"
                .to_owned()
        }
        Stayed::NotTold(reason) => format!("unknown whether they were evicted: {reason}"),
    }
}

fn processes(holders: &[Holder]) -> String {
    // Sorted by mapped pages.
    let mut holders: Vec<&Holder> = holders.iter().collect();
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.bytes), holder.pid));
    let named = holders.iter().take(MOST_NAMED).map(|holder| {
        let name = printable(holder.name.as_ref());
        let locked = if holder.locked { ", locked" } else { "" };
        format!("{name} (process {}, {}{locked})", holder.pid, bytes(holder.bytes))
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if holders.len() > MOST_NAMED {
        text.push_str(&format!(" and {} more", grouped((holders.len() - MOST_NAMED) as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_holders_are_named() {
        let holder = |pid, bytes, locked| Holder { pid, name: "a\x1bb".to_owned(), bytes, locked };
        let holders: Vec<_> = (1..=6).map(|pid| holder(pid, u64::from(pid) * 4096, pid == 6)).collect();
        assert_eq!(
            sentence(&Stayed::Held(holders)),
            "in use by a\\u{1b}b (process 6, 24.6 kB, locked), a\\u{1b}b (process 5, 20.5 kB), \
             a\\u{1b}b (process 4, 16.4 kB), a\\u{1b}b (process 3, 12.3 kB) and 2 more"
        );
    }
}
