//! What `/proc` tells about a program right after its `execve`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::thread::CapabilitySet;

/// `AT_ENTRY` (`elf.h`): the program's entry point, where the loader goes when it is done.
const AT_ENTRY: u64 = 9;

/// The entry point in `/proc/PID/auxv`: pairs of words of the program's own size (`proc_pid_auxv(5)`).
pub(super) fn entry_point(process: u32, is_64_bit: bool) -> Option<u64> {
    parse_entry_point(&fs::read(format!("/proc/{process}/auxv")).ok()?, is_64_bit)
}

fn parse_entry_point(vector: &[u8], is_64_bit: bool) -> Option<u64> {
    let word = |bytes: &[u8]| match bytes.try_into() {
        Ok(word) => Some(u64::from_ne_bytes(word)),
        Err(_) => bytes.try_into().ok().map(|word| u64::from(u32::from_ne_bytes(word))),
    };
    let size = if is_64_bit { 8usize } else { 4 };
    vector.chunks_exact(size.saturating_mul(2)).find_map(|pair| {
        let (key, value) = pair.split_at_checked(size)?;
        (word(key)? == AT_ENTRY).then(|| word(value))?
    })
}

/// Whether following a program changes its rights: not for a tracer with `CAP_SYS_PTRACE`.
pub(super) fn we_take_rights() -> bool {
    rustix::thread::capabilities(None).map_or(true, |sets| !sets.effective.contains(CapabilitySet::SYS_PTRACE))
}

/// The file that a process executes, if it should run with other rights than its caller's.
pub(super) fn file_with_rights(process: u32) -> Option<PathBuf> {
    let link = PathBuf::from(format!("/proc/{process}/exe"));
    has_other_rights(&link).then(|| fs::read_link(&link).unwrap_or(link))
}

/// Whether a program's file asks for other rights than ours: set-user-ID, set-group-ID, or with file capabilities.
pub(crate) fn has_other_rights(program: &Path) -> bool {
    let Ok(metadata) = fs::metadata(program) else { return false };
    let set_user = metadata.mode() & 0o4000 != 0 && metadata.uid() != rustix::process::geteuid().as_raw();
    // Without execution for the group, the bit means mandatory locking.
    let set_group = metadata.mode() & 0o2010 == 0o2010 && metadata.gid() != rustix::process::getegid().as_raw();
    set_user || set_group || rustix::fs::getxattr(program, c"security.capability", &mut [0u8; 64]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_point_is_found_in_either_size() {
        let words: Vec<u8> =
            [6u64, 4096, 9, 0x1234_5678_9abc, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(parse_entry_point(&words, true), Some(0x1234_5678_9abc));
        let words: Vec<u8> = [6u32, 4096, 9, 0x0804_8000, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(parse_entry_point(&words, false), Some(0x0804_8000));
        assert_eq!(parse_entry_point(&words[..15], false), None);
        assert_eq!(parse_entry_point(&[], true), None);
    }
}
