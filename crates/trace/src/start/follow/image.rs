//! A program right after its `execve`: its mappings, and where to stop.

use std::fs;
use std::os::unix::fs::MetadataExt;

use coldstart_analyse::{Image, NoteKind};
use coldstart_host::process::{AT_BASE, AT_ENTRY, Mapping, ProcessFiles, Status};
use coldstart_host::rights::AskedRights;
use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{ProcessMemory, RemoteCall, Tracer};

use super::functions::FileKey;
use super::handler::StartHandler;
use super::signals::SIGTRAP;
use super::standing::Standing;

/// A process's mappings; empty if it has ended.
pub(super) fn maps(process: u32) -> Vec<Mapping> {
    ProcessFiles::of(process).maps().unwrap_or_default()
}

impl StartHandler<'_> {
    /// A program is stopped before its first instruction.
    pub(super) fn executed(&mut self, standing: &mut Standing<'_>) -> std::io::Result<()> {
        let thread = standing.thread;
        let Some(space) = self.space(thread) else { return Ok(()) };
        let Some(registers) = standing.tracer().registers(thread)? else { return Ok(()) };
        let space = &mut *space.borrow_mut();
        let is_32_bit = registers.is_32_bit();
        let process = ProcessFiles::of(thread);
        let vector = process.auxiliary_vector(!is_32_bit);
        let lines = maps(thread);
        let at = |key| vector.get(key).unwrap_or(0);
        let image = Image {
            arguments: process.arguments(),
            entry: at(AT_ENTRY),
            loader_base: at(AT_BASE),
            is_32_bit,
            program: process.program().unwrap_or_default().into_os_string(),
        };
        space.memory.open(thread, is_32_bit);
        space.memory.call = space.memory.opened().and_then(|memory| call_instruction(memory, &lines, is_32_bit));
        if Tracer::HAS_BREAKPOINTS {
            self.stages.learn(thread, &mut space.stages, &image, &lines);
        }
        let mut obstacles = Vec::new();
        if Tracer::HAS_BREAKPOINTS && image.loader_base != 0 && !space.stages.has_loader_sign() {
            obstacles.push("its loader has no debugger hook (`_dl_debug_state`): loader phases are not seen");
        }
        let status = process.status();
        if loses_rights(thread, &status) {
            obstacles.push(
                "its file is privileged (setuid, setgid or capabilities), and it loses these privileges when traced without root",
            );
        }
        if Tracer::HAS_BREAKPOINTS && holds_traps_back(&status) {
            space.stages.forget();
            space.breakpoints.handles_trap = true;
            obstacles.push(
                "it ignores or blocks SIGTRAP, which breakpoints would undo: loader phases and first calls of its functions are not seen",
            );
        }
        if Tracer::HAS_BREAKPOINTS && space.stages.set_breakpoints(standing).is_err() {
            obstacles.push("its debug registers cannot be set: loader phases are not seen");
        }
        if self.sees_each_page {
            space.pages.see_each(standing, &space.memory, Some(&lines), monotonic_nanoseconds())?;
        }
        for line in lines.iter().filter(|line| line.is_executable() && line.inode != 0) {
            let range = (line.start, line.end.saturating_sub(line.start), line.offset);
            self.functions.arm(&space.memory, &mut space.breakpoints, FileKey::of(line), range);
        }
        standing.note_now(NoteKind::Executed(image));
        // Behind it, because they are the new program's: without the kernel's records it begins with that note.
        for what in obstacles {
            standing.note_now(NoteKind::Obstacle(what.to_owned()));
        }
        Ok(())
    }
}

/// Whether SIGTRAP is ignored or blocked. A breakpoint would make an end of that (`force_sig_info_to_task` in `kernel/signal.c`).
fn holds_traps_back(status: &Status) -> bool {
    ["SigBlk", "SigIgn"].into_iter().any(|set| status.has_signal(set, SIGTRAP))
}

/// Whether a program that was just begun would have other rights without us: who may not install filters without it must promise that
/// nobody gets any (`PR_SET_NO_NEW_PRIVS`).
fn loses_rights(process: u32, status: &Status) -> bool {
    if !status.has_no_new_privileges() || ProcessFiles::own().status().has_no_new_privileges() {
        return false;
    }
    let process = ProcessFiles::of(process);
    let (Ok(asked), Ok(owner)) = (AskedRights::of(&process.at("exe")), fs::metadata(process.directory())) else {
        return false;
    };
    asked.differ_from(owner.uid(), owner.gid())
}

/// An instruction that makes a system call, in the vDSO: no file's page is touched for it.
fn call_instruction(memory: &ProcessMemory, lines: &[Mapping], is_32_bit: bool) -> Option<RemoteCall> {
    let vdso = lines.iter().find(|line| line.path.as_os_str() == "[vdso]")?;
    let size = usize::try_from(vdso.end.checked_sub(vdso.start)?).ok().filter(|&size| size <= 1 << 20)?;
    let mut bytes = vec![0; size];
    memory.read(vdso.start, &mut bytes).ok()?;
    let place = RemoteCall::offset_in(&bytes, is_32_bit)?;
    Some(RemoteCall { instruction: vdso.start.checked_add(u64::try_from(place).ok()?)? })
}
