//! A program right after its `execve`: what is where, and where to stop.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use coldstart_host::process::{AT_BASE, AT_ENTRY, Mapping, ProcessFiles, Status};
use coldstart_host::rights::AskedRights;
use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{ProcessMemory, RemoteCall};

use super::super::note::{Image, NoteKind};
use super::Follower;
use super::functions::FileKey;
use super::signals::SIGTRAP;
use super::space::{LoaderSign, Space, Stage};

/// What a process has mapped; nothing if it is gone.
pub(super) fn maps(process: u32) -> Vec<Mapping> {
    ProcessFiles::of(process).maps().unwrap_or_default()
}

impl Follower<'_> {
    /// A program stands before its first instruction.
    pub(super) fn executed(&mut self, thread: u32) -> std::io::Result<()> {
        let Some(space) = self.space(thread) else { return Ok(()) };
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(()) };
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
        self.learn(thread, &mut space.borrow_mut(), &image, &lines);
        let has_loader = image.loader_base != 0;
        let process_notes = |follower: &mut Self, what: &str| {
            follower.note(thread, monotonic_nanoseconds(), NoteKind::Obstacle(what.to_owned()));
        };
        if has_loader && space.borrow().loader.is_none() {
            process_notes(
                self,
                "its loader has no sign for debuggers (`_dl_debug_state`): stages of loading are not seen",
            );
        }
        let status = process.status();
        if loses_rights(thread, &status) {
            process_notes(
                self,
                "its file gives it other rights (setuid, setgid or capabilities), which it does not get while somebody other than root follows it",
            );
        }
        if holds_traps_back(&status) {
            let mut space = space.borrow_mut();
            (space.loader, space.second, space.handles_trap) = (None, None, true);
            process_notes(
                self,
                "it ignores or blocks SIGTRAP, which breakpoints would undo: stages of loading and first calls of its functions are not seen",
            );
        }
        if self.set_breakpoints(thread, &space).is_err() {
            process_notes(self, "its debug registers cannot be set: stages of loading are not seen");
        }
        if self.options.each_page {
            self.see_each_page(thread, &space, Some(&lines), monotonic_nanoseconds())?;
        }
        for line in lines.iter().filter(|line| line.is_executable() && line.inode != 0) {
            self.arm(
                &mut space.borrow_mut(),
                FileKey::of(line),
                line.start,
                line.end.saturating_sub(line.start),
                line.offset,
            );
        }
        self.note(thread, monotonic_nanoseconds(), NoteKind::Executed(image));
        Ok(())
    }

    /// What has to be known of its memory, and where it is to stop.
    fn learn(&mut self, thread: u32, space: &mut Space, image: &Image, lines: &[Mapping]) {
        space.memory = ProcessMemory::open(thread).ok();
        space.is_32_bit = image.is_32_bit;
        space.call = space.memory.as_ref().and_then(|memory| call_instruction(memory, lines, image.is_32_bit));
        let facts = self.options.facts.seen_by(thread, Path::new(&image.program));
        let bias = if facts.is_relocated { image.entry.wrapping_sub(facts.entry) } else { 0 };
        space.main = facts.main.map(|main| main.wrapping_add(bias));
        space.loader =
            lines.iter().find(|line| image.loader_base != 0 && line.start == image.loader_base).and_then(|line| {
                let facts = self.options.facts.seen_by(thread, &line.path);
                Some(LoaderSign {
                    brk: image.loader_base.wrapping_add(facts.brk?),
                    debug: facts.debug.map_or(0, |debug| image.loader_base.wrapping_add(debug)),
                })
            });
        space.second = (image.entry != 0).then_some((image.entry, Stage::ProgramEntry));
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
    let wanted = RemoteCall::instruction_bytes(is_32_bit);
    let place = bytes.windows(wanted.len()).position(|window| window == wanted)?;
    Some(RemoteCall { instruction: vdso.start.checked_add(u64::try_from(place).ok()?)? })
}
