//! `coldstart index make`.

use coldstart_app::index::{MadeLanguage, MakeOptions, MakeOutcome, make};
use coldstart_app::launching::Launching;
use coldstart_index::Language;

use crate::args::index::MakeArgs;
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &MakeArgs) -> Result<Exit, CliError> {
    let options = MakeOptions {
        output: args.output.clone(),
        command: command_line(&args.program),
        shim: args.shim,
        launching: Launching { waiting: waiting(&args.waiting), input: args.input.clone(), show_output: false },
    };
    let outcome = make(&options, &Terminal)?;
    if args.json {
        json::print("coldstart.index-make/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(if outcome.kept { Exit::Done } else { Exit::No })
}

fn in_words(outcome: &MakeOutcome) -> String {
    let path = printable(&outcome.path);
    let mut text = match outcome.kept {
        true => format!("made the index `{path}`\n"),
        false => "no index was kept: the program is not the same with it\n".to_owned(),
    };
    for difference in &outcome.differences {
        text.push_str(&fact("differs", difference));
    }
    for part in &outcome.languages {
        let label = if part.language == Language::Any { "shim" } else { part.language.name() };
        text.push_str(&fact(&label.to_lowercase(), &language(part)));
    }
    if outcome.kept {
        text.push_str(&fact("calls", &outcome.calls_in_words()));
        let is_any = outcome.languages.iter().any(|part| part.language == Language::Any);
        let same = if is_any { "the same files" } else { "the same modules from the same files" };
        text.push_str(&fact("proof", &format!("{same}, the same output and exit code")));
    }
    for unchecked in &outcome.unchecked {
        text.push_str(&fact("unknown", unchecked));
    }
    let [before, after] = outcome.calls;
    if outcome.kept && after >= before {
        text.push_str(&fact("no gain", "the program looks for no fewer files by name with it"));
    } else if outcome.kept {
        text.push_str(&fact(
            "next",
            &format!("`coldstart index run {path} -- PROGRAM`, or `coldstart index env {path}`"),
        ));
    }
    text
}

fn language(part: &MadeLanguage) -> String {
    if part.language == Language::Any {
        return format!(
            "`{}`: {} absent in {}",
            printable(&part.interpreter),
            plain(&counted(part.missing, "name")),
            plain(&counted(part.guards, "directory")),
        );
    }
    format!(
        "{} {}: {}, {} known to be absent, code of {} in {}; {} at a start",
        part.language.name(),
        part.version,
        plain(&counted(part.modules, "module")),
        part.missing,
        part.packed,
        size::bytes(part.pack_bytes),
        plain(&counted(part.guards, "check")),
    )
}
