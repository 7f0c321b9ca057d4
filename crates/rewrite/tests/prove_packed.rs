//! The proof of what the packer really makes, there and back, for files of this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod prove_scene;

use coldstart_elf::ElfFile;
use coldstart_rewrite::{NotProven, PackDecision, PackOptions, Proof, Source, plan_pack, prove};
use prove_scene::*;

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
