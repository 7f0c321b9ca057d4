//! References to a file's own definitions: which are bound, that the proof judges for itself, and that all come back.

use std::collections::BTreeSet;
use std::process::Command;

use crate::rewritten_scene::restored;
use crate::scene::{Elf, linkers};
use coldstart_elf::ElfFile;
use coldstart_prove::{BindEdit, Source, prove, prove_bound, prove_identity};
use coldstart_rewrite::{
    ChangedFile, ClosedWorld, LibcFloor, NothingToPack, PackDecision, PackOptions, PackSummary, World, plan_pack,
};

/// `DT_FLAGS`, with `DF_SYMBOLIC` and `DF_BIND_NOW`.
const FLAGS: u64 = 30;
const SYMBOLIC: u64 = 2;
const BIND_NOW: u64 = 8;

/// Each kind of symbol that a library can define and refer to, and enough of one kind to be worth packing.
fn library(linker: &str, libc: bool) -> Elf {
    let directory = tempfile::tempdir().unwrap();
    let (source, output) = (directory.path().join("library.c"), directory.path().join("library.so"));
    let names = 0..600;
    let list = |prefix: &str| names.clone().map(|name| format!("&{prefix}{name},")).collect::<String>();
    let mut text = names.clone().map(|name| format!("int v{name} = {name};\n")).collect::<String>();
    text += &format!(
        "int *vars[] = {{ {} }}; int *behind[] = {{ &v0 + 1 }};\n\
         static int hidden; int *words[] = {{ &hidden }};\n\
         int open(void) {{ return 1; }} int weak(void) __attribute__((weak)); int weak(void) {{ return 2; }}\n\
         extern int absent(void) __attribute__((weak)); __thread int of_thread; int *tls(void) {{ return &of_thread; }}\n\
         int chosen(void) __attribute__((ifunc(\"choose\"))); static int one(void) {{ return 3; }}\n\
         void *choose(void) {{ return one; }}\n\
         int (*functions[])(void) = {{ open, weak, absent, chosen }};\n\
         int calls(void) {{ return open() + weak() + chosen(); }}\n\
         __asm__(\".globl unique\\n.type unique, @gnu_unique_object\\n.size unique, 4\\n.data\\nunique: .long 7\\n.text\");\n\
         extern int unique; int *uniques[] = {{ &unique }};\n",
        list("v")
    );
    if libc {
        // A version of the C library that it needs.
        text += "int getpid(void); int number(void) { return getpid(); }\n";
    }
    std::fs::write(&source, text).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-fPIC", "-shared", "-nostdlib", "-g0", "-Wl,-z,now,--build-id"])
        .arg(format!("-fuse-ld={linker}"));
    gcc.args(["-Wl,-z,nopack-relative-relocs"].iter().filter(|_| linker != "gold")).arg("-o").arg(&output).arg(&source);
    gcc.args(["-Wl,--no-as-needed", "-lc"].iter().filter(|_| libc));
    let built = gcc.output().unwrap();
    assert!(built.status.success(), "{linker}: {}", String::from_utf8_lossy(&built.stderr));
    Elf(std::fs::read(&output).unwrap())
}

/// The library with `DF_SYMBOLIC`, which no linker sets without binding the references itself.
fn symbolic(linker: &str, libc: bool) -> Elf {
    let mut elf = library(linker, libc);
    assert_eq!(elf.tag(FLAGS), Some(BIND_NOW), "{linker}");
    elf.set_tag(FLAGS, BIND_NOW | SYMBOLIC);
    elf
}

fn options(passes: &str, not_interposed: Option<BTreeSet<u32>>) -> PackOptions {
    let closed_world =
        not_interposed.map(|symbols| ClosedWorld { world: World::default(), not_interposed: Some(symbols) });
    PackOptions { passes: passes.parse().unwrap(), closed_world, drop_syment: true, ..PackOptions::default() }
}

fn rewritten(elf: &Elf, options: &PackOptions) -> Result<(Vec<u8>, PackSummary), NothingToPack> {
    match plan_pack(&ElfFile::parse(&elf.0).unwrap(), options).unwrap() {
        PackDecision::Pack(plan) => Ok((plan.script.to_vec(&elf.0).unwrap(), plan.summary)),
        PackDecision::Nothing(nothing) => Err(nothing),
    }
}

/// Every number of a dynamic symbol.
fn all_symbols() -> BTreeSet<u32> {
    (1..5000).collect()
}

fn proves(original: &[u8], output: &[u8], edit: &BindEdit) -> Result<u64, String> {
    let proof = prove_bound(Source::in_memory(original), Source::in_memory(output), edit);
    proof.map(|proof| proof.bound_references).map_err(|error| error.to_string())
}

