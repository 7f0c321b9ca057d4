//! Seeing each page: fault-around is switched off for the files that a process maps.

use coldstart_analyse::NoteKind;
use coldstart_host::process::Mapping;
use coldstart_profile::trace::PagesSeen;
use coldstart_sys::tracing::Argument;
use coldstart_sys::userfault::{CLOSE_CALL, FaultAroundSwitch, USER_MODE_ONLY, USERFAULTFD_CALL};

use super::image::maps;
use super::memory::Memory;
use super::standing::{Standing, call_error};

const O_CLOEXEC: u64 = 0o2_000_000;

/// Of one memory: how its pages are seen.
#[derive(Debug, Default)]
pub(super) struct SeenPages {
    switch: Option<FaultAroundSwitch>,
    /// Whether it was told that some mappings are not seen page by page.
    told_shared: bool,
}

impl SeenPages {
    /// The copy that a fork has: it needs a switch of its own.
    pub(super) fn forked(&self) -> Self {
        Self { switch: None, told_shared: self.told_shared }
    }

    /// Has the process make the descriptor, takes it, and switches fault-around off for all files mapped so far, which `lines` names if they
    /// are known. It is noted with the time `at`.
    pub(super) fn see_each(
        &mut self,
        standing: &mut Standing<'_>,
        memory: &Memory,
        lines: Option<&[Mapping]>,
        at: u64,
    ) -> std::io::Result<()> {
        let obstacle = match switch_for(standing, memory)? {
            Ok(switch) => {
                let own;
                let lines = match lines {
                    Some(lines) => lines,
                    None => {
                        own = maps(standing.thread);
                        &own
                    }
                };
                for line in lines.iter().filter(|line| line.inode != 0 && line.is_private()) {
                    // The kernel's own pseudo files refuse, and have no pages of interest.
                    let _ = switch.off(line.start, line.end.saturating_sub(line.start));
                }
                self.switch = Some(switch);
                None
            }
            Err(reason) => Some(reason),
        };
        let seen = if self.switch.is_some() { PagesSeen::Each } else { PagesSeen::FaultAround };
        standing.note_at(at, NoteKind::Pages(seen, obstacle));
        Ok(())
    }

    /// A file has been mapped.
    pub(super) fn mapped(&mut self, standing: &Standing<'_>, address: u64, length: u64) {
        let is_refused = self.switch.as_ref().is_some_and(|switch| switch.off(address, length).is_err());
        if is_refused && !std::mem::replace(&mut self.told_shared, true) {
            let what =
                "of files that it maps shared and may not write, up to 16 pages are seen as one, or more".to_owned();
            standing.note(NoteKind::Obstacle(what));
        }
    }
}

/// The switch, or why there is none.
fn switch_for(standing: &mut Standing<'_>, memory: &Memory) -> std::io::Result<Result<FaultAroundSwitch, String>> {
    let place = match standing.call_place(memory) {
        Ok(place) => place,
        Err(reason) => return Ok(Err(reason)),
    };
    let call_of = |(number, number_32_bit): (u64, u64), argument: u64| Argument {
        number,
        number_32_bit,
        arguments: [argument, 0, 0, 0, 0, 0],
    };
    let descriptor = match standing.call(place, &call_of(USERFAULTFD_CALL, O_CLOEXEC | USER_MODE_ONLY))? {
        Some(result) if result >= 0 => result,
        Some(result) => return Ok(Err(format!("userfaultfd: {}", call_error(result)))),
        None => return Ok(Err("it has ended".to_owned())),
    };
    let taken = FaultAroundSwitch::take(memory.process, i32::try_from(descriptor).unwrap_or(-1));
    standing.call(place, &call_of(CLOSE_CALL, descriptor.cast_unsigned()))?;
    Ok(taken.map_err(|error| {
        format!("userfaultfd with asynchronous write protection (Linux 6.7) is not available: {error}")
    }))
}
