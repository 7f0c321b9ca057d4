//! `coldstart image show`.

use coldstart_app::image::{ShowOutcome, show};
use coldstart_profile::PAGE_SIZE;

use crate::args::image::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::charset::either;
use crate::output::path::fitted;
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let outcome = show(&args.image)?;
    if args.json {
        json::print("coldstart.image/1", &outcome)?;
    } else {
        output::print(&describe(&outcome))?;
        if !outcome.hot_files.is_empty() {
            output::print(&files_table(&outcome, args.limit))?;
        }
    }
    Ok(Exit::Done)
}

fn describe(outcome: &ShowOutcome) -> String {
    let mut text = format!(
        "image       {}, {}, {} of them regular\nuuid        {}\nmetadata    {} in front\n",
        size::bytes(outcome.bytes),
        plain(&counted(outcome.files, "file")),
        size::grouped(outcome.regular_files),
        outcome.uuid,
        size::bytes(outcome.metadata_bytes),
    );
    text.push_str(&format!(
        "hot range   {}{} from offset {}: {} of {} in {}\n",
        size::bytes(outcome.hot_bytes),
        if outcome.compressed { " (compressed)" } else { "" },
        outcome.hot_offset,
        plain(&counted(outcome.hot_pages, "page")),
        plain(&counted(outcome.hot_files.len() as u64, "file")),
        plain(&counted(outcome.runs, "run")),
    ));
    for program in &outcome.programs {
        text.push_str(&format!(
            "program     {} ({}; besides the image {} and {})\n",
            program.command,
            plain(&counted(program.pages, "page")),
            size::bytes(program.outside_bytes),
            plain(&counted(program.outside_names, "name")),
        ));
    }
    text.push('\n');
    text
}

fn files_table(outcome: &ShowOutcome, limit: usize) -> String {
    let mut table = Table::new(&[
        ("pages", Align::Right),
        ("size", Align::Right),
        ("runs", Align::Right),
        ("offset", Align::Right),
        ("hot file, in start order", Align::Left),
    ]);
    let limit = if limit == 0 { usize::MAX } else { limit };
    for file in outcome.hot_files.iter().take(limit) {
        table.row(vec![
            size::grouped(file.pages),
            size::bytes(file.pages.saturating_mul(PAGE_SIZE)),
            size::grouped(file.runs),
            file.first_offset.to_string(),
            fitted(&file.name, MAX_WIDTH.saturating_sub(46)),
        ]);
    }
    let mut text = table.render();
    let more = outcome.hot_files.len().saturating_sub(limit);
    if more > 0 {
        text.push_str(&format!("{} and {more} more files (--limit 0 lists all)\n", either("…", "...")));
    }
    text
}
