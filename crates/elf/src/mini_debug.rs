//! `.gnu_debugdata`: an embedded ELF file, compressed with xz, with the symbols that a stripped program lost.
//!
//! Fedora adds one to every program ("MiniDebugInfo" in gdb's manual). A few kilobytes of xz can unpack to gigabytes,
//! and the header alone can request a dictionary of 4 GiB, so the caller limits both.

use std::io::{self, Read};

use lzma_rust2::XzReader;

use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::kind::FileKind;

/// Name of the section.
const SECTION: &str = ".gnu_debugdata";
const KIB: u64 = 1024;

/// Limits on unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiniDebugLimits {
    /// Largest result, in bytes.
    pub output: u64,
    /// Most memory for the decoder besides the result, in bytes, rounded down to a multiple of 1024.
    pub memory: u64,
}

impl Default for MiniDebugLimits {
    /// 64 MiB of symbols (the largest programs need about 20), and the memory that `xz -9` needs.
    fn default() -> Self {
        Self { output: 64 * KIB * KIB, memory: 72 * KIB * KIB }
    }
}

/// Why the embedded file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MiniDebugError {
    /// The section is not where its header says.
    #[error(transparent)]
    Section(#[from] ElfError),
    /// The result exceeds the caller's limit.
    #[error("{SECTION} unpacks to more than {limit} bytes")]
    TooLarge {
        /// The caller's limit in bytes.
        limit: u64,
    },
    /// The decoder needs more memory than the caller allows.
    #[error("unpacking {SECTION} needs more than {limit} bytes of memory")]
    TooHungry {
        /// The caller's limit in bytes.
        limit: u64,
    },
    /// Not xz, truncated, damaged, or compressed with an unknown filter.
    #[error("{SECTION} is not valid xz data")]
    Damaged(#[source] io::Error),
    /// Valid xz data of something else.
    #[error("{SECTION} does not contain an ELF file: {0}")]
    NotElf(FileKind),
}

/// Unpacks the bytes of a `.gnu_debugdata` section to the embedded ELF file.
///
/// # Errors
/// See [`MiniDebugError`]; never [`MiniDebugError::Section`].
pub fn unpack_mini_debug(bytes: &[u8], limits: MiniDebugLimits) -> std::result::Result<Vec<u8>, MiniDebugError> {
    // The decoder treats the largest number as "no limit".
    let memory = u32::try_from(limits.memory / KIB).unwrap_or(u32::MAX).min(u32::MAX.saturating_sub(1));
    let reader = XzReader::new_mem_limit(bytes, false, memory);
    let mut unpacked = Vec::new();
    // The vector grows with the actual output, at most one byte past the limit.
    let outcome = reader.take(limits.output.saturating_add(1)).read_to_end(&mut unpacked);
    // First, because data past the limit was not checked and may be damaged as well.
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
    /// The ELF file embedded in `.gnu_debugdata`; `None` without such a section.
    ///
    /// # Errors
    /// If the section extends past the end of the file, or cannot be unpacked within the limits.
    pub fn mini_debug_file(&self, limits: MiniDebugLimits) -> std::result::Result<Option<Vec<u8>>, MiniDebugError> {
        let Some(bytes) = self.mini_debug_bytes()? else { return Ok(None) };
        unpack_mini_debug(bytes, limits).map(Some)
    }

    fn mini_debug_bytes(&self) -> Result<Option<&[u8]>> {
        self.section(SECTION).map(|section| self.section_bytes(&section.header)).transpose()
    }
}
