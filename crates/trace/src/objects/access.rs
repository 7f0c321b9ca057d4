//! Whether an instruction reads or writes memory: page faults tell where, and not always how.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register};

/// What an x86 instruction does to memory, its own bytes apart.
///
/// An operand that is read and written at once (`add %eax, (%rdi)`) counts as written: the processor asks for the page to write
/// to it, and its fault says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether it reads memory that it does not write.
    pub reads: bool,
    /// Whether it writes memory.
    pub writes: bool,
    /// Whether it reads the stack: memory that the stack pointer leads to.
    pub reads_stack: bool,
    /// Whether it writes the stack.
    pub writes_stack: bool,
}

impl Access {
    /// Whether the access that faulted was a write; `None` where the instruction does both at different places (`movs`), or
    /// neither. Whoever knows whether the page is the stack's says so: `push (%rdi)` reads one and writes the other.
    pub fn was_write(self, is_stack: Option<bool>) -> Option<bool> {
        let (reads, writes) = match is_stack {
            Some(true) => (self.reads_stack, self.writes_stack),
            Some(false) => (self.reads, self.writes),
            None => (self.reads || self.reads_stack, self.writes || self.writes_stack),
        };
        (reads != writes).then_some(writes)
    }
}

/// What the instruction that begins with `bytes` does; `bitness` is 64, 32 or 16. Nothing, if they are no instruction.
pub fn data_access(bytes: &[u8], bitness: u32) -> Access {
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
    for memory in factory.info(&instruction).used_memory() {
        let is_stack = memory.base().full_register() == Register::RSP;
        let (reads, writes) = match memory.access() {
            OpAccess::Read | OpAccess::CondRead => (true, false),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => (false, true),
            OpAccess::None | OpAccess::NoMemAccess => (false, false),
        };
        let (reads_here, writes_here) = match is_stack {
            true => (&mut access.reads_stack, &mut access.writes_stack),
            false => (&mut access.reads, &mut access.writes),
        };
        *reads_here |= reads;
        *writes_here |= writes;
    }
    access
}

#[cfg(test)]
mod tests {
    use super::data_access;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_are_told_apart() {
        // Bytes, width, and what is answered of an unknown page, of the stack, and of any other.
        type Case = (&'static [u8], u32, Option<bool>, Option<bool>, Option<bool>);
        let cases: [Case; 13] = [
            // mov (%rdi),%rax; mov %rax,(%rdi); add %eax,(%rdi); lock cmpxchg %ecx,(%rdx); cmp %eax,(%rdi)
            (&[0x48, 0x8b, 0x07], 64, Some(false), None, Some(false)),
            (&[0x48, 0x89, 0x07], 64, Some(true), None, Some(true)),
            (&[0x01, 0x07], 64, Some(true), None, Some(true)),
            (&[0xf0, 0x0f, 0xb1, 0x0a], 64, Some(true), None, Some(true)),
            (&[0x39, 0x07], 64, Some(false), None, Some(false)),
            // rep movsb; rep stosb; repe cmpsb
            (&[0xf3, 0xa4], 64, None, None, None),
            (&[0xf3, 0xaa], 64, Some(true), None, Some(true)),
            (&[0xf3, 0xa6], 64, Some(false), None, Some(false)),
            // push (%rdi); call *(%rax); pop (%rdi)
            (&[0xff, 0x37], 64, None, Some(true), Some(false)),
            (&[0xff, 0x10], 64, None, Some(true), Some(false)),
            (&[0x8f, 0x07], 64, None, Some(false), Some(true)),
            // lea (%rdi),%rax; mov %eax,(%edi) of 32 bits
            (&[0x48, 0x8d, 0x07], 64, None, None, None),
            (&[0x89, 0x07], 32, Some(true), None, Some(true)),
        ];
        for (bytes, bitness, unknown, stack, other) in cases {
            let access = data_access(bytes, bitness);
            let answers = [access.was_write(None), access.was_write(Some(true)), access.was_write(Some(false))];
            assert_eq!(answers, [unknown, stack, other], "{bytes:x?}");
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
