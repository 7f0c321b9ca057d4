//! `coldstart-survey`: `coldstart` with the work of the verb `survey`, which `coldstart` itself does not have. It also reads archives for
//! itself, in a process for each ([`apart`]).

use std::ffi::OsString;
use std::process::ExitCode;

use coldstart_cli::surveyor::{Options, Surveyor, main as command_line};
use coldstart_survey::archive::apart;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((first, rest)) = arguments.split_first()
        && first == apart::ARGUMENT
    {
        return apart::serve(rest).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    command_line(Surveyor {
        make: |options, observer| {
            let options = Options { archive_reader: std::env::current_exe().ok(), ..options.clone() };
            Ok(coldstart_survey::survey(&options, observer)?)
        },
        report: |directory| Ok(coldstart_survey::report(directory)?),
    })
}
