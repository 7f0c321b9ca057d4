//! `coldstart-survey`: `coldstart` with the work of the verb `survey`, which `coldstart` itself does not have.

use std::process::ExitCode;

use coldstart_cli::surveyor::{Surveyor, main as command_line};

fn main() -> ExitCode {
    command_line(Surveyor {
        make: |options, observer| Ok(coldstart_survey::survey(options, observer)?),
        report: |directory| Ok(coldstart_survey::report(directory)?),
    })
}
