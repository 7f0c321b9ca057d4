//! `_init` of glibc's start files: it calls `__gmon_start__` if an object defines it, and does nothing else.
//!
//! Only programs built for gprof define it, and their own `_init` makes the same call; glibc's `__gmon_start__` acts
//! only on the first call (`csu/gmon-start.c`). So an object can omit its own call.

use object::elf::{EM_X86_64, R_X86_64_GLOB_DAT, STB_WEAK};

use crate::image::Image;
use crate::tables::Tables;
use crate::tables::relocations::records;
use crate::tables::symbols::{is_string, symbol};

/// Whether the function at an address is this `_init`. Known for x86-64 only.
pub(crate) fn only_starts_profiling((image, tables): (&Image<'_>, &Tables<'_>), address: u64) -> bool {
    if image.header.machine != EM_X86_64 || !image.encoding.wide {
        return false;
    }
    slot(image, address).is_some_and(|slot| is_weak_gmon_start(image, tables, slot))
}

/// The address of the function's call target. Decoded instruction by instruction:
///
/// ```text
/// [endbr64]  sub $8,%rsp  mov slot(%rip),%rax  test %rax,%rax  CALL  add $8,%rsp  ret
/// ```
///
/// where CALL is `je +2; call *%rax`, or `je +5; call there`, or `jne there` (as BOLT leaves it).
fn slot(image: &Image<'_>, address: u64) -> Option<u64> {
    let whole = image.piece(address)?.bytes?;
    let code = whole.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(whole);
    let code = code.strip_prefix(&[0x48, 0x83, 0xec, 0x08])?.strip_prefix(&[0x48, 0x8b, 0x05])?;
    let (distance, code) = code.split_first_chunk::<4>()?;
    let behind = whole.len().checked_sub(code.len())?;
    let code = code.strip_prefix(&[0x48, 0x85, 0xc0])?;
    let code = match code {
        [0x74, 2, 0xff, 0xd0, rest @ ..] => rest,
        [0x74, 5, 0xe8, rest @ ..] | [0x0f, 0x85, rest @ ..] => rest.get(4..)?,
        _ => return None,
    };
    code.starts_with(&[0x48, 0x83, 0xc4, 0x08, 0xc3]).then_some(())?;
    let next = address.checked_add(behind as u64)?;
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(*distance))))
}

fn is_weak_gmon_start(image: &Image<'_>, tables: &Tables<'_>, slot: u64) -> bool {
    let mut records = tables.relocations.iter().flat_map(|table| records(image, *table));
    records.find(|record| record.offset == slot).is_some_and(|record| {
        let symbol = symbol(image, tables.symbols, u64::from(record.symbol));
        record.kind == R_X86_64_GLOB_DAT
            && symbol.is_some_and(|symbol| {
                !symbol.is_defined()
                    && symbol.binding() == STB_WEAK
                    && is_string(tables.strings, symbol.name, b"__gmon_start__")
            })
    })
}