#[test]
fn each_kind_of_reference_has_its_fate() {
    for linker in linkers() {
        let world = BindEdit { not_interposed: all_symbols(), ..BindEdit::default() };
        let certain = BindEdit::default();
        // DT_SYMBOLIC is glibc's, and a closed world anybody's.
        for (elf, closed, edit) in
            [(symbolic(linker, true), None, &certain), (library(linker, false), Some(all_symbols()), &world)]
        {
            for passes in ["all-safe", "bind-local"] {
                let options = options(passes, closed.clone());
                let (bytes, summary) = rewritten(&elf, &options).unwrap();
                let own = summary.own_references.unwrap();
                // 601 variables, at least the two functions' addresses; perhaps calls by the PLT or GOT.
                let bound = own.certain + own.in_closed_world;
                assert_eq!((bound, bound >= 603), (summary.bound, true), "{linker}, {passes}: {summary:?}");
                assert!(own.unique == 1 && own.not_an_address >= 1, "{linker}, {passes}: {own:?}");
                let kept = own.all - bound - own.unique - own.not_an_address;
                assert_eq!(kept, 0, "{linker}, {passes}: {own:?}");

                assert_eq!(proves(&elf.0, &bytes, edit), Ok(bound), "{linker}, {passes}");
                prove_identity(Source::in_memory(&bytes)).unwrap();
                assert!(prove(Source::in_memory(&elf.0), Source::in_memory(&bytes)).is_err(), "{linker}, {passes}");
                assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == elf.0, "{linker}, {passes}");
                // lld leaves no entries for RELR, which stays refused.
                let again = match plan_pack(&ElfFile::parse(&bytes).unwrap(), &options) {
                    Ok(PackDecision::Nothing(nothing)) => nothing,
                    Err(refusal) if linker == "lld" && refusal.code() == "no-dynamic-slot" => continue,
                    other => panic!("{linker}, {passes}: {other:?}"),
                };
                let expected =
                    if passes == "all-safe" { NothingToPack::PackedByUs } else { NothingToPack::NoOwnReferences };
                assert_eq!(again, expected, "{linker}, {passes}");
            }
        }
    }
}

/// Without a reason to be sure, nothing is bound, and the proof accepts nothing that is.
#[test]
fn the_proof_needs_its_own_reasons() {
    for linker in linkers() {
        let plain = library(linker, true);
        assert_eq!(rewritten(&plain, &options("bind-local", None)).unwrap_err(), NothingToPack::NoOwnReferences);
        let by_musl = symbolic(linker, false);
        assert_eq!(rewritten(&by_musl, &options("bind-local", None)).unwrap_err(), NothingToPack::NoOwnReferences);

        let (bytes, _) = rewritten(&plain, &options("all-safe", Some(all_symbols()))).unwrap();
        assert!(proves(&plain.0, &bytes, &BindEdit::default()).unwrap_err().contains("relocation"), "{linker}");
        // One symbol less than what was bound.
        let bound: Vec<u32> = all_symbols().into_iter().collect();
        let lacking = bound.iter().filter(|number| {
            let not_interposed = bound.iter().copied().filter(|other| other != *number).collect();
            proves(&plain.0, &bytes, &BindEdit { not_interposed, ..BindEdit::default() }).is_err()
        });
        assert!(lacking.take(5).count() == 5, "{linker}");
    }
}

/// A value that is not the symbol's is found out, and so is a unique symbol that was bound.
#[test]
fn wrong_bindings_are_found_out() {
    for linker in linkers() {
        let elf = library(linker, true);
        let edit = BindEdit { not_interposed: all_symbols(), ..BindEdit::default() };
        let (bytes, _) = rewritten(&elf, &options("all-safe", Some(all_symbols()))).unwrap();
        let file = ElfFile::parse(&bytes).unwrap();
        let dynamic = file.dynamic().unwrap().unwrap();
        let relocations = file.dynamic_relocations(&dynamic).unwrap();
        // With RELR the value is in the word, else in the record.
        let place = match relocations.relr {
            Some(relr) => file.offset_of(relr.addresses().nth(300).unwrap()).unwrap().0,
            None => relocations.rela.unwrap().file_offset().0 + 24 * 300 + 16,
        };
        let mut wrong = bytes.clone();
        wrong[usize::try_from(place).unwrap()] ^= 4;
        assert!(proves(&elf.0, &wrong, &edit).is_err(), "{linker}: a wrong address");

        // In the original's own table: the first reference to each kind of symbol that must stay.
        for name in ["unique", "chosen", "absent"] {
            let file = ElfFile::parse(&elf.0).unwrap();
            let dynamic = file.dynamic().unwrap().unwrap();
            let (symbols, table) =
                (file.dynamic_symbols(&dynamic).unwrap(), file.dynamic_relocations(&dynamic).unwrap().rela.unwrap());
            let is_it = |number: &usize| {
                table.get(*number).is_some_and(|record| symbols.name_at(record.symbol) == name.as_bytes())
            };
            let Some(number) = (0..table.len()).find(is_it) else { continue };
            let record = table.get(number).unwrap();
            let at = usize::try_from(table.file_offset().0).unwrap() + 24 * number;
            let mut wrong = elf.0.clone();
            wrong[at + 8..at + 16].copy_from_slice(&8_u64.to_le_bytes());
            let value = symbols.get(record.symbol).unwrap().value.0;
            wrong[at + 16..at + 24].copy_from_slice(&value.to_le_bytes());
            assert!(proves(&elf.0, &wrong, &edit).is_err(), "{linker}: `{name}` is not to be bound");
        }
    }
}

/// A pass that refuses the file does not keep the other from running, and is named.
#[test]
fn outcomes_are_per_pass() {
    let elf = symbolic("bfd", true);
    let old = LibcFloor::Glibc(2, 35);
    let (bytes, summary) =
        rewritten(&elf, &PackOptions { libc_floor: Some(old), ..options("all-safe", None) }).unwrap();
    let outcomes = serde_json::to_value(&summary.passes).unwrap();
    assert_eq!((&outcomes[0]["outcome"], &outcomes[1]["outcome"]), (&"done".into(), &"nothing".into()), "{outcomes}");
    assert_eq!((&outcomes[2]["outcome"], &outcomes[2]["code"]), (&"refused".into(), &"loader-too-old".into()));
    assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == elf.0);
    assert!(
        plan_pack(&ElfFile::parse(&elf.0).unwrap(), &PackOptions { libc_floor: Some(old), ..options("relr", None) })
            .is_err()
    );
}
