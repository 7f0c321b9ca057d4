//! `.gnu_debugdata`: a small ELF file with the symbols that a stripped program lost, compressed with xz inside of it.
//!
//! Fedora puts one into every program ("MiniDebugInfo" in gdb's manual). A few kilobytes of xz can unfold to gigabytes,
//! and its header alone can ask for a dictionary of 4 GiB, so both are bounded by the caller.

use std::io::{self, Read};

use lzma_rust2::XzReader;

use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::kind::FileKind;

/// Name of the section.
const SECTION: &str = ".gnu_debugdata";
const KIB: u64 = 1024;

/// How much unpacking may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiniDebugLimits {
    /// Largest result in bytes.
    pub output: u64,
    /// Most memory for the decoder beside the result, in bytes; what exceeds a multiple of 1024 does not count.
    pub memory: u64,
}

impl Default for MiniDebugLimits {
    /// 64 MiB of symbols (those of the largest programs take about 20), and what `xz -9` needs.
    fn default() -> Self {
        Self { output: 64 * KIB * KIB, memory: 72 * KIB * KIB }
    }
}

/// Why the small file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum MiniDebugError {
    /// The section is not where the file says.
    #[error(transparent)]
    Section(#[from] ElfError),
    /// It unfolds to more than the caller allows.
    #[error("{SECTION} unfolds to more than {limit} bytes")]
    TooLarge {
        /// The caller's limit in bytes.
        limit: u64,
    },
    /// Unpacking takes more memory than the caller allows.
    #[error("unpacking {SECTION} needs more than {limit} bytes of memory")]
    TooHungry {
        /// The caller's limit in bytes.
        limit: u64,
    },
    /// It is not xz, is cut off or damaged, or uses a filter that is not known.
    #[error("{SECTION} is not xz as it should be")]
    Damaged(#[source] io::Error),
    /// It is xz, but of something else.
    #[error("{SECTION} holds no ELF file: {0}")]
    NotElf(FileKind),
}

/// Unpacks the bytes of a `.gnu_debugdata` section to the ELF file that they hold.
///
/// # Errors
/// See [`MiniDebugError`]; never [`MiniDebugError::Section`].
pub fn unpack_mini_debug(bytes: &[u8], limits: MiniDebugLimits) -> std::result::Result<Vec<u8>, MiniDebugError> {
    // The decoder takes the largest number for "no limit".
    let memory = u32::try_from(limits.memory / KIB).unwrap_or(u32::MAX).min(u32::MAX.saturating_sub(1));
    let reader = XzReader::new_mem_limit(bytes, false, memory);
    let mut unpacked = Vec::new();
    // The vector grows with what really comes, one byte further than is allowed at most.
    let outcome = reader.take(limits.output.saturating_add(1)).read_to_end(&mut unpacked);
    // First, because what lies behind the limit was not looked at and may be damaged as well.
    if unpacked.len() as u64 > limits.output {
        return Err(MiniDebugError::TooLarge { limit: limits.output });
    }
    match outcome {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            return Err(MiniDebugError::TooHungry { limit: limits.memory });
        }
        Err(error) => return Err(MiniDebugError::Damaged(error)),
    }
    match FileKind::of(&unpacked) {
        FileKind::Elf => Ok(unpacked),
        other => Err(MiniDebugError::NotElf(other)),
    }
}

impl ElfFile<'_> {
    /// The small ELF file in `.gnu_debugdata`; `None` if there is no such section.
    ///
    /// # Errors
    /// If the section reaches past the end of the file, or cannot be unpacked within the limits.
    pub fn mini_debug_file(&self, limits: MiniDebugLimits) -> std::result::Result<Option<Vec<u8>>, MiniDebugError> {
        let Some(bytes) = self.mini_debug_bytes()? else { return Ok(None) };
        unpack_mini_debug(bytes, limits).map(Some)
    }

    fn mini_debug_bytes(&self) -> Result<Option<&[u8]>> {
        self.section(SECTION).map(|section| self.section_bytes(&section.header)).transpose()
    }
}
