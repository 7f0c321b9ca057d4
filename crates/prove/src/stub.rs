//! The stub: code in a library that applies the packed relocations itself, for loaders without RELR.
//!
//! `DT_INIT` leads to it, so it runs before every other initialiser of the library, and then goes on to the library's own `DT_INIT`. It is
//! the same for every file of an architecture, and is followed by [`NUMBERS`] numbers of 4 bytes. The sources are in `stubs/relocate/`.
//!
//! The proof accepts this code and no other; so it is here, below the planner that writes it.

/// Numbers after the code. Each is a signed distance in bytes from the first of them:
///
/// 0. to the packed words: those of RELR, with a zero at the end;
/// 1. to address 0 of the file, so that the code knows the load bias;
/// 2. to the function that `DT_INIT` had before; 0 if there was none;
/// 3. to the first page that the loader protects (`PT_GNU_RELRO`), and
/// 4. to the first page after those; rounded down to 4 KiB, as loaders do.
pub const NUMBERS: usize = 5;

/// The code for an architecture (`e_machine`); `None` if there is none.
pub fn stub_code(machine: u16) -> Option<&'static [u8]> {
    Some(match machine {
        62 => include_bytes!("../stub/x86-64.bin"),
        3 => include_bytes!("../stub/i386.bin"),
        40 => include_bytes!("../stub/arm.bin"),
        183 => include_bytes!("../stub/aarch64.bin"),
        _ => return None,
    })
}
