//! `coldstart`: makes big Linux programs start fast, and proves it.
//!
//! The story is short: read the arguments, do the verb, report, leave with a code that scripts can act on.
//! Each verb has one file for what may be typed (`args/`) and one for its work (`commands/`), under the same name.

mod args;
mod commands;
mod error;
mod exit;
mod output;

fn main() -> std::process::ExitCode {
    let done = match commands::launcher_form(std::env::args_os().skip(1)) {
        Some(args) => commands::run_launcher(&args),
        None => {
            let cli = args::hurried::parse();
            cli.color.apply();
            commands::run(&cli.verb)
        }
    };
    let exit = match done {
        Ok(exit) => exit,
        Err(error) => error.report(),
    };
    exit.into()
}
