//! The proof of what the packer really makes, there and back, for files of this machine.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use crate::scene::*;
use coldstart_elf::ElfFile;
use coldstart_prove::{NotProven, Proof, Source, prove};
use coldstart_rewrite::{PackDecision, PackOptions, plan_pack};

fn proof(original: &[u8], output: &[u8]) -> Result<Proof, NotProven> {
    prove(Source::in_memory(original), Source::in_memory(output))
}

fn packed(original: &[u8], options: &PackOptions) -> Option<Vec<u8>> {
    let file = ElfFile::parse(original).ok()?;
    match plan_pack(&file, options).ok()? {
        PackDecision::Pack(plan) => Some(plan.script.to_vec(original).unwrap()),
        PackDecision::Nothing(_) => None,
    }
}

#[test]
fn packed_files_of_this_machine_are_proven_there_and_back() {
    let (mut count, mut failed, mut freed, mut redundant) = (0, Vec::new(), 0, 0);
    let limit = std::env::var("COLDSTART_PROVE_LIBRARIES").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    for path in libraries(limit) {
        let original = std::fs::read(&path).unwrap();
        for sparse in [false, true] {
            let options = PackOptions { sparse, drop_syment: true, ..PackOptions::default() };
            let Some(output) = packed(&original, &options) else { continue };
            count += 1;
            match proof(&original, &output) {
                Ok(proof) => {
                    assert!(proof.relr_relocations > 0 && proof.relr_relocations <= proof.relative_relocations);
                    freed += proof.bytes_freed;
                    redundant += proof.redundant_entries.len();
                }
                Err(error) => failed.push(format!("{} (sparse: {sparse}): {error}", path.display())),
            }
            if let Err(error) = proof(&output, &original) {
                failed.push(format!("{} back (sparse: {sparse}): {error}", path.display()));
            }
        }
    }
    println!("{count} files, {freed} bytes freed, {redundant} redundant entries");
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

/// Programs that need versions of libc.so.6, with a loader's path: what the small libraries lack.
fn programs() -> Vec<(String, Elf)> {
    let linkers = linkers();
    let all = linkers.iter().flat_map(|linker| ["-pie", "-shared"].map(|kind| (*linker, kind)));
    all.map(|(linker, kind)| (format!("{linker} {kind}"), build_program(linker, kind))).collect()
}

#[test]
fn programs_of_each_linker_are_proven_and_their_damage_is_found() {
    type Damage = (&'static str, fn(&mut Elf), &'static [&'static str]);
    let damages: &[Damage] = &[
        ("no RELR version", |elf| rename_version(elf), &["needed versions"]),
        ("the path of the loader", |elf| interpreter(elf), &["interpreter"]),
        ("DT_RELRENT", |elf| elf.set_tag(37, 16), &["relocation table"]),
        ("the symbols' place", |elf| elf.set_tag(6, elf.tag(6).unwrap() + 24), &["dynamic symbols", "dynamic table"]),
        ("the versions' place", |elf| elf.set_tag(0x6fff_fffe, 0), &["needed versions", "symbol versions"]),
        ("a byte of the strings", |elf| strings(elf), &["dynamic strings"]),
        ("an offset of an array", |elf| elf.set_tag(0x19, elf.tag(0x19).unwrap() + 8), &["dynamic table"]),
    ];
    let mut found = Vec::new();
    for (name, original) in programs() {
        let options = PackOptions { drop_syment: true, ..PackOptions::default() };
        let Some(output) = packed(&original.0, &options) else { continue };
        proof(&original.0, &output).unwrap_or_else(|error| panic!("{name}: {error}"));
        proof(&output, &original.0).unwrap_or_else(|error| panic!("{name} back: {error}"));
        found.push(name.clone());
        for (what, damage, expected) in damages {
            let mut damaged = Elf(output.clone());
            damage(&mut damaged);
            if damaged.0 == output {
                continue;
            }
            let error = proof(&original.0, &damaged.0).expect_err(what);
            assert!(expected.contains(&error.what()), "{name}, {what}: {error}");
        }
    }
    assert!(found.len() >= 2, "{found:?}");
}

fn rename_version(elf: &mut Elf) {
    let name = b"GLIBC_ABI_DT_RELR";
    let at = elf.0.windows(name.len()).position(|window| window == name).unwrap();
    elf.0[at] = b'X';
}

fn interpreter(elf: &mut Elf) {
    if let Some(segment) = elf.segments(3).first() {
        let at = elf.word(segment + P_OFFSET.0) as usize;
        elf.0[at + 5] ^= 1;
    }
}

fn strings(elf: &mut Elf) {
    let at = elf.offset(elf.tag(5).unwrap());
    elf.0[at + 1] ^= 1;
}
