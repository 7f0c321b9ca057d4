//! The project's own chores, run as `cargo xtask CHORE`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod architecture;
mod bench;
mod cargo;
mod checks;
mod clean_system;
mod compare;
mod corpus;
mod demo;
mod deny;
mod fuzz;
mod generate;
mod kept_output;
mod package;
mod release;
mod suite;
mod sweep;
mod tools;
mod trial;
mod vm;
mod web;

#[derive(Parser)]
#[command(about = "The project's own chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Make a real program of this machine start faster, on its own disk and on the model of a network disk
    Demo(demo::DemoArguments),
    /// Install what the tests need and run them all
    Test(suite::TestArguments),
    /// What the server runs: style, lints, documentation, tests
    Ci,
    /// Build what is checked in anew: the machine code in stubs/ with the cross compilers that are there, the viewer in web/
    Gen {
        /// Change nothing; fail when the files are not what their sources give
        #[arg(long)]
        check: bool,
    },
    /// Check the dependencies: licences, versions that are there twice, sources
    Deny {
        /// Also known weaknesses; their list is fetched
        #[arg(long)]
        advisories: bool,
    },
    /// Give the same commands to two builds of coldstart, and show what differs in answers and files
    Compare(compare::CompareArguments),
    /// Write the man pages and the completions of all shells below a directory
    Manual { directory: PathBuf },
    /// Build the programs as users get them: optimised, and the small launcher static
    Release,
    /// Build packages to install: a .deb, and an archive with static programs
    Package(package::PackageArguments),
    /// Build a Debian image that the slow beds serve (cached; needs root)
    Corpus {
        /// Which programs it holds
        #[arg(value_enum, default_value = "office")]
        collection: corpus::Collection,
    },
    /// Measure starts on slow disks, and what the tools themselves take, beside other tools, and record the results
    /// (needs root)
    Bench(bench::BenchArguments),
    /// Run real programs with packed libraries beside their originals (needs root; minutes, and some GB)
    Trial(trial::TrialArguments),
    /// Pack, bind, inspect and trace every program of a system with two desktops, and compare their answers (needs root; half an
    /// hour, and 8 GB)
    Sweep(sweep::SweepArguments),
    /// Fuzz the parsers, and keep what was found small (needs cargo-fuzz and a nightly compiler)
    Fuzz(fuzz::FuzzArguments),
    /// Run tests on other kernels and processors, in virtual machines (needs root; half an hour, and 10 GB)
    Vm(vm::VmArguments),
}

fn main() -> ExitCode {
    let Err(error) = carry_out(Arguments::parse().chore) else { return ExitCode::SUCCESS };
    // Not by returning it from `main`: that adds a backtrace of ours where RUST_BACKTRACE is set.
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn carry_out(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Demo(arguments) => demo::demo(&arguments)?,
        Chore::Test(arguments) => checks::test(&arguments)?,
        Chore::Ci => checks::ci()?,
        Chore::Gen { check } => {
            generate::generate(check)?;
            web::generate(check)?;
        }
        Chore::Deny { advisories } => deny::deny(advisories)?,
        Chore::Manual { directory } => checks::manual(&directory)?,
        Chore::Release => release::release()?,
        Chore::Package(arguments) => package::package(&arguments)?,
        Chore::Compare(arguments) => compare::compare(&arguments)?,
        Chore::Corpus { collection } => {
            let built = corpus::corpus(collection)?;
            println!("{}", built.image.display());
        }
        Chore::Bench(arguments) => bench::bench(&arguments)?,
        Chore::Trial(arguments) => trial::trial(&arguments)?,
        Chore::Sweep(arguments) => sweep::sweep(&arguments)?,
        Chore::Fuzz(arguments) => fuzz::fuzz(&arguments)?,
        Chore::Vm(arguments) => vm::vm(&arguments)?,
    }
    Ok(())
}
