//! A reproducible slow disk for development and benchmarks.
//!
//! `up` puts a FUSE file with a disk's timing under a loop device and mounts the ext4 image in it; `down` undoes
//! all of it. docs/testbed.md describes the disk models and their limits.
//!
//! Not obvious: nothing here stays in the foreground. The server is this same program, started by `up`
//! with the hidden command `serve`, in its own session.

use std::process::ExitCode;

use clap::Parser;

mod args;
mod bed;
mod commands;
mod model;
mod server;
mod sparse;
mod system;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    let outcome = match arguments.command {
        args::Command::Up(up) => commands::up::run(&up),
        args::Command::Down(down) => commands::down::run(&down),
        args::Command::Status(status) => commands::status::run(&status),
        args::Command::Verify(verify) => commands::verify::run(&verify),
        args::Command::Serve(serve) => commands::serve::run(&serve),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
