//! The Rust compiler of the build itself, its two large libraries packed: identical objects, identical complaints.
//!
//! Not obvious: rustc takes the directory above its driver library for its home, so copies must be told
//! where the toolchain really is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

/// rustc calls it to link.
pub(super) const TOOLS: &[Tool] = &[tool("cc", "gcc")];

/// How the names of the libraries begin: what rustc itself is, and LLVM.
const LIBRARIES: [&str; 2] = ["librustc_driver-", "libLLVM.so."];

const PROGRAM: &str = r#"
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::mpsc;

trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle { radius: f64 }
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { self.radius.powi(2) * std::f64::consts::PI } }

fn listed<T: Display>(things: impl Iterator<Item = T>) -> String {
    things.map(|thing| thing.to_string()).collect::<Vec<_>>().join(", ")
}

fn saxpy(x: &mut [f32], y: &[f32], a: f32) {
    for (x, y) in x.iter_mut().zip(y) { *x += a * y }
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle { radius: 1.0 })];
    println!("{}", listed(shapes.iter().map(|shape| shape.area())));
    let (sender, receiver) = mpsc::channel();
    for part in 0..4u64 {
        let sender = sender.clone();
        std::thread::spawn(move || sender.send((0..100_000).fold(part, |sum, i| sum.wrapping_mul(31) ^ i)));
    }
    drop(sender);
    let mut counts = BTreeMap::new();
    receiver.iter().for_each(|sum| *counts.entry(sum % 7).or_insert(0) += 1);
    let (mut x, y) = (vec![1.0; 33], vec![2.0; 33]);
    saxpy(&mut x, &y, 0.5);
    println!("{counts:?} {}", x.iter().sum::<f32>());
    let caught = std::panic::catch_unwind(|| [1, 2, 3][std::env::args().count() + 5]);
    std::process::exit(if caught.is_err() { 7 } else { 0 });
}
"#;

const MACROS: &str = r#"
use proc_macro::TokenStream;

#[proc_macro_derive(Named)]
pub fn named(input: TokenStream) -> TokenStream {
    let mut words = input.into_iter().map(|token| token.to_string()).skip_while(|word| word != "struct");
    let name = words.nth(1).expect("a struct has a name");
    format!("impl {name} {{ pub fn name(&self) -> &'static str {{ {name:?} }} }}").parse().unwrap()
}

#[proc_macro]
pub fn breaks(_: TokenStream) -> TokenStream { panic!("broken by its author") }
"#;

const USES_MACROS: &str = r#"
#[derive(trial_macros::Named)]
pub struct Apple { pub weight: u32 }
pub fn told(apple: &Apple) -> String { format!("{}: {}", apple.name(), apple.weight) }
"#;

