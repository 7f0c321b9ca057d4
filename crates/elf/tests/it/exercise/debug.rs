//! Debug links, and the small debug file inside of a program.

use std::hint::black_box;
use std::path::Path;

use coldstart_elf::{DebugLink, FileOffset, MiniDebugLimits, crc_matches, debug_file_candidates, unpack_mini_debug};

use super::{Input, open};

/// Small, so that a bomb is found out soon.
const LIMITS: MiniDebugLimits = MiniDebugLimits { output: 64 * 1024, memory: 1024 * 1024 };

/// Reads the link and unpacks the file, with small limits.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, _) => {
            if let Ok(Some(link)) = file.debug_link() {
                follow(&link, bytes);
            }
            if let Ok(Some(unpacked)) = file.mini_debug_file(LIMITS) {
                assert!(unpacked.len() as u64 <= LIMITS.output);
            }
        }
        Input::Table(bytes, encoding, _) => {
            if let Ok(link) = DebugLink::parse(bytes, FileOffset(0), encoding) {
                follow(&link, bytes);
            }
            match unpack_mini_debug(bytes, LIMITS) {
                Ok(unpacked) => assert!(unpacked.len() as u64 <= LIMITS.output),
                Err(error) => drop(black_box(error.to_string())),
            }
        }
        Input::Nothing => {}
    }
}

fn follow(link: &DebugLink<'_>, bytes: &[u8]) {
    black_box(crc_matches(link, bytes));
    let object = Path::new("/usr/lib/object.so");
    let build_id = bytes.get(..bytes.len().min(20));
    let candidates = debug_file_candidates(object, build_id, Some(link), &["/debug".into()]);
    assert!(candidates.iter().all(|path| path.starts_with("/usr/lib") || path.starts_with("/debug")));
}
