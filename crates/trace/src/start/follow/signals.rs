//! Signals: our own SIGTRAPs, those of the program, and processes that cannot be killed while traced.

use std::cell::RefCell;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_follow::{Following, Next};
use coldstart_host::process::ProcessFiles;
use coldstart_sys::tracing::SignalCause;

use super::handler::{GoesOn, StartHandler};
use super::space::Space;
use super::stages::Reached;
use super::standing::Standing;

const SIGILL: i32 = 4;
pub(super) const SIGTRAP: i32 = 5;
const SIGBUS: i32 = 7;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;
/// Values of `sa_handler`.
const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

impl StartHandler<'_> {
    /// A thread is about to receive a signal.
    pub(super) fn signal(&mut self, following: &mut Following, thread: u32, signal: i32) -> GoesOn {
        if signal == SIGTRAP && self.trapped(following, thread)? {
            return Ok(Next::GoOn);
        }
        let may_be_fault = matches!(signal, SIGILL | SIGTRAP | SIGBUS | SIGFPE | SIGSEGV);
        if may_be_fault && is_first_of_namespace(thread, signal) && following.tracer().is_fault(thread)? {
            return self.let_go(following, thread, signal);
        }
        Ok(Next::Deliver(signal))
    }

    /// Signals do not end the first process of a PID namespace. The kernel makes an exception for its faults, unless it is traced
    /// (`force_sig_info_to_task` in `kernel/signal.c`): it would meet the same fault for ever.
    fn let_go(&mut self, following: &mut Following, thread: u32, signal: i32) -> GoesOn {
        // It is to meet its fault again, of which it stands behind only here.
        if signal == SIGTRAP
            && let Some(mut registers) = following.tracer().registers(thread)?
        {
            registers.set_instruction_pointer(registers.instruction_pointer().wrapping_sub(1));
            following.tracer().set_registers(thread, &registers)?;
        }
        let what = format!("signal {signal} killed it; exit not observed: it was the first process of a PID namespace");
        self.standing(following, thread).note(NoteKind::Obstacle(what));
        self.collect(thread);
        let _ = following.tracer().set_breakpoints(thread, None, None);
        following.let_go(thread)?;
        self.threads.remove(&thread);
        Ok(Next::Nothing)
    }

    /// Whether a SIGTRAP was ours.
    fn trapped(&mut self, following: &mut Following, thread: u32) -> std::io::Result<bool> {
        let Some(cause) = following.tracer().signal_cause(thread)? else { return Ok(true) };
        let Some(registers) = following.tracer().registers(thread)? else { return Ok(true) };
        let Some(space) = self.space(thread) else { return Ok(false) };
        let space = &mut *space.borrow_mut();
        let mut standing = self.standing(following, thread);
        match cause {
            // Sent to the program by somebody, wherever it may stand.
            SignalCause::Other => Ok(false),
            SignalCause::Instruction => {
                self.functions.called(&standing, &mut space.memory, &mut space.breakpoints, registers)
            }
            SignalCause::DebugRegister => {
                match space.stages.reached(registers.instruction_pointer()) {
                    Some(Reached::ListChange) => self.loader_changes(&mut standing, space)?,
                    Some(Reached::Stage(stage)) => self.at_stage(&standing, space, stage)?,
                    None => return Ok(false),
                }
                Ok(true)
            }
        }
    }

    /// The program is about to handle SIGTRAP, or to ignore it.
    ///
    /// A breakpoint that is met while the signal is ignored, or blocked, as it is in the handler itself, makes the kernel forget what the
    /// program had set (`force_sig_info_to_task` in `kernel/signal.c`).
    pub(super) fn handles_trap(&mut self, standing: &Standing<'_>) -> std::io::Result<()> {
        let Some(registers) = standing.tracer().registers(standing.thread)? else { return Ok(()) };
        let [_, action, _] = registers.call_arguments();
        let Some(space) = self.space(standing.thread).filter(|_| action != 0) else { return Ok(()) };
        // `sa_handler` comes first. Who sets all signals back, as shells and launchers do for their children, handles none.
        let handler = space.borrow().memory.word(action);
        if handler == Some(SIG_IGN) {
            self.forget_stages(standing, &space);
        }
        let is_armed = handler != Some(SIG_DFL) && self.functions.are_wanted();
        let space = &mut *space.borrow_mut();
        if !is_armed || std::mem::replace(&mut space.breakpoints.handles_trap, true) {
            return Ok(());
        }
        self.functions.disarm(standing, &mut space.memory, &mut space.breakpoints)?;
        let what = "it handles SIGTRAP itself: first calls of its functions are not seen from then on".to_owned();
        standing.note(NoteKind::Obstacle(what));
        Ok(())
    }

    /// Sets no more breakpoints for stages, and takes those away that there are.
    fn forget_stages(&self, standing: &Standing<'_>, space: &Rc<RefCell<Space>>) {
        if !space.borrow().stages.is_watched() {
            return;
        }
        space.borrow_mut().stages.forget();
        let what = "it ignores SIGTRAP, which breakpoints would undo: later loader phases are not seen".to_owned();
        standing.note(NoteKind::Obstacle(what));
        let _ = standing.set_breakpoints(None, None);
        // Registers can be set of threads that stand still.
        for (&other, state) in &self.threads {
            if other != standing.thread && Rc::ptr_eq(&state.space, space) {
                let _ = standing.tracer().interrupt(other);
            }
        }
    }
}

/// Whether a signal that it does not handle would come to the first process of a PID namespace below ours.
fn is_first_of_namespace(thread: u32, signal: i32) -> bool {
    let status = ProcessFiles::of(thread).status();
    // Its numbers in ours and in each namespace below.
    let is_first = status.numbers_in_namespaces().skip(1).last() == Some(1);
    is_first && !status.has_signal("SigCgt", signal)
}
