//! `coldstart image make`.

use coldstart_app::image::{Compression, MakeOptions, MakeOutcome, RecordedStart, make};

use crate::args::image::{Compress, MakeArgs};
use crate::args::launching::ProgramArgs;
use crate::commands::launching::{command_line, launching};
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &MakeArgs) -> Result<Exit, CliError> {
    let start = (!args.words.is_empty()).then(|| RecordedStart {
        command: command_line(&ProgramArgs { words: args.words.clone() }),
        launching: launching(&args.launching),
        working_directory: None,
        make_cold: (!args.as_is).into(),
        index: None,
    });
    let options = MakeOptions {
        trees: args.tree.clone(),
        exclude: args.exclude.clone(),
        root: args.root.clone(),
        oci: args.oci.clone(),
        oci_output: args.oci_output.clone(),
        trace_root: args.trace_root.clone(),
        traces: args.trace.clone(),
        start,
        output: args.output.clone(),
        compression: match args.compress {
            Compress::None => Compression::None,
            Compress::Zstd => Compression::Zstd,
        },
        force: args.force.force,
    };
    let outcome = make(&options, &Console::default())?;
    if args.json {
        json::print("coldstart.image-make/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(Exit::Done)
}

fn in_words(outcome: &MakeOutcome) -> String {
    let mut text = format!(
        "wrote {}: {} in {}\n",
        printable(&outcome.path),
        size::bytes(outcome.bytes),
        plain(&counted(outcome.files, "file"))
    );
    let front = size::bytes(outcome.metadata_bytes.saturating_add(outcome.hot_bytes));
    if outcome.programs.is_empty() {
        text.push_str("no start was given: pages lie by file\n");
    } else {
        text.push_str(&format!(
            "{} in start order; a start reads the first {front}\n",
            plain(&counted(outcome.hot_pages, "page"))
        ));
    }
    if let (Some(tag), Some(manifest)) = (&outcome.tag, &outcome.manifest) {
        text.push_str(&format!("an OCI layout; its image `{tag}` is {manifest}\n"));
    }
    for program in &outcome.programs {
        text.push_str(&format!("made for {program}\n"));
    }
    text
}
