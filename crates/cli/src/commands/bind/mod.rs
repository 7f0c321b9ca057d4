//! `coldstart bind`: rewrite a program so that the loader finds every library without failed probes, and prove it.

mod words;

use coldstart_app::bind::{Options, SCHEMA, bind, warnings};
use coldstart_app::observer::Silent;
use coldstart_bind::{FarmText, Mode};
use coldstart_launch::Interrupt;

use super::observer::Console;
use super::rewriting::{finish, place};
use crate::args::bind::{BindArgs, FarmTextChoice, ModeChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json, note};

pub(super) fn run(args: &BindArgs) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let report = bind(&options(args), &interrupt, &Silent)?;
    if args.json {
        json::print(SCHEMA, &report)?;
    } else {
        let texts = report.done.iter().map(|(task, worked)| words::one(task, worked, &report.place));
        output::print(&texts.collect::<String>())?;
        for (task, worked) in &report.done {
            for warning in warnings(task, worked) {
                note(&warning);
            }
        }
    }
    Ok(finish("bind", report.done, !args.json, Console::default(), &interrupt, report.not_begun))
}

fn options(args: &BindArgs) -> Options {
    let levels = args.levels.as_ref().map(|list| match list.as_str() {
        "none" => Vec::new(),
        list => list.split([',', ':']).filter(|level| !level.is_empty()).map(str::to_owned).collect(),
    });
    let edit = coldstart_bind::Options {
        mode: match args.mode {
            ModeChoice::Soname => Mode::Soname,
            ModeChoice::Absolute => Mode::Absolute,
            ModeChoice::Origin => Mode::Origin,
            ModeChoice::Audit => Mode::Audit,
        },
        output: None,
        farm: args.farm.clone(),
        farm_text: match args.farm_text {
            FarmTextChoice::Auto => FarmText::Auto,
            FarmTextChoice::Origin => FarmText::Origin,
            FarmTextChoice::Absolute => FarmText::Absolute,
        },
        levels,
        keep_path: args.keep_path.clone(),
        root: args.root.clone(),
        audit_library: args.audit_library.clone(),
        check_files: args.check_files,
        allow_secure: args.allow_setuid,
        rebind: args.rebind,
    };
    Options {
        programs: args.programs.clone(),
        place: place(&args.place),
        dry_run: args.dry_run,
        keep_original: args.keep_original.clone(),
        edit,
        allow_signed: args.allow_signed,
        anyway: args.anyway,
    }
}
