//! An object's instructions.

use coldstart_elf::Vaddr;

use super::decode::CodeKind;
use super::file::ObjectFile;

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

    /// Whether its code is x86 of 64 or of 32 bits; `None` for other architectures and for a file that cannot be read.
    pub fn x86_bitness(&self) -> Option<u32> {
        match self.read(|file| CodeKind::of(file.encoding())).ok()?? {
            CodeKind::X86(bits) => Some(bits),
            CodeKind::Aarch64 => None,
        }
    }

    /// The page, by its address, that its first segment begins in; `None` for a file that cannot be read.
    pub fn first_page(&self) -> Option<u64> {
        self.read(|file| file.load_segments().map(|segment| segment.address.0 >> 12).min()).ok()?
    }
}
