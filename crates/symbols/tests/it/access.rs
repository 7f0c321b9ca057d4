//! What instructions do with memory, beside the names that objdump gives them.

use std::path::Path;

use coldstart_symbols::ObjectFile;
use coldstart_testing::divided_by;

use crate::support::{output, skip};

const LIBC: &str = "/usr/aarch64-linux-gnu/lib/libc.so.6";

/// Whether an instruction of this name reads and writes; `None` where the name alone does not say it.
fn by_name(name: &str, operands: &str) -> Option<(bool, bool)> {
    const ATOMIC: [&str; 9] = ["ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "swp"];
    if operands.contains("[sp") {
        return Some((false, false));
    }
    // Tags of memory, and 64 bytes at once.
    if ["stg", "stz2g", "stzg", "st2g", "ldg", "ld64b", "st64b"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let starts = |start: &str| name.starts_with(start);
    Some(match () {
        () if ATOMIC.iter().any(|atomic| name.starts_with(atomic)) || starts("cas") => (false, true),
        () if starts("ld") => (true, false),
        () if starts("st") => (false, true),
        () if starts("cpy") => (true, true),
        () if starts("setp") || starts("setm") || starts("sete") => (false, true),
        () => (false, false),
    })
}

#[test]
fn instructions_of_aarch64_do_what_their_names_say() {
    if !Path::new(LIBC).exists() {
        return skip("no C library for aarch64 (libc6-arm64-cross)");
    }
    let object = ObjectFile::open(Path::new(LIBC)).unwrap();
    let text = output("aarch64-linux-gnu-objdump", &["-d", "-M", "no-aliases"], Path::new(LIBC));
    let mut counts = [0_usize; 4];
    let mut different = Vec::new();
    for line in text.lines().step_by(divided_by(4)) {
        // ADDRESS:\tWORD \tNAME\tOPERANDS
        let mut parts = line.split('\t');
        let (Some(address), Some(word), Some(name)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let operands = parts.collect::<Vec<_>>().join(" ");
        let Ok(address) = u64::from_str_radix(address.trim().trim_end_matches(':'), 16) else { continue };
        let Ok(word) = u32::from_str_radix(word.trim(), 16) else { continue };
        // Vectors of SVE.
        if (word >> 25) & 0xf == 0b0010 || name.starts_with('.') {
            continue;
        }
        let Some((reads, writes)) = by_name(name.trim(), &operands) else { continue };
        let access = object.access_at(address).unwrap();
        counts[usize::from(reads) + 2 * usize::from(writes)] += 1;
        if (access.reads, access.writes) != (reads, writes) {
            different.push(format!("{line}: {access:?}"));
        }
    }
    let first = different.iter().take(30).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} of {counts:?}:\n{first}", different.len());
    assert!(counts[1] > 5_000 && counts[2] > 1_000, "{counts:?}");
}
