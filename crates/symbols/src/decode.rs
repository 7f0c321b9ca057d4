//! Decodes machine code from a known instruction start.
//!
//! x86 instructions have any length from 1 to 15 bytes, so whether an address is one depends on the code before it.
//! On aarch64 each has 4 bytes, and no decoding is needed.

use coldstart_elf::Encoding;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// Supported architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// x86, with this width in bits.
    X86(u32),
    /// AArch64.
    Aarch64,
}

impl CodeKind {
    /// The kind of a file's code; `None` for other architectures.
    pub(super) fn of(encoding: Encoding) -> Option<Self> {
        match encoding.machine {
            // EM_X86_64 (with 32-bit addresses, too: x32), EM_386, EM_AARCH64.
            62 => Some(Self::X86(64)),
            3 => Some(Self::X86(32)),
            183 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Whether code can begin at `address` with these bytes: not at an existing breakpoint, nor in zeros, which fill
    /// holes.
    pub(super) fn may_begin(self, address: u64, bytes: &[u8]) -> bool {
        match self {
            Self::X86(bitness) => {
                let is_hole = matches!(bytes, [0xcc, ..] | [0, 0, ..] | [0] | []);
                let head = bytes.get(..LONGEST).unwrap_or(bytes);
                !is_hole && !Decoder::new(bitness, head, DecoderOptions::NONE).decode().is_invalid()
            }
            Self::Aarch64 => {
                // `brk`, and `udf #0`. Instructions are little-endian in files of both byte orders.
                let word = bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
                address.is_multiple_of(4) && word.is_some_and(|word| word != 0 && word & 0xffe0_001f != 0xd420_0000)
            }
        }
    }
}

/// Bytes of the longest x86 instruction.
pub(super) const LONGEST: usize = 15;

/// The result of decoding a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    /// For each requested address, whether an instruction begins there.
    pub(super) is_instruction: Vec<bool>,
    /// For each, whether the previous instruction does not fall through to it.
    pub(super) is_behind_a_jump: Vec<bool>,
    /// Whether all bytes are instructions, and the last one ends at the end of the range.
    pub(super) is_clean: bool,
    /// Whether there is an indirect jump.
    pub(super) has_indirect_jump: bool,
}

/// Takes the x86 code `bytes` at `address` apart, and looks whether the ascending addresses in `places` are
/// instructions. Stops at what is no instruction: places after it are none.
pub(super) fn decode(bitness: u32, bytes: &[u8], address: u64, places: &[u64]) -> Decoded {
    let mut decoded = Decoded {
        is_instruction: vec![false; places.len()],
        is_behind_a_jump: vec![false; places.len()],
        is_clean: true,
        has_indirect_jump: false,
    };
    let mut decoder = Decoder::with_ip(bitness, bytes, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut next = 0;
    let mut goes_elsewhere = false;
    while decoder.can_decode() {
        let at = address.wrapping_add(decoder.position() as u64);
        while places.get(next).is_some_and(|place| *place < at) {
            next = next.saturating_add(1);
        }
        let is_place = places.get(next) == Some(&at);
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            decoded.is_clean = false;
            break;
        }
        if is_place
            && let (Some(is), Some(behind)) =
                (decoded.is_instruction.get_mut(next), decoded.is_behind_a_jump.get_mut(next))
        {
            (*is, *behind) = (true, goes_elsewhere);
        }
        let flow = instruction.flow_control();
        decoded.has_indirect_jump |= flow == FlowControl::IndirectBranch;
        // Padding changes nothing.
        if !matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            goes_elsewhere = matches!(
                flow,
                FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
                    | FlowControl::Return
                    | FlowControl::Exception
            );
        }
    }
    decoded
}
