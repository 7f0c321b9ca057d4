//! An object's instructions.

use coldstart_elf::Vaddr;

use super::access::{Access, data_access};
use super::access_aarch64;
use super::decode::CodeKind;
use super::file::ObjectFile;

/// In bytes: that of x86 (Intel SDM volume 2, 2.3.11).
const LONGEST_INSTRUCTION: u64 = 15;

impl ObjectFile {
    /// Up to so many bytes of code from an address (without load bias) on; `None` outside of executable segments.
    pub fn code_at(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(length).ok()?;
        let code = self.read(|file| {
            let bytes = file.memory_from(Vaddr(address))?;
            file.segment_at(Vaddr(address))?.is_executable().then(|| bytes.iter().take(length).copied().collect())
        });
        code.ok()?
    }

    /// What the instruction at an address (without load bias) does with memory; `None` for other architectures than x86 and aarch64, and
    /// outside of code.
    pub fn access_at(&self, address: u64) -> Option<Access> {
        let kind = self.read(|file| CodeKind::of(file.encoding())).ok()??;
        let bytes = self.code_at(address, LONGEST_INSTRUCTION)?;
        match kind {
            CodeKind::X86(bits) => Some(data_access(&bytes, bits)),
            // Little-endian in files of both byte orders.
            CodeKind::Aarch64 => Some(access_aarch64::access(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))),
        }
    }

    /// The page, by its address, that its first segment begins in; `None` for a file that cannot be read.
    pub fn first_page(&self) -> Option<u64> {
        self.read(|file| file.load_segments().map(|segment| segment.address.0 >> 12).min()).ok()?
    }
}
