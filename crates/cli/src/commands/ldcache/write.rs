//! `coldstart ldcache write`: the cache of directories, of programs, or of a store item.

use coldstart_app::ldcache::{Reason, SCHEMA, WriteOptions, Written, write};

use crate::args::ldcache::WriteArgs;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::counted;
use crate::output::{self, json};

/// Maximum number of notes of one kind.
const MOST_TOLD: usize = 10;

pub(super) fn run(args: &WriteArgs) -> Result<Exit, CliError> {
    let written = write(&options(args), &Terminal)?;
    if args.json {
        json::print(SCHEMA, &written)?;
    } else {
        tell(&written)?;
    }
    Ok(if written.missing.is_empty() { Exit::Done } else { Exit::No })
}

fn options(args: &WriteArgs) -> WriteOptions {
    WriteOptions {
        output: args.output.clone().unwrap_or_default(),
        force: args.force.force,
        directories: args.directories.clone(),
        recursive: args.recursive,
        configuration: args.ld_so_conf.clone(),
        programs: args.closure.clone(),
        store_item: args.guix.clone(),
        sysroot: args.sysroot.clone(),
        absolute: args.absolute,
        hwcaps: args.hwcaps.clone(),
        arch: args.arch.clone(),
        release: args.glibc,
        generator: args.generator.clone(),
        all_passed_over: args.json,
    }
}

fn tell(written: &Written) -> Result<(), CliError> {
    let from = match written.programs {
        Some(programs) => counted(programs as u64, "object"),
        None => counted(written.directories.len() as u64, "directory"),
    };
    let entries = counted(written.entries as u64, "entry");
    let levels =
        if written.hwcaps.is_empty() { String::new() } else { format!(", levels {}", written.hwcaps.join(", ")) };
    let text = format!("{}: {entries} of {from} for {}{levels}\n", written.file, written.machine);
    output::print(&text.replace('\u{a0}', " "))?;
    told(written.unreadable.iter().map(|at| format!("cannot list a directory: {}", line(at))));
    told(written.passed_over.iter().map(|at| format!("passed over: {}", line(at))));
    told(
        written
            .mixed
            .iter()
            .map(|path| format!("`{path}` has the soname of a library of another architecture in the same directory")),
    );
    told(written.conflicts.iter().map(|two| {
        format!("`{}` is entered as `{}`; another object means `{}` by this name", two.name, two.entered, two.left_out)
    }));
    told(written.dangling.iter().map(|path| format!("`{path}` is entered but does not exist")));
    if !written.dangling.is_empty() {
        output::hint("an entry is named after the soname; create the missing links with `ldconfig -n DIR`");
    }
    let missing = written.missing.iter();
    told(missing.map(|missing| format!("`{}`, needed by `{}`, was not found", missing.name, missing.needed_by)));
    Ok(())
}

fn line(left_out: &Reason) -> String {
    format!("`{}`: {}", left_out.path, left_out.reason)
}

/// Prints the first few of many notes.
fn told(lines: impl ExactSizeIterator<Item = String>) {
    let count = lines.len();
    lines.take(MOST_TOLD).for_each(|line| output::note(&line));
    if count > MOST_TOLD {
        output::note(&format!("and {} more of these; --json has them all", count - MOST_TOLD));
    }
}
