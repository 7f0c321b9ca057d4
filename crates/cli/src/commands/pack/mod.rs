//! `coldstart pack`: rewrite ELF files with compact relocations, and prove it.

mod show;
mod words;

use coldstart_app::pack::{Options, Report, SCHEMA, pack, warnings};
use coldstart_launch::Interrupt;
use coldstart_rewrite::Pass;

use super::observer::Console;
use super::rewriting::{finish, place};
use crate::args::pack::PackArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{counted, plain};
use crate::output::{self, json, note};

pub(super) fn run(args: &PackArgs) -> Result<Exit, CliError> {
    if args.list_passes {
        output::print(&words::passes())?;
        return Ok(Exit::Done);
    }
    let takes_world = [Pass::BindLocal, Pass::Stub].into_iter().any(|pass| args.passes.has(pass));
    if !args.closed_world.is_empty() && !takes_world {
        note("--closed-world is for the passes bind-local and stub, which are not among the --passes");
    }
    let interrupt = Interrupt::listen()?;
    let console = Console::default();
    let report = pack(&options(args), &interrupt, &console)?;
    if args.many.json {
        json::print(SCHEMA, &report)?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if report.is_one => output::print(&show::one(task, worked, &report.place))?,
            [] if console.has_errors() => {}
            _ => output::print(&show::many(&report, args.many.all))?,
        }
        tell(&report);
    }
    let says_why = report.is_one && !args.many.json;
    Ok(finish("pack", report.done, says_why, console, &interrupt, report.total.not_begun))
}

fn options(args: &PackArgs) -> Options {
    Options {
        targets: args.targets.clone(),
        one_file_system: args.many.one_file_system,
        place: place(&args.place),
        dry_run: args.dry_run,
        keep_original: args.keep_original.clone(),
        passes: args.passes.clone(),
        closed_world: args.closed_world.clone(),
        libc_floor: args.min_libc,
        sparse: args.sparse,
        drop_syment: args.drop_syment,
        undo: !args.no_undo,
        allow_set_id: args.allow_setuid,
        allow_signed: args.allow_signed,
    }
}

/// Prints the cautions.
fn tell(report: &Report) {
    for (caution, files) in report.cautions() {
        note(&words::caution(caution, files));
    }
    for (task, worked) in &report.done {
        for warning in warnings(task, worked) {
            note(&warning);
        }
    }
    if report.debug_files > 0 {
        note(&plain(&format!("skipped {} by name", counted(report.debug_files, "debug file"))));
    }
}
