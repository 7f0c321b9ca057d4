//! Seeing each page: fault-around is switched off for the files that a process maps.

use std::cell::RefCell;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_sys::tracing::Argument;
use coldstart_sys::userfault::{CLOSE_CALL, FaultAroundSwitch, USER_MODE_ONLY, USERFAULTFD_CALL};

use super::image::{MapLine, maps};
use super::space::Space;
use super::status::Status;
use super::{Follower, call_error, functions};

const PAGE: u64 = 4096;
const O_CLOEXEC: u64 = 0o2_000_000;

impl Follower<'_> {
    /// Has the process make the descriptor, takes it, and switches fault-around off for all files mapped so far.
    pub(super) fn see_each_page(
        &mut self,
        thread: u32,
        space: &Rc<RefCell<Space>>,
        lines: Option<&[MapLine]>,
        at: u64,
    ) -> std::io::Result<()> {
        let switch = self.switch_for(thread, space)?;
        let done = match switch {
            Ok(switch) => {
                let own;
                let lines = match lines {
                    Some(lines) => lines,
                    None => {
                        own = maps(thread);
                        &own
                    }
                };
                for line in lines.iter().filter(|line| line.file.inode != 0 && line.is_private) {
                    // The kernel's own pseudo files refuse, and have no pages of interest.
                    let _ = switch.off(line.start, line.end.saturating_sub(line.start));
                }
                space.borrow_mut().switch = Some(switch);
                None
            }
            Err(reason) => Some(reason),
        };
        let seen = space.borrow().pages();
        self.note(thread, at, NoteKind::Pages(seen, done));
        Ok(())
    }

    /// The switch, or why there is none.
    fn switch_for(
        &mut self,
        thread: u32,
        space: &Rc<RefCell<Space>>,
    ) -> std::io::Result<Result<FaultAroundSwitch, String>> {
        let place = match self.call_place(thread, space) {
            Ok(place) => place,
            Err(reason) => return Ok(Err(reason)),
        };
        let process = space.borrow().process;
        let call_of = |(number, number_32_bit): (u64, u64), argument: u64| Argument {
            number,
            number_32_bit,
            arguments: [argument, 0, 0, 0, 0, 0],
        };
        let descriptor = match self.call(place, thread, &call_of(USERFAULTFD_CALL, O_CLOEXEC | USER_MODE_ONLY))? {
            Some(result) if result >= 0 => result,
            Some(result) => return Ok(Err(format!("userfaultfd: {}", call_error(result)))),
            None => return Ok(Err("it has ended".to_owned())),
        };
        let taken = FaultAroundSwitch::take(process, i32::try_from(descriptor).unwrap_or(-1));
        self.call(place, thread, &call_of(CLOSE_CALL, descriptor.cast_unsigned()))?;
        Ok(taken.map_err(|error| {
            format!("userfaultfd with asynchronous write protection (Linux 6.7) cannot be had: {error}")
        }))
    }

    /// A file has been mapped.
    pub(super) fn map_returns(&mut self, thread: u32, at: u64) -> std::io::Result<()> {
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(()) };
        let Some(space) = self.space(thread) else { return Ok(()) };
        let result = registers.call_result();
        if (-4095..0).contains(&result) {
            return Ok(());
        }
        let address = if registers.is_32_bit() { result.cast_unsigned() & 0xffff_ffff } else { result.cast_unsigned() };
        let [_, length, protection] = registers.call_arguments();
        let length = length.checked_next_multiple_of(PAGE).unwrap_or(0);
        let refused = match &space.borrow().switch {
            Some(switch) => switch.off(address, length).is_err(),
            None => false,
        };
        if refused && !space.borrow().told_shared {
            space.borrow_mut().told_shared = true;
            let what = "files that it maps to share them are seen by one page of up to 16, at times of more".to_owned();
            self.note(thread, at, NoteKind::Obstacle(what));
        }
        if functions::is_code(protection) && !self.options.functions.is_empty() && !registers.is_32_bit() {
            let mut space = space.borrow_mut();
            if let Some((file, offset)) = space.mapped_at(thread, address) {
                self.arm(&mut space, file, address, length, offset);
            }
        }
        Ok(())
    }
}

/// How many seccomp filters a thread has (Linux 5.9).
pub(super) fn filters(thread: u32) -> u32 {
    Status::of(thread).number("Seccomp_filters").unwrap_or(0)
}
