//! Whether an instruction reads or writes memory: a page fault gives the address, but not always the kind of access.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register};

/// The memory accesses of an instruction, except for its own bytes and the stack: `push (%rdi)` reads one page
/// and writes another, and the stack is never a file's page.
///
/// An operand that is read and written at once (`add %eax, (%rdi)`) counts as written: the processor asks for the
/// page to write to it, and its fault says so. Where both are set (`movs`), the instruction does both at different
/// places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether it reads memory that it does not write.
    pub reads: bool,
    /// Whether it writes memory.
    pub writes: bool,
}

/// The accesses of the instruction at the start of `bytes`; `bitness` is 64, 32 or 16. None for invalid instructions.
pub(crate) fn data_access(bytes: &[u8], bitness: u32) -> Access {
    let mut access = Access::default();
    // The decoder does not know other widths.
    if !matches!(bitness, 16 | 32 | 64) {
        return access;
    }
    let instruction = Decoder::new(bitness, bytes, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return access;
    }
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(&instruction).used_memory();
    for memory in used.iter().filter(|memory| memory.base().full_register() != Register::RSP) {
        match memory.access() {
            OpAccess::Read | OpAccess::CondRead => access.reads = true,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                access.writes = true;
            }
            OpAccess::None | OpAccess::NoMemAccess => {}
        }
    }
    access
}

#[cfg(test)]
mod tests {
    use super::data_access;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_are_told_apart() {
        // Bytes, width, whether it reads and whether it writes.
        type Case = (&'static [u8], u32, bool, bool);
        let cases: [Case; 13] = [
            // mov (%rdi),%rax; mov %rax,(%rdi); add %eax,(%rdi); lock cmpxchg %ecx,(%rdx); cmp %eax,(%rdi)
            (&[0x48, 0x8b, 0x07], 64, true, false),
            (&[0x48, 0x89, 0x07], 64, false, true),
            (&[0x01, 0x07], 64, false, true),
            (&[0xf0, 0x0f, 0xb1, 0x0a], 64, false, true),
            (&[0x39, 0x07], 64, true, false),
            // rep movsb; rep stosb; repe cmpsb
            (&[0xf3, 0xa4], 64, true, true),
            (&[0xf3, 0xaa], 64, false, true),
            (&[0xf3, 0xa6], 64, true, false),
            // push (%rdi); call *(%rax); pop (%rdi)
            (&[0xff, 0x37], 64, true, false),
            (&[0xff, 0x10], 64, true, false),
            (&[0x8f, 0x07], 64, false, true),
            // lea (%rdi),%rax; mov %eax,(%edi) of 32 bits
            (&[0x48, 0x8d, 0x07], 64, false, false),
            (&[0x89, 0x07], 32, false, true),
        ];
        for (bytes, bitness, reads, writes) in cases {
            assert_eq!(data_access(bytes, bitness), super::Access { reads, writes }, "{bytes:x?}");
        }
        assert_eq!(data_access(&[0x06], 64), super::Access::default());
        assert_eq!(data_access(&[], 64), super::Access::default());
        assert_eq!(data_access(&[0x90], 7), super::Access::default());
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..16), wide in any::<bool>()) {
            data_access(&bytes, if wide { 64 } else { 32 });
        }
    }
}
