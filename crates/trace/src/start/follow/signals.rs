//! Signals: which SIGTRAP is ours, what becomes of the program's own, and who cannot be ended while we follow.

use std::cell::RefCell;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_sys::tracing::SignalCause;

use super::space::Space;
use super::status::Status;
use super::{Follower, Next};

const SIGILL: i32 = 4;
pub(super) const SIGTRAP: i32 = 5;
const SIGBUS: i32 = 7;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;
/// Values of `sa_handler`.
const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

impl Follower<'_> {
    /// A thread is about to receive a signal.
    pub(super) fn signalled(&mut self, thread: u32, signal: i32, at: u64) -> std::io::Result<Next> {
        if signal == SIGTRAP && self.trapped(thread, at)? {
            return Ok(Next::Run);
        }
        let may_be_fault = matches!(signal, SIGILL | SIGTRAP | SIGBUS | SIGFPE | SIGSEGV);
        if may_be_fault && is_first_of_namespace(thread, signal) && self.tracer.is_fault(thread)? {
            return self.let_go(thread, signal, at);
        }
        Ok(Next::Deliver(signal))
    }

    /// Signals do not end the first process of a PID namespace. The kernel makes an exception for its faults, unless it is traced
    /// (`force_sig_info_to_task` in `kernel/signal.c`): it would meet the same fault for ever.
    fn let_go(&mut self, thread: u32, signal: i32, at: u64) -> std::io::Result<Next> {
        // It is to meet its fault again, of which it stands behind only here.
        if signal == SIGTRAP
            && let Some(mut registers) = self.tracer.registers(thread)?
        {
            registers.set_instruction_pointer(registers.instruction_pointer().wrapping_sub(1));
            self.tracer.set_registers(thread, &registers)?;
        }
        let what =
            format!("signal {signal} ended it, of which its end is not seen: it was the first of a PID namespace");
        self.note(thread, at, NoteKind::Obstacle(what));
        self.collect(thread);
        let _ = self.tracer.set_breakpoints(thread, None, None);
        self.tracer.release(thread)?;
        self.threads.remove(&thread);
        Ok(Next::Nothing)
    }

    /// Whether a SIGTRAP was ours.
    fn trapped(&mut self, thread: u32, at: u64) -> std::io::Result<bool> {
        let Some(cause) = self.tracer.signal_cause(thread)? else { return Ok(true) };
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(true) };
        let Some(space) = self.space(thread) else { return Ok(false) };
        match cause {
            // Sent to the program by somebody, wherever it may stand.
            SignalCause::Other => return Ok(false),
            SignalCause::Instruction => return self.function_called(thread, &space, registers, at),
            SignalCause::DebugRegister => {}
        }
        let stands = registers.instruction_pointer();
        let (brk, second) = {
            let space = space.borrow();
            (space.loader.map(|loader| loader.brk), space.second)
        };
        if brk == Some(stands) {
            self.loader_changes(thread, &space, at)?;
            return Ok(true);
        }
        if let Some((address, what)) = second
            && address == stands
        {
            self.at_stage(thread, &space, what, at)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The program is about to handle SIGTRAP, or to ignore it.
    ///
    /// A breakpoint that is met while the signal is ignored, or blocked, as it is in the handler itself, makes the kernel forget what the
    /// program had set (`force_sig_info_to_task` in `kernel/signal.c`).
    pub(super) fn handles_trap(&mut self, thread: u32, at: u64) -> std::io::Result<()> {
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(()) };
        let [_, action, _] = registers.call_arguments();
        let Some(space) = self.space(thread).filter(|_| action != 0) else { return Ok(()) };
        // `sa_handler` comes first. Who sets all signals back, as shells and launchers do for their children, handles none.
        let handler = space.borrow().word(action);
        if handler == Some(SIG_IGN) {
            self.forget_stages(thread, &space, at);
        }
        let is_armed = handler != Some(SIG_DFL) && !self.options.functions.is_empty();
        if !is_armed || std::mem::replace(&mut space.borrow_mut().handles_trap, true) {
            return Ok(());
        }
        self.disarm(thread, &mut space.borrow_mut())?;
        let what = "it handles SIGTRAP itself: first calls of its functions are not seen from then on".to_owned();
        self.note(thread, at, NoteKind::Obstacle(what));
        Ok(())
    }

    /// Sets no more breakpoints for stages, and takes those away that there are.
    fn forget_stages(&mut self, thread: u32, space: &Rc<RefCell<Space>>, at: u64) {
        let was_watched = space.borrow().is_watched();
        if !was_watched {
            return;
        }
        {
            let mut space = space.borrow_mut();
            (space.loader, space.second) = (None, None);
        }
        let what = "it ignores SIGTRAP, which breakpoints would undo: later stages of loading are not seen".to_owned();
        self.note(thread, at, NoteKind::Obstacle(what));
        let _ = self.tracer.set_breakpoints(thread, None, None);
        // Registers can be set of threads that stand still.
        for (&other, state) in &self.threads {
            if other != thread && Rc::ptr_eq(&state.space, space) {
                let _ = self.tracer.interrupt(other);
            }
        }
    }

    /// A thread stands still for us alone.
    pub(super) fn paused(&self, thread: u32) {
        if self.space(thread).is_some_and(|space| !space.borrow().is_watched()) {
            let _ = self.tracer.set_breakpoints(thread, None, None);
        }
    }
}

/// Whether a signal that it does not handle would come to the first process of a PID namespace below ours.
fn is_first_of_namespace(thread: u32, signal: i32) -> bool {
    let status = Status::of(thread);
    // Its numbers in ours and in each namespace below.
    let is_first = status.field("NStgid").unwrap_or_default().split_whitespace().skip(1).last() == Some("1");
    is_first && !status.has_signal("SigCgt", signal)
}
