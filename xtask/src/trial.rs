//! `trial`: real programs that are packed or bound, beside the originals.
//!
//! The tests prove on small files that packing changes nothing; here the large ones speak for themselves: an office
//! suite, a browser, a virtual machine, a compiler, an interpreter, debuggers. It takes minutes and gigabytes of Debian,
//! so no test and no server runs it.
//!
//! Not obvious: a trial that cannot fail shows nothing, and one that fails by itself shows less.
//! `--copies` runs all of them with unpacked copies in place of packed ones, and all must then be the same.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;

use crate::cargo::cargo;
use crate::tools::{Tool, install_missing, run};

mod bound;
mod chromium;
mod debuggers;
mod ground;
mod java;
mod libreoffice;
mod llvm;
mod old_glibc;
mod process;
mod python;
mod rustc;
mod table;
mod usr_lib;

use ground::Ground;
use table::Table;

/// What may be typed after `trial`.
#[derive(clap::Args)]
pub(crate) struct TrialArguments {
    /// The trials to make [default: all]
    #[arg(value_enum, value_name = "NAME")]
    names: Vec<Name>,
    /// Take unpacked copies for packed ones, to try the trials themselves
    #[arg(long)]
    copies: bool,
    /// Leave the copies and outputs below target/trial
    #[arg(long)]
    keep: bool,
}

/// A trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Documents converted by a LibreOffice that is packed
    Libreoffice,
    /// Pages shown by a Chromium that is packed
    Chromium,
    /// Programs compiled and run by a Java 17 that is packed
    Java,
    /// Sources compiled by a clang whose libraries are packed
    Llvm,
    /// Programs and macros compiled by a rustc whose libraries are packed
    Rustc,
    /// Python's own tests, with its library packed
    Python,
    /// gdb, perf and core dumps of a program with a packed library
    Debuggers,
    /// Everything in /usr/lib packed and proven, and every fifth file loaded
    UsrLib,
    /// Programs of Debian 11, whose loader has no RELR, with libraries that relocate themselves
    OldGlibc,
    /// Programs of /usr, bound to another directory
    Bound,
    /// LibreOffice, browsers, compilers and a JVM, bound in a copy of their directories, and moved
    BoundTrees,
    /// Programs with a directory for each package, as stores have it, bound
    BoundStore,
}

impl Name {
    fn tools(self) -> &'static [Tool] {
        match self {
            Self::Libreoffice => libreoffice::TOOLS,
            Self::Chromium => chromium::TOOLS,
            Self::Java => java::TOOLS,
            Self::Llvm => llvm::TOOLS,
            Self::Rustc => rustc::TOOLS,
            Self::Python => python::TOOLS,
            Self::Debuggers => debuggers::TOOLS,
            Self::UsrLib => usr_lib::TOOLS,
            Self::OldGlibc => &[],
            Self::Bound | Self::BoundTrees | Self::BoundStore => bound::TOOLS,
        }
    }

    fn make(self, ground: &Ground, table: &mut Table) -> Result<()> {
        match self {
            Self::Libreoffice => libreoffice::make(ground, table),
            Self::Chromium => chromium::make(ground, table),
            Self::Java => java::make(ground, table),
            Self::Llvm => llvm::make(ground, table),
            Self::Rustc => rustc::make(ground, table),
            Self::Python => python::make(ground, table),
            Self::Debuggers => debuggers::make(ground, table),
            Self::UsrLib => usr_lib::make(ground, table),
            Self::OldGlibc => old_glibc::make(ground, table),
            Self::Bound => bound::make_programs(ground, table),
            Self::BoundTrees => bound::make_trees(ground, table),
            Self::BoundStore => bound::make_store(ground, table),
        }
    }
}

/// Makes the trials and prints the table.
///
/// # Errors
/// When something differs or cannot be carried out; all other trials are made before.
pub(crate) fn trial(arguments: &TrialArguments) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the trials need root: they install packages and look into processes\nhint: sudo -E cargo xtask trial"
    );
    let all: Vec<Name> = Name::value_variants().to_vec();
    let names = if arguments.names.is_empty() { all } else { arguments.names.clone() };
    for name in &names {
        install_missing(name.tools())?;
    }
    let target = crate::cargo::target_directory()?;
    let home = target.join("trial");
    let coldstart = if arguments.copies {
        None
    } else {
        run(cargo().args(["build", "--release", "--package=coldstart"]))?;
        Some(target.join("release/coldstart"))
    };
    let mut table = Table::default();
    for name in names {
        let shown = name.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        eprintln!("trial: {shown}");
        table.begin(&shown);
        let made = Ground::new(&home, &shown, coldstart.as_deref()).and_then(|ground| {
            name.make(&ground, &mut table)?;
            if arguments.keep { Ok(()) } else { ground.clear() }
        });
        if let Err(error) = made {
            table.failed("to be carried out", &format!("{error:#}"));
        }
    }
    print!("{table}");
    match table.bad() {
        0 => Ok(()),
        bad => bail!("{bad} of {} differ or failed", table.len()),
    }
}
