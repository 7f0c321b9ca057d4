//! `coldstart image verify`.

use coldstart_app::image::{AgainstOutcome, KernelOutcome, VerifyOptions, VerifyOutcome, verify};

use crate::args::image::VerifyArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

/// Differences that are listed.
const MOST_LISTED: usize = 50;

pub(super) fn run(args: &VerifyArgs) -> Result<Exit, CliError> {
    let outcome = verify(&VerifyOptions { image: args.image.clone(), against: args.against.clone() })?;
    if args.json {
        json::print("coldstart.image-verify/1", &outcome)?;
    } else {
        output::print(&in_words(args, &outcome))?;
    }
    Ok(if outcome.good { Exit::Done } else { Exit::No })
}

fn in_words(args: &VerifyArgs, outcome: &VerifyOutcome) -> String {
    let name = printable(&args.image);
    let mut text = match (outcome.flaws.is_empty(), outcome.is_start_image) {
        (true, true) => format!(
            "`{name}` is as it was written: {}, {} of contents\n",
            plain(&counted(outcome.entries, "entry")),
            size::bytes(outcome.bytes)
        ),
        (true, false) => format!(
            "`{name}` is well-formed: {}, {} of contents. It has no digests, so changes of contents cannot be seen\n",
            plain(&counted(outcome.entries, "entry")),
            size::bytes(outcome.bytes)
        ),
        (false, _) => format!("`{name}` is damaged:\n"),
    };
    for flaw in outcome.flaws.iter().take(MOST_LISTED) {
        text.push_str(&format!("  {flaw}\n"));
    }
    text.push_str(&more(outcome.flaws.len(), 0));
    if let (Some(against), Some(root)) = (&outcome.against, &args.against) {
        text.push_str(&comparison(&printable(root), against));
    }
    text
}

fn comparison(root: &str, against: &AgainstOutcome) -> String {
    let count = plain(&counted(against.entries, "entry"));
    let mut text = match against.differences.is_empty() {
        true => format!("the same as `{root}`: {count}, {} of contents\n", size::bytes(against.bytes)),
        false => format!("different from `{root}`, of {count}:\n"),
    };
    for difference in against.differences.iter().take(MOST_LISTED) {
        text.push_str(&format!("  {}\n", difference.words));
    }
    text.push_str(&more(against.differences.len(), against.more));
    match &against.kernel {
        KernelOutcome::Same => text.push_str("the kernel sees the same\n"),
        KernelOutcome::NotAsked { reason } => text.push_str(&format!("the kernel was not asked: {reason}\n")),
        KernelOutcome::Differs { differences } => {
            text.push_str("the kernel sees something else:\n");
            for difference in differences.iter().take(MOST_LISTED) {
                text.push_str(&format!("  {difference}\n"));
            }
        }
    }
    text
}

fn more(listed: usize, further: u64) -> String {
    match (listed.saturating_sub(MOST_LISTED) as u64).saturating_add(further) {
        0 => String::new(),
        more => format!("  and {more} more\n"),
    }
}
