//! `coldstart index run`: become a program that uses an index.
//!
//! On the critical path of every start: whatever is wrong with the index costs one line on stderr, and the program starts.

use coldstart_app::error::AppError;
use coldstart_app::index::prepare;
use coldstart_sys::become_program::become_program_with;

use crate::args::index::RunArgs;
use crate::commands::launching::not_started;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(args: &RunArgs) -> Exit {
    let variables = match prepare(&args.index) {
        Ok(prepared) => {
            if let Some(warning) = prepared.warning() {
                output::complain(&output::style::NOTE, "coldstart", &warning);
            }
            prepared.variables
        }
        Err(error) => {
            let reason = AppError::from(error).sentence();
            output::complain(&output::style::NOTE, "coldstart", &format!("started without the index: {reason}"));
            Vec::new()
        }
    };
    let Err(error) = become_program_with(&args.words, &variables);
    not_started(&args.words, &error)
}
