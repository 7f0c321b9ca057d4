//! Empty functions: the remains of `_init` and `_fini` since constructors moved to arrays.
//!
//! Strict: only the few instructions of crti and crtn are allowed, and the last one must be a return.

use object::Endianness;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_X86_64};

use crate::image::Image;

/// Whether the function at an address returns without an effect.
pub(crate) fn does_nothing(image: &Image<'_>, address: u64) -> bool {
    let little = image.encoding.endian == Endianness::Little;
    // Bit 0 of an ARM function's address marks Thumb code.
    let Some(code) = image.piece(address).and_then(|piece| piece.bytes) else { return false };
    match image.header.machine {
        EM_X86_64 if little => is_no_op(code, &[ENDBR64], SUB_RSP, ADD_RSP),
        EM_386 if little => is_no_op(code, &[ENDBR32], SUB_ESP, ADD_ESP) || is_i386_crt(code),
        EM_AARCH64 if little => aarch64(code),
        EM_ARM if little && address & 3 == 0 => arm(code),
        _ => false,
    }
}

const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
const ENDBR32: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfb];
const SUB_RSP: &[u8] = &[0x48, 0x83, 0xec, 0x08];
const ADD_RSP: &[u8] = &[0x48, 0x83, 0xc4, 0x08];
const SUB_ESP: &[u8] = &[0x83, 0xec];
const ADD_ESP: &[u8] = &[0x83, 0xc4];
const RET: u8 = 0xc3;

/// `endbr; sub $8,%rsp; add $8,%rsp; ret`, the first three optional (the middle two together). For i386 the amount is 8 or
/// 12, the same in both.
fn is_no_op(code: &[u8], prefixes: &[&[u8]], sub: &[u8], add: &[u8]) -> bool {
    let code = prefixes.iter().find_map(|prefix| code.strip_prefix(*prefix)).unwrap_or(code);
    if code.first() == Some(&RET) {
        return true;
    }
    let Some(code) = code.strip_prefix(sub) else { return false };
    let (amount, code) = if sub.len() == 2 {
        let Some((amount, code)) = code.split_first() else { return false };
        (Some(*amount), code)
    } else {
        (None, code)
    };
    let Some(code) = code.strip_prefix(add) else { return false };
    match amount {
        // A signed byte: beyond 127 the stack pointer would move into the caller's frame.
        Some(amount) => amount < 0x80 && code.starts_with(&[amount, RET]),
        None => code.first() == Some(&RET),
    }
}

/// glibc on i386 saves %ebx around it: `push %ebx; sub $8,%esp; add $8,%esp; pop %ebx; ret`.
fn is_i386_crt(code: &[u8]) -> bool {
    let code = code.strip_prefix(ENDBR32).unwrap_or(code);
    code.starts_with(&[0x53, 0x83, 0xec, 0x08, 0x83, 0xc4, 0x08, 0x5b, RET])
}

fn instructions(code: &[u8]) -> impl Iterator<Item = u32> {
    code.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok().map(u32::from_le_bytes))
}

fn aarch64(code: &[u8]) -> bool {
    const NOP: u32 = 0xd503_201f;
    const BTI_C: u32 = 0xd503_245f;
    const PACIASP: u32 = 0xd503_233f;
    const AUTIASP: u32 = 0xd503_23bf;
    const STP: u32 = 0xa9bf_7bfd;
    const MOV: u32 = 0x9100_03fd;
    const LDP: u32 = 0xa8c1_7bfd;
    const RET: u32 = 0xd65f_03c0;
    let mut code = instructions(code).filter(|instruction| *instruction != NOP).take(8).peekable();
    let _ = code.next_if_eq(&BTI_C);
    let signs = code.next_if_eq(&PACIASP).is_some();
    if code.next_if_eq(&STP).is_some() {
        let _ = code.next_if_eq(&MOV);
        if code.next() != Some(LDP) {
            return false;
        }
    }
    // A signed return address must be authenticated, and only a signed one can be.
    signs == code.next_if_eq(&AUTIASP).is_some() && code.next() == Some(RET)
}

fn arm(code: &[u8]) -> bool {
    let code: Vec<u32> = instructions(code).take(3).collect();
    match code.as_slice() {
        // push {r3, lr}; pop {r3, lr}; bx lr
        [0xe92d_4008, 0xe8bd_4008, 0xe12f_ff1e] => true,
        // push {r3, lr}; pop {r3, pc}
        [0xe92d_4008, 0xe8bd_8008, ..] => true,
        [0xe12f_ff1e, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_forms_do_nothing() {
        let x86_64 = |code: &[u8]| is_no_op(code, &[ENDBR64], SUB_RSP, ADD_RSP);
        let whole = [ENDBR64, SUB_RSP, ADD_RSP, &[RET]].concat();
        assert!(x86_64(&whole) && x86_64(&whole[4..]) && x86_64(&[RET]));
        for end in 0..whole.len() {
            assert!(!x86_64(&whole[..end]));
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert!(!x86_64(&damaged), "{at}");
        }
        assert!(!x86_64(&[SUB_RSP, &[0xe8, 0, 0, 0, 0], ADD_RSP, &[RET]].concat()));
    }

    #[test]
    fn i386_takes_back_what_it_reserves() {
        let i386 = |code: &[u8]| is_no_op(code, &[ENDBR32], SUB_ESP, ADD_ESP) || is_i386_crt(code);
        assert!(i386(&[0x83, 0xec, 12, 0x83, 0xc4, 12, RET]));
        assert!(!i386(&[0x83, 0xec, 12, 0x83, 0xc4, 8, RET]));
        assert!(!i386(&[0x83, 0xec, 0xf8, 0x83, 0xc4, 0xf8, RET]));
        assert!(i386(&[0x53, 0x83, 0xec, 0x08, 0x83, 0xc4, 0x08, 0x5b, RET]));
    }

    #[test]
    fn aarch64_authenticates_what_it_signs() {
        let bytes = |code: &[u32]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let (stp, mov, ldp, ret) = (0xa9bf_7bfd, 0x9100_03fd, 0xa8c1_7bfd, 0xd65f_03c0);
        let (sign, authenticate) = (0xd503_233f, 0xd503_23bf);
        assert!(aarch64(&bytes(&[sign, stp, mov, ldp, authenticate, ret])));
        assert!(aarch64(&bytes(&[0xd503_201f, stp, mov, ldp, ret])));
        assert!(!aarch64(&bytes(&[sign, stp, mov, ldp, ret])));
        assert!(!aarch64(&bytes(&[stp, mov, ret])));
        assert!(!aarch64(&bytes(&[stp, mov, 0x9400_0000, ldp, ret])));
    }

    #[test]
    fn arm_pops_what_it_pushes() {
        let bytes = |code: &[u32]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        assert!(arm(&bytes(&[0xe92d_4008, 0xe8bd_4008, 0xe12f_ff1e])));
        assert!(arm(&bytes(&[0xe92d_4008, 0xe8bd_8008])));
        assert!(!arm(&bytes(&[0xe92d_4008, 0xe8bd_4008])));
        assert!(!arm(&bytes(&[0xe92d_4008, 0xeb00_0000, 0xe8bd_8008])));
    }
}
