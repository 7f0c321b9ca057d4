//! Writes the man pages and the completions of all shells, from the definition that arguments are read by:
//! `cargo run --example manual -- DIRECTORY` makes `DIRECTORY/man1/coldstart*.1` and `DIRECTORY/completions/`.
#![allow(clippy::print_stderr)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use clap_complete::{Shell, generate_to};

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: manual DIRECTORY");
        return ExitCode::from(2);
    };
    match write(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write below `{}`: {error}", directory.display());
            ExitCode::from(2)
        }
    }
}

fn write(directory: &Path) -> io::Result<()> {
    let (man, completions) = (directory.join("man1"), directory.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    let mut definition = coldstart_cli::definition();
    for &shell in Shell::value_variants() {
        generate_to(shell, &mut definition, "coldstart", &completions)?;
    }
    // One page for each verb, `coldstart-prefetch-run.1`.
    clap_mangen::generate_to(definition, man)
}
