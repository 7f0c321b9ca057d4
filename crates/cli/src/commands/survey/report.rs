//! `coldstart survey report`: what a set of packages would gain.

use coldstart_app::survey::{FixGain, Gain, PackageGain, REPORT_SCHEMA, Report};
use coldstart_app::{kinds, writing};
use coldstart_output::{Inputs, OutputTarget};
use coldstart_profile::printable;
use coldstart_view::page::ReportKind;

use super::Surveyor;
use crate::args::survey::ReportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};
use crate::output::text::{cut, cut_end, fact, fit, heading, omitted, table};
use crate::output::{self, json, page};

/// Packages and fixes that are listed without `--all`.
const SOME: usize = 20;

pub(super) fn run(args: &ReportArgs, surveyor: &Surveyor) -> Result<Exit, CliError> {
    let inputs = Inputs::default().with(format!("the survey `{}`", printable(&args.survey)), &args.survey);
    let place = |path| OutputTarget::new(path, kinds::PAGE, args.force.force).map(|at| at.not_over(inputs));
    let place = args.html.as_deref().map(place).transpose()?;
    writing::try_out(&place)?;
    let report = (surveyor.report)(&args.survey)?;
    if let Some(place) = &place {
        page::write(place, ReportKind::Survey, &title(&report), REPORT_SCHEMA, &report)?;
    }
    if args.json {
        json::print(REPORT_SCHEMA, &report)?;
    } else {
        output::print(&text(&report, args.all))?;
    }
    Ok(if report.complete_shards < report.shards { Exit::No } else { Exit::Done })
}

fn title(report: &Report) -> String {
    format!("A survey of {}", report.sources.join(" "))
}

fn text(report: &Report, all: bool) -> String {
    let totals = &report.totals;
    let summary = format!(
        "{} objects, {} of them programs, of {} packages; {}",
        grouped(totals.objects),
        grouped(totals.programs),
        grouped(report.all_packages),
        bytes(totals.file_bytes)
    );
    let mut text = heading("Surveyed", &summary).trim_start_matches('\n').to_owned();
    text.push_str(&fact("sources", &report.sources.join(" ")));
    if report.complete_shards < report.shards {
        let shards =
            format!("{} of {}; repeat `coldstart survey` for the others", report.complete_shards, report.shards);
        text.push_str(&fact("shards", &shards));
    }
    let relocations = format!(
        "{} in tables of {}; {} objects have RELR; {} pages become private",
        grouped(totals.relocations),
        bytes(totals.relocation_bytes),
        grouped(totals.packed_objects),
        grouped(totals.private_pages)
    );
    text.push_str(&fact("relocations", &relocations));
    text.push_str(&fact("initialisers", &grouped(totals.initialisers)));
    if totals.failed_probes > 0 {
        text.push_str(&fact("failed probes", &format!("{} of all programs together", grouped(totals.failed_probes))));
    }
    let modules: Vec<String> =
        report.modules.iter().map(|(language, count)| format!("{} of {language}", grouped(*count))).collect();
    text.push_str(&fact("modules", &modules.join(", ")));
    if totals.problems > 0 {
        text.push_str(&fact(
            "problems",
            &format!("{} files could not be read, or not whole", grouped(totals.problems)),
        ));
    }
    text.push_str(&fixes(&report.fixes, all));
    text.push_str(&packages(report, all));
    text
}

/// Columns of savings.
const SAVINGS: [(&str, Align); 5] = [
    ("bytes", Align::Right),
    ("private pages", Align::Right),
    ("seeks", Align::Right),
    ("lookups", Align::Right),
    ("probes", Align::Right),
];

fn savings(gain: &Gain) -> Vec<String> {
    let or_dash = |count: u64, text: String| if count == 0 { "-".to_owned() } else { text };
    vec![
        or_dash(gain.bytes, bytes(gain.bytes)),
        or_dash(gain.private_pages, grouped(gain.private_pages)),
        or_dash(gain.seeks, grouped(gain.seeks)),
        or_dash(gain.lookups, grouped(gain.lookups)),
        or_dash(gain.probes, grouped(gain.probes)),
    ]
}

fn fixes(fixes: &[FixGain], all: bool) -> String {
    if fixes.is_empty() {
        return heading("No findings", "no known avoidable start-up cost");
    }
    let mut columns = vec![("objects", Align::Right), ("packages", Align::Right)];
    columns.extend(SAVINGS);
    columns.push(("fix", Align::Left));
    let mut rows = Table::new(&columns);
    let shown = if all { fixes.len() } else { fixes.len().min(SOME) };
    for fix in fixes.iter().take(shown) {
        let mut row = vec![grouped(fix.objects), grouped(fix.packages)];
        row.extend(savings(&fix.saves));
        row.push(String::new());
        rows.row(row);
    }
    fit(&mut rows, |row, room| fixes.get(row).map_or_else(String::new, |fix| cut_end(&fix_text(fix), room)));
    heading("What each fix would save", "sums over all objects, the most first")
        + &table(&rows)
        + &omitted(shown, fixes.len(), "them")
}

fn fix_text(fix: &FixGain) -> String {
    if fix.by == "verb" { format!("coldstart {}", fix.fix) } else { fix.fix.clone() }
}

fn packages(report: &Report, all: bool) -> String {
    let packages: &[PackageGain] = &report.packages;
    if packages.is_empty() {
        return String::new();
    }
    let mut columns = vec![("objects", Align::Right), ("modules", Align::Right)];
    columns.extend(SAVINGS);
    columns.push(("package", Align::Left));
    let mut rows = Table::new(&columns);
    let shown = if all { packages.len() } else { packages.len().min(SOME) };
    for package in packages.iter().take(shown) {
        let or_dash = |count: u64| if count == 0 { "-".to_owned() } else { grouped(count) };
        let mut row = vec![or_dash(package.objects), or_dash(package.modules)];
        row.extend(savings(&package.saves));
        row.push(String::new());
        rows.row(row);
    }
    fit(&mut rows, |row, room| {
        let name = packages.get(row).map(|package| package.package.as_deref().unwrap_or("(no package)"));
        cut(name.unwrap_or_default(), room)
    });
    heading("What each package would gain", "all fixes of all its objects, the most first")
        + &table(&rows)
        + &omitted(shown, packages.len(), "1000 of them at most")
}
