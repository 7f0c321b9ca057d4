//! `coldstart ldcache check`: entries that a loader would not find, and changes since.

use std::path::Path;

use coldstart_app::ldcache::{self, CheckOptions, Checked, Finding, SCHEMA, is_elf};

use crate::args::ldcache::CheckArgs;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json};

/// Maximum number of printed lines; `--json` has all.
const MOST_TOLD: usize = 100;

pub(super) fn run(args: &CheckArgs) -> Result<Exit, CliError> {
    let CheckArgs { file, sysroot, hwcaps, only_cache, json } = args;
    let options =
        CheckOptions { file: file.clone(), sysroot: sysroot.clone(), hwcaps: hwcaps.clone(), only_cache: *only_cache };
    let (checked, noun) = if is_elf(file) {
        (ldcache::note::check(&options, &Terminal)?, ["name", "names"])
    } else {
        (ldcache::check(&options, &Terminal)?, ["entry", "entries"])
    };
    if *json {
        json::print(SCHEMA, &checked)?;
    } else {
        output::print(&in_words(file, noun, &checked))?;
    }
    Ok(if checked.is_well { Exit::Done } else { Exit::No })
}

fn in_words(file: &Path, [one, several]: [&str; 2], checked: &Checked) -> String {
    let findings = &checked.findings;
    let line = |finding: &Finding| {
        let what = match (&finding.name, &finding.path) {
            (Some(name), Some(path)) => format!("{name} => {path}: "),
            (Some(name), None) => format!("{name}: "),
            _ => String::new(),
        };
        format!("{}: {what}{}\n", if finding.is_fault { finding.kind } else { "note" }, finding.message)
    };
    // Faults first.
    let (faults, notes): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(|finding| finding.is_fault);
    let mut text: String = faults.iter().chain(&notes).take(MOST_TOLD).map(|finding| line(finding)).collect();
    if findings.len() > MOST_TOLD {
        text.push_str(&format!("... and {} more; --json has them all\n", findings.len() - MOST_TOLD));
    }
    let verdict = match faults.len() {
        0 => "no faults".to_owned(),
        count => plain(&counted(count as u64, "fault")),
    };
    let noun = if checked.entries == 1 { one } else { several };
    text + &format!("{}: {} {noun}, {verdict}\n", printable(file), checked.entries)
}
