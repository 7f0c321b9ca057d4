//! The loader's own statistics (`LD_DEBUG=statistics`, ld.so(8)): cycles for relocation, and in total.
//!
//! Binding must not make symbol lookup dearer: a symbol is searched for in the libraries in the order of their loading,
//! and another order can take three to four times as long.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::super::runner::shown;
use super::super::workshop::Workshop;
use super::start::Start;

/// Cycles of the processor's counter in the loader, at start-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cycles {
    /// All until the program's own code.
    pub(super) total: u64,
    pub(super) relocation: u64,
}

/// Starts a program once and has the loader tell.
///
/// # Errors
/// When the program fails, or the loader tells nothing.
pub(super) fn of(workshop: &Workshop, start: &Start) -> Result<Cycles> {
    let command = start.within(&["LD_DEBUG=statistics"], &start.command());
    let said = workshop.runner.timed(&command)?;
    ensure!(said.status.success(), "`{}` ended with {}", shown(&command), said.status);
    told(&said.stderr).context("the loader printed no statistics\nhint: only glibc's does")
}

fn told(printed: &str) -> Option<Cycles> {
    let cycles = |what: &str| {
        let line = printed.lines().find(|line| line.contains(what))?;
        line.split_once(what)?.1.split_whitespace().next()?.parse().ok()
    };
    Some(Cycles {
        total: cycles("total startup time in dynamic loader: ")?,
        relocation: cycles("time needed for relocation: ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_words_are_read() {
        let printed = "\
     28818:\truntime linker statistics:
     28818:\t  total startup time in dynamic loader: 18736942 cycles
     28818:\t            time needed for relocation: 16723456 cycles (89.2%)
     28818:\t                 number of relocations: 72337
";
        assert_eq!(told(printed), Some(Cycles { total: 18_736_942, relocation: 16_723_456 }));
        assert_eq!(told("oh\n"), None);
    }
}
