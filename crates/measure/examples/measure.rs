//! Measures commands: `measure STATES RUNS FILES COMMAND [COMMAND...]`, each command in one word.
//!
//! STATES and FILES are lists with commas; FILES, which every command is taken to read, may be `-` for none. Prints the
//! result as JSON, and warnings as sentences on stderr.

use std::process::ExitCode;

use coldstart_launch::{CommandLine, Interrupt, LaunchOptions};
use coldstart_measure::{Candidate, MeasureError, MeasurePlan, Silent, StartState, measure};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let known = error.downcast_ref::<MeasureError>();
            if let Some(hint) = known.and_then(MeasureError::hint) {
                eprintln!("hint: {hint}");
            }
            let code = known.and_then(MeasureError::interrupted_by).map_or(2, |signal| 128 + signal);
            ExitCode::from(u8::try_from(code).unwrap_or(2))
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or("usage: measure STATES RUNS FILES COMMAND [COMMAND...]");
    let states = next()?.split(',').map(state).collect::<Result<_, _>>()?;
    let runs = next()?.parse()?;
    let files = next()?;
    let files: Vec<_> = files.split(',').filter(|file| *file != "-").map(Into::into).collect();
    let launch = LaunchOptions { interrupt: Some(Interrupt::listen()?), ..LaunchOptions::default() };
    let commands = words
        .map(|word| {
            let command_line: CommandLine = word.parse()?;
            Ok(Candidate { label: word, command_line, launch: launch.clone(), files: files.clone() })
        })
        .collect::<Result<_, coldstart_launch::CommandLineError>>()?;
    let measurement = measure(&MeasurePlan { runs, ..MeasurePlan::new(commands, states) }, &mut Silent)?;
    for warning in &measurement.warnings {
        eprintln!("warning: {warning}");
    }
    serde_json::to_writer_pretty(std::io::stdout().lock(), &measurement)?;
    println!();
    Ok(())
}

fn state(word: &str) -> Result<StartState, String> {
    [StartState::Cold, StartState::Selective, StartState::Hot]
        .into_iter()
        .find(|state| state.name() == word)
        .ok_or_else(|| format!("`{word}` is not a state"))
}
