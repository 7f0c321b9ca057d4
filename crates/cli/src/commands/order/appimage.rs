//! `coldstart order appimage`.

use coldstart_app::order::appimage::{AppImageOptions, AppImageOutcome, SquashfsForm, order_appimage};

use crate::args::order::appimage::{AppImageArgs, CompressionChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &AppImageArgs) -> Result<Exit, CliError> {
    let outcome = order_appimage(&AppImageOptions {
        file: args.file.clone(),
        output: args.output.clone(),
        traces: args.traces.clone(),
        trace_root: args.trace_root.clone(),
        compression: args.compression.map(|compression| match compression {
            CompressionChoice::Gzip => "gzip",
            CompressionChoice::Lzo => "lzo",
            CompressionChoice::Lz4 => "lz4",
            CompressionChoice::Xz => "xz",
            CompressionChoice::Zstd => "zstd",
        }),
        block_size: args.block_size,
        drop_signature: args.drop_signature,
        force: args.force.force,
    })?;
    if args.json {
        json::print("coldstart.order-appimage/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(Exit::Done)
}

fn in_words(outcome: &AppImageOutcome) -> String {
    let mut text = format!("wrote `{}`: {}\n", printable(&outcome.path), size::bytes(outcome.bytes));
    text.push_str(&fact(
        "used",
        &format!(
            "{} of {}, {} of {}",
            outcome.used,
            plain(&counted(outcome.files, "file")),
            size::bytes(outcome.used_bytes),
            size::bytes(outcome.file_bytes)
        ),
    ));
    let form = |form: &SquashfsForm| {
        format!(
            "{} in {} with blocks of {}; the starts decompress at least {}",
            size::bytes(form.bytes),
            form.compression,
            size::bytes(u64::from(form.block_size)),
            size::bytes(form.decompressed)
        )
    };
    text.push_str(&fact("before", &form(&outcome.before)));
    text.push_str(&fact("now", &form(&outcome.after)));
    text.push_str(&fact("proof", &format!("the same files; digest {}", outcome.digest)));
    for note in &outcome.notes {
        text.push_str(&fact("note", note));
    }
    text
}
