//! A program right after its `execve`: what is where, and where to stop.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use coldstart_analyse::{Image, NoteKind};
use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{ProcessMemory, RemoteCall};

use super::functions::FileKey;
use super::handler::StartHandler;
use super::signals::SIGTRAP;
use super::standing::Standing;
use super::status::Status;

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug)]
pub(super) struct MapLine {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) is_executable: bool,
    pub(super) is_private: bool,
    pub(super) offset: u64,
    pub(super) file: FileKey,
    pub(super) path: PathBuf,
}

/// `proc_pid_maps(5)`: `start-end perms offset major:minor inode path`.
pub(super) fn maps(process: u32) -> Vec<MapLine> {
    let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<MapLine> {
    let mut words = line.splitn(6, |&byte| byte == b' ');
    let mut word = || std::str::from_utf8(words.next()?).ok();
    let (start, end) = word()?.split_once('-')?;
    let permissions = word()?;
    let offset = u64::from_str_radix(word()?, 16).ok()?;
    let (major, minor) = word()?.split_once(':')?;
    let device = u64::from_str_radix(major, 16).ok()? << 20 | u64::from_str_radix(minor, 16).ok()?;
    let inode = word()?.parse().ok()?;
    let path = words.next().unwrap_or_default();
    let begin = path.iter().position(|&byte| byte != b' ').unwrap_or(path.len());
    Some(MapLine {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        is_executable: permissions.as_bytes().get(2) == Some(&b'x'),
        is_private: permissions.as_bytes().get(3) == Some(&b'p'),
        offset,
        file: FileKey { device, inode },
        path: PathBuf::from(OsString::from_vec(path.get(begin..)?.to_vec())),
    })
}

const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;

/// `/proc/PID/auxv`: pairs of words of the program's own size (`proc_pid_auxv(5)`).
fn auxiliary(vector: &[u8], is_32_bit: bool, wanted: u64) -> Option<u64> {
    let word = |bytes: &[u8]| match bytes.try_into() {
        Ok(word) => Some(u64::from_ne_bytes(word)),
        Err(_) => bytes.try_into().ok().map(|word| u64::from(u32::from_ne_bytes(word))),
    };
    let size = if is_32_bit { 4usize } else { 8 };
    vector.chunks_exact(size.saturating_mul(2)).find_map(|pair| {
        let (key, value) = pair.split_at_checked(size)?;
        (word(key)? == wanted).then(|| word(value))?
    })
}

impl StartHandler<'_> {
    /// A program stands before its first instruction.
    pub(super) fn executed(&mut self, standing: &mut Standing<'_>) -> std::io::Result<()> {
        let thread = standing.thread;
        let Some(space) = self.space(thread) else { return Ok(()) };
        let Some(registers) = standing.tracer().registers(thread)? else { return Ok(()) };
        let space = &mut *space.borrow_mut();
        let is_32_bit = registers.is_32_bit();
        let vector = fs::read(format!("/proc/{thread}/auxv")).unwrap_or_default();
        let lines = maps(thread);
        let at = |key| auxiliary(&vector, is_32_bit, key).unwrap_or(0);
        let image = Image {
            arguments: arguments(thread),
            entry: at(AT_ENTRY),
            loader_base: at(AT_BASE),
            is_32_bit,
            program: fs::read_link(format!("/proc/{thread}/exe")).unwrap_or_default().into_os_string(),
        };
        space.memory.open(thread, is_32_bit);
        space.memory.call = space.memory.opened().and_then(|memory| call_instruction(memory, &lines, is_32_bit));
        self.stages.learn(thread, &mut space.stages, &image, &lines);
        let obstacle = |standing: &Standing<'_>, what: &str| standing.note_now(NoteKind::Obstacle(what.to_owned()));
        if image.loader_base != 0 && !space.stages.has_loader_sign() {
            obstacle(
                standing,
                "its loader has no sign for debuggers (`_dl_debug_state`): stages of loading are not seen",
            );
        }
        let status = Status::of(thread);
        if loses_rights(thread, &status) {
            obstacle(
                standing,
                "its file gives it other rights (setuid, setgid or capabilities), which it does not get while somebody other than root follows it",
            );
        }
        if holds_traps_back(&status) {
            space.stages.forget();
            space.breakpoints.handles_trap = true;
            obstacle(
                standing,
                "it ignores or blocks SIGTRAP, which breakpoints would undo: stages of loading and first calls of its functions are not seen",
            );
        }
        if space.stages.set_breakpoints(standing).is_err() {
            obstacle(standing, "its debug registers cannot be set: stages of loading are not seen");
        }
        if self.sees_each_page {
            space.pages.see_each(standing, &space.memory, Some(&lines), monotonic_nanoseconds())?;
        }
        for line in lines.iter().filter(|line| line.is_executable && line.file.inode != 0) {
            let range = (line.start, line.end.saturating_sub(line.start), line.offset);
            self.functions.arm(&space.memory, &mut space.breakpoints, line.file, range);
        }
        standing.note_now(NoteKind::Executed(image));
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
    let has_promised = |status: &Status| status.field("NoNewPrivs") == Some("1");
    if !has_promised(status) || has_promised(&Status::of(std::process::id())) {
        return false;
    }
    let program = format!("/proc/{process}/exe");
    let (Ok(file), Ok(owner)) = (fs::metadata(&program), fs::metadata(format!("/proc/{process}"))) else {
        return false;
    };
    let is_set = |bits: u32| file.mode() & bits == bits;
    is_set(0o4000) && file.uid() != owner.uid()
        || is_set(0o2010) && file.gid() != owner.gid()
        || rustix::fs::getxattr(&program, c"security.capability", &mut [0u8; 64]).is_ok_and(|size| size != 0)
}

fn arguments(process: u32) -> Vec<OsString> {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    bytes.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// An instruction that makes a system call, in the vDSO: no file's page is touched for it.
fn call_instruction(memory: &ProcessMemory, lines: &[MapLine], is_32_bit: bool) -> Option<RemoteCall> {
    let vdso = lines.iter().find(|line| line.path.as_os_str() == "[vdso]")?;
    let size = usize::try_from(vdso.end.checked_sub(vdso.start)?).ok().filter(|&size| size <= 1 << 20)?;
    let mut bytes = vec![0; size];
    memory.read(vdso.start, &mut bytes).ok()?;
    let wanted = RemoteCall::instruction_bytes(is_32_bit);
    let place = bytes.windows(wanted.len()).position(|window| window == wanted)?;
    Some(RemoteCall { instruction: vdso.start.checked_add(u64::try_from(place).ok()?)? })
}
