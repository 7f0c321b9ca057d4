//! `coldstart order files`.

use coldstart_app::observer::Observer;
use coldstart_app::order::files::{FilesOptions, order_files};
use coldstart_archive::list::ListForm;

use crate::args::order::files::{FilesArgs, ToolChoice};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json};

pub(super) fn run(args: &FilesArgs) -> Result<Exit, CliError> {
    let outcome = order_files(&FilesOptions {
        traces: args.traces.clone(),
        root: args.root.clone(),
        trace_root: args.trace_root.clone(),
        form: match args.tool {
            ToolChoice::List => ListForm::Plain,
            ToolChoice::Squashfs => ListForm::Squashfs,
            ToolChoice::Dwarfs => ListForm::Dwarfs,
            ToolChoice::Erofs => ListForm::Erofs,
            ToolChoice::Nydus => ListForm::Nydus,
            ToolChoice::Estargz => ListForm::Estargz,
            ToolChoice::Soci => ListForm::Soci,
            ToolChoice::Asar => ListForm::Asar,
            ToolChoice::Jlink => ListForm::Jlink,
        },
        output: args.output.clone(),
        force: args.force.force,
    })?;
    for note in &outcome.notes {
        Terminal.note(note);
    }
    if args.json {
        json::print("coldstart.order-files/1", &outcome)?;
    } else if let Some(path) = &args.output {
        let files = plain(&counted(outcome.files.len() as u64, "file"));
        output::print(&format!("wrote `{}`: {files} in the order of their first use\n", printable(path)))?;
    } else {
        output::print_bytes(&outcome.list)?;
    }
    Ok(Exit::Done)
}