/// Each unwinds out of the depths of the compiler, or of a macro.
const WRONG: &str = r#"
trial_macros::breaks!();
fn lent<'a>() -> &'a str { let text = String::new(); &text }
fn moved(text: String) -> (String, String) { (text, text) }
fn main() { let count: u32 = "one"; unknown(count); let _ = Vec::<u8>::new().len().missing(); }
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let sysroot = sysroot()?;
    let libraries = LIBRARIES.iter().map(|name| library(&sysroot, name)).collect::<Result<Vec<_>>>()?;
    let libraries: Vec<&Path> = libraries.iter().map(PathBuf::as_path).collect();
    table.told("packed", &ground.copy_files(&libraries)?);
    for packed in [false, true] {
        holds_that_copies_are_used(ground, &sysroot, packed, &libraries)?;
    }
    table.told("LD_DEBUG=libs", "the copies of both libraries are the ones that start, on either side");
    let rustc = |packed: bool| -> Command {
        let mut command = ground.command(sysroot.join("bin/rustc"));
        command.env("LD_LIBRARY_PATH", ground.side(packed)).arg("--sysroot").arg(&sysroot).arg("--edition=2024");
        command
    };
    table.compare("rustc -vV", |packed| stdout(rustc(packed).arg("-vV")));
    let program = ground.write("program.rs", PROGRAM)?;
    let outputs: [(&str, &[&str]); 5] = [
        ("-O --emit=obj", &["-O", "--emit=obj"]),
        ("-g --emit=obj", &["-g", "--emit=obj"]),
        ("-O -g -C target-cpu=x86-64-v3 --emit=obj", &["-O", "-g", "-C", "target-cpu=x86-64-v3", "--emit=obj"]),
        ("-O --emit=llvm-ir", &["-O", "--emit=llvm-ir"]),
        ("--emit=mir", &["--emit=mir"]),
    ];
    for (number, (name, options)) in outputs.into_iter().enumerate() {
        table.compare(&format!("rustc {name}, byte by byte"), |packed| {
            let output = ground.side(packed).join(format!("output-{number}"));
            stdout(rustc(packed).args(options).arg(&program).arg("-o").arg(&output))?;
            Ok(format!("{:?}", fs::read(output)?))
        });
    }
    table.compare("a program that rustc made, with LTO", |packed| {
        let output = ground.side(packed).join("program");
        stdout(rustc(packed).args(["-O", "-C", "lto=fat"]).arg(&program).arg("-o").arg(&output))?;
        let ended = said(&mut ground.command(&output))?;
        ensure!(ended.starts_with("exit status: 7\n"), "{ended}");
        // Threads have numbers in what they say when they panic.
        Ok(ended.lines().filter(|line| !line.starts_with("thread ")).collect::<Vec<_>>().join("\n"))
    });
    let (macros, uses) = (ground.write("trial_macros.rs", MACROS)?, ground.write("uses.rs", USES_MACROS)?);
    let wrong = ground.write("wrong.rs", WRONG)?;
    let macros_of = |packed: bool| ground.side(packed).join("libtrial_macros.so");
    let told_where = |packed: bool| format!("--extern=trial_macros={}", macros_of(packed).display());
    table.compare("a procedural macro, made and used, byte by byte", |packed| {
        let mut making = rustc(packed);
        making.args(["--crate-type=proc-macro", "--extern=proc_macro", "-o"]).arg(macros_of(packed)).arg(&macros);
        stdout(&mut making)?;
        let output = ground.side(packed).join("uses.o");
        let mut using = rustc(packed);
        using.args(["--crate-type=lib", "--emit=obj", "-o"]).arg(&output).arg(told_where(packed)).arg(&uses);
        stdout(&mut using)?;
        Ok(format!("{:?}", fs::read(output)?))
    });
    table.compare("rustc on what is wrong, and a macro that panics", |packed| {
        let told = said(rustc(packed).arg(told_where(packed)).args(["--emit=obj", "-o", "never.o"]).arg(&wrong))?;
        for expected in ["broken by its author", "error[E0308]", "error[E0425]"] {
            ensure!(told.contains(expected), "no `{expected}`: {told}");
        }
        Ok(told)
    });
    Ok(())
}

/// Where the toolchain lies that builds us.
fn sysroot() -> Result<PathBuf> {
    // In the environment as it is: rustup looks there for which toolchain is meant.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(PathBuf::from(stdout(Command::new(rustc).args(["--print", "sysroot"]))?.trim_end()))
}

fn library(sysroot: &Path, begin: &str) -> Result<PathBuf> {
    let mut paths = fs::read_dir(sysroot.join("lib"))?.filter_map(|entry| Some(entry.ok()?.path()));
    let found = paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin)));
    found.with_context(|| format!("no {begin}* in {}; the trial knows the toolchains of rustup", sysroot.display()))
}

/// Holds that the loader starts each library from the side's copy, and from nowhere else.
fn holds_that_copies_are_used(ground: &Ground, sysroot: &Path, packed: bool, libraries: &[&Path]) -> Result<()> {
    let side = ground.side(packed);
    // By env(1), or the process that watches the time would be traced, too.
    let mut traced = ground.command("env");
    traced.arg("LD_DEBUG=libs").arg(format!("LD_LIBRARY_PATH={}", side.display())).arg(sysroot.join("bin/rustc"));
    let told = said(traced.arg("-vV"))?;
    let started: Vec<&str> = told.lines().filter_map(|line| line.split("calling init: ").nth(1)).collect();
    for library in libraries {
        let name = library.file_name().context("a library without a name")?;
        let begun: Vec<&&str> = started.iter().filter(|path| Path::new(path).file_name() == Some(name)).collect();
        let copy = side.join(name);
        ensure!(begun == [&&*copy.to_string_lossy()], "{} is not what starts: {begun:?}", copy.display());
    }
    Ok(())
}
