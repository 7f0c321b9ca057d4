//! Vtables of Rust's trait objects in a stripped program: found by their shape, and not where there are none.
//!
//! Built by `rustc` from a source with 40 types that implement a trait of two methods, and by `cc` from tables that
//! look nearly the same.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_inspect::{Object, Owner, Owners, ToldBy, owners};
use coldstart_testing::succeed;

const TYPES: u64 = 40;

fn owners_of(file: &Path) -> Owners {
    let bytes = std::fs::read(file).unwrap();
    owners(&Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap())
}

fn inferred(owners: &Owners) -> u64 {
    let vtables = owners.counts.iter().filter(|count| count.owner == Owner::Vtable && count.told_by == ToldBy::Shape);
    vtables.map(|count| count.count).sum()
}

#[test]
fn vtables_of_a_stripped_rust_program_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("shapes.rs"), directory.path().join("shapes"));
    let mut text = "trait Shape { fn area(&self) -> usize; fn name(&self) -> &str; }\n".to_owned();
    for number in 0..TYPES {
        writeln!(
            text,
            "struct S{number}(String, usize);\nimpl Shape for S{number} {{\n    fn area(&self) -> usize {{ self.1 * {number} + \
             self.0.len() }}\n    fn name(&self) -> &str {{ &self.0[{number} % self.0.len()..] }}\n}}"
        )
        .unwrap();
    }
    text.push_str("fn main() {\n    let name = std::env::args().next().unwrap();\n    let mut shapes: Vec<Box<dyn Shape>> = Vec::new();\n");
    for number in 0..TYPES {
        writeln!(text, "    shapes.push(Box::new(S{number}(name.clone(), {number})));").unwrap();
    }
    text.push_str("    for shape in &shapes { println!(\"{} {}\", shape.area(), shape.name()); }\n}\n");
    std::fs::write(&source, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    succeed(
        Command::new(rustc)
            .args(["--edition", "2021", "-O", "-C", "strip=symbols", "-C", "codegen-units=1", "-o"])
            .args([&program, &source]),
    );
    let owners = owners_of(&program);
    // A function that drops, and two methods each; the standard library brings more.
    assert!(inferred(&owners) >= TYPES * 3, "{:?}", owners.counts);
    assert!(owners.untold.to_code < owners.untold.count / 4, "{:?}", owners.untold);
}

#[test]
fn tables_of_functions_and_numbers_are_no_vtables() {
    let directory = tempfile::tempdir().unwrap();
    let (source, library) = (directory.path().join("tables.c"), directory.path().join("libtables.so"));
    let mut text = "static int f(void) { return 1; }\nstatic int g(void) { return 2; }\n\
                    struct entry { int (*first)(void); long size, alignment; int (*second)(void); };\n"
        .to_owned();
    for number in 0..100 {
        // 24 is not a power of two, and 8 does not divide 20.
        let (size, alignment) = if number % 2 == 0 { (48, 24) } else { (20, 8) };
        writeln!(text, "const struct entry e{number} = {{ f, {size}, {alignment}, g }};").unwrap();
    }
    std::fs::write(&source, text).unwrap();
    succeed(
        Command::new("gcc").args(["-shared", "-fPIC", "-fvisibility=hidden", "-s", "-o"]).args([&library, &source]),
    );
    let owners = owners_of(&library);
    assert_eq!(inferred(&owners), 0, "{:?}", owners.counts);
    assert!(owners.untold.to_code >= 200, "{:?}", owners.untold);
}
