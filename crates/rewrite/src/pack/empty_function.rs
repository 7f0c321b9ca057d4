//! Whether a function provably does nothing: true for `_fini` of today's C libraries, and almost for `_init`.
//!
//! glibc's `crti.o` and `crtn.o` form `_init` and `_fini` from a prologue and an epilogue, with the sections `.init`
//! and `.fini` of other objects between. `.fini` has been unused for twenty years. `.init` only calls
//! `__gmon_start__`, if that exists: only programs built with `gcc -pg` have it, and their own `_init` makes the same
//! call; only the first one counts (glibc, `csu/gmon-start.c`).

use coldstart_elf::{DynamicRelocations, DynamicTable, ElfFile, RelocationClass, SymbolBinding, Vaddr};

/// `EM_386`, `EM_ARM`, `EM_X86_64`, `EM_AARCH64`.
const I386: u16 = 3;
const ARM: u16 = 40;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// Whole functions that change only the stack pointer, and restore it; each is emitted by a toolchain.
const EMPTY: &[(u16, &[u8])] = &[
    // sub $8,%rsp; add $8,%rsp; ret
    (X86_64, &[0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3]),
    // endbr64 before
    (X86_64, &[0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3]),
    // musl: push %rax; pop %rax; ret
    (X86_64, &[0x50, 0x58, 0xc3]),
    // sub $12,%esp; add $12,%esp; ret
    (I386, &[0x83, 0xec, 0x0c, 0x83, 0xc4, 0x0c, 0xc3]),
    // stp x29,x30,[sp,#-16]!; mov x29,sp; ldp x29,x30,[sp],#16; ret
    (AARCH64, &[0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6]),
    // bti c or nop before
    (
        AARCH64,
        &[
            0x5f, 0x24, 0x03, 0xd5, 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03,
            0x5f, 0xd6,
        ],
    ),
    (
        AARCH64,
        &[
            0x1f, 0x20, 0x03, 0xd5, 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03,
            0x5f, 0xd6,
        ],
    ),
    // paciasp before, autiasp before the return
    (
        AARCH64,
        &[
            0x3f, 0x23, 0x03, 0xd5, 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1, 0xa8, 0xbf, 0x23,
            0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6,
        ],
    ),
    // push {r3,lr}; pop {r3,lr}; bx lr
    (ARM, &[0x08, 0x40, 0x2d, 0xe9, 0x08, 0x40, 0xbd, 0xe8, 0x1e, 0xff, 0x2f, 0xe1]),
    // push {r3,lr}; pop {r3,pc}
    (ARM, &[0x08, 0x40, 0x2d, 0xe9, 0x08, 0x80, 0xbd, 0xe8]),
];

/// Whether the function at `address` is one of these.
pub(super) fn does_nothing(file: &ElfFile<'_>, address: Vaddr) -> bool {
    let Some(code) = code_at(file, address) else { return false };
    EMPTY.iter().any(|(machine, function)| *machine == file.encoding().machine && code.starts_with(function))
}

/// Whether the function at `address` only calls `__gmon_start__`, if that exists.
pub(super) fn only_starts_profiling(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, address: Vaddr) -> bool {
    let slot = || {
        let code = code_at(file, address).filter(|_| file.encoding().machine == X86_64)?;
        let (before, code) = match code.strip_prefix(&ENDBR64) {
            Some(code) => (ENDBR64.len(), code),
            None => (0, code),
        };
        let code = code.strip_prefix(&LOAD)?;
        let (distance, code) = code.split_first_chunk::<4>()?;
        let behind = before.checked_add(LOAD.len())?.checked_add(distance.len())?;
        let next = address.0.checked_add(behind as u64)?;
        is_guarded_call(code).then(|| Vaddr(next.wrapping_add_signed(i32::from_le_bytes(*distance).into())))
    };
    let Some(slot) = slot() else { return false };
    file.dynamic_relocations(dynamic).is_ok_and(|relocations| holds_gmon_start(file, dynamic, &relocations, slot))
}

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// sub $8,%rsp; mov slot(%rip),%rax
const LOAD: [u8; 7] = [0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05];
/// test %rax,%rax
const TEST: [u8; 3] = [0x48, 0x85, 0xc0];
/// add $8,%rsp; ret
const LEAVE: [u8; 5] = [0x48, 0x83, 0xc4, 0x08, 0xc3];

/// A call that is skipped if %rax is zero, and the return.
fn is_guarded_call(code: &[u8]) -> bool {
    let Some(code) = code.strip_prefix(&TEST) else { return false };
    let rest = match code {
        // je 1f; call *%rax; 1:
        [0x74, 0x02, 0xff, 0xd0, rest @ ..] => rest,
        // je 1f; call __gmon_start__@plt; 1:
        [0x74, 0x05, 0xe8, _, _, _, _, rest @ ..] => rest,
        // jne to the call, elsewhere: as written by BOLT.
        [0x0f, 0x85, _, _, _, _, rest @ ..] => rest,
        _ => return false,
    };
    rest.starts_with(&LEAVE)
}

/// Whether the loader writes the address of an undefined weak `__gmon_start__` to this word.
fn holds_gmon_start(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
    slot: Vaddr,
) -> bool {
    let Ok(symbols) = file.dynamic_symbols(dynamic) else { return false };
    let machine = file.encoding().machine;
    let records = relocations.tables().flat_map(|table| (0..table.len()).filter_map(|number| table.get(number)));
    let mut here = records.filter(|relocation| relocation.offset == slot);
    here.next().is_some_and(|relocation| {
        let symbol = symbols.get(relocation.symbol).filter(|symbol| {
            !symbol.is_defined() && symbol.binding == SymbolBinding::Weak && symbols.is_named(symbol, b"__gmon_start__")
        });
        symbol.is_some() && RelocationClass::of(machine, relocation.kind) == RelocationClass::GlobalData
    })
}

fn code_at<'data>(file: &ElfFile<'data>, address: Vaddr) -> Option<&'data [u8]> {
    let segment = file.segment_at(address)?;
    file.memory_from(address).filter(|_| segment.is_executable() && !segment.is_writable())
}
