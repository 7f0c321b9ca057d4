//! Whether an A64 instruction reads or writes memory.
//!
//! Source: Arm Architecture Reference Manual for A-profile, C4.1, *Loads and Stores*. Vector instructions of SVE have a group of their own,
//! which is not decoded.

use super::access::Access;

const NONE: Access = Access { reads: false, writes: false };
const READS: Access = Access { reads: true, writes: false };
const WRITES: Access = Access { reads: false, writes: true };
const BOTH: Access = Access { reads: true, writes: true };
/// The number of the stack pointer as a base register.
const STACK_POINTER: u32 = 31;

/// The accesses of an instruction, without those by the stack pointer. None for those that are unknown.
pub(super) fn access(word: u32) -> Access {
    let bits = |high: u32, low: u32| (word >> low) & ((1 << (high - low + 1)) - 1);
    let is_set = |bit: u32| bits(bit, bit) == 1;
    let is_memory = is_set(27) && !is_set(25);
    let is_literal = bits(29, 27) == 0b011 && !is_set(24);
    if !is_memory || (!is_literal && bits(9, 5) == STACK_POINTER) {
        return NONE;
    }
    let by_load_bit = if is_set(22) { READS } else { WRITES };
    let is_vector = is_set(26);
    match bits(29, 28) {
        // Structures of vectors.
        0b00 if is_vector => by_load_bit,
        // Compare and swap, also of a pair, which exclusive loads and stores of a pair have the other sizes of.
        0b00 if is_set(21) && (is_set(23) || !is_set(31)) => WRITES,
        0b00 => by_load_bit,
        // The prefetch of a literal.
        0b01 if is_literal && !is_vector && bits(31, 30) == 0b11 => NONE,
        0b01 if is_literal => READS,
        // Tags of memory.
        0b01 if is_set(21) => NONE,
        // Copies and fills of memory.
        0b01 if bits(11, 10) == 0b01 => {
            if bits(23, 22) == 0b11 {
                WRITES
            } else {
                BOTH
            }
        }
        0b01 => single(false, bits(31, 30), bits(23, 22)),
        0b10 => by_load_bit,
        _ if !is_set(24) && is_set(21) => match bits(11, 10) {
            // A load-acquire among the atomic operations.
            0b00 if bits(15, 12) == 0b1100 => READS,
            0b00 => WRITES,
            0b10 => single(is_vector, bits(31, 30), bits(23, 22)),
            // A load by an authenticated pointer.
            _ => READS,
        },
        _ => single(is_vector, bits(31, 30), bits(23, 22)),
    }
}

/// A load or store of one register, by its size and its operation.
fn single(is_vector: bool, size: u32, operation: u32) -> Access {
    match (is_vector, size, operation) {
        (true, _, operation) if operation & 1 == 1 => READS,
        (true, ..) | (false, _, 0b00) => WRITES,
        // A prefetch.
        (false, 0b11, 0b10) => NONE,
        (false, ..) => READS,
    }
}
