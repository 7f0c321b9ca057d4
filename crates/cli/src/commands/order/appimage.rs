//! `coldstart order appimage`.

use coldstart_app::order::appimage::{
    AppImageDiagnosis, AppImageOptions, AppImageOutcome, DiagnosisOptions, SquashfsForm, diagnose_appimage,
    order_appimage,
};

use crate::args::order::appimage::{AppImageArgs, CompressionChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &AppImageArgs) -> Result<Exit, CliError> {
    let Some(output) = &args.output else { return diagnose(args) };
    let outcome = order_appimage(&AppImageOptions {
        file: args.file.clone(),
        output: output.clone(),
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

fn diagnose(args: &AppImageArgs) -> Result<Exit, CliError> {
    let diagnosis = diagnose_appimage(&DiagnosisOptions {
        file: args.file.clone(),
        traces: args.traces.clone(),
        trace_root: args.trace_root.clone(),
    })?;
    if args.json {
        json::print("coldstart.order-appimage-diagnosis/1", &diagnosis)?;
    } else {
        output::print(&diagnosis_in_words(&diagnosis))?;
    }
    Ok(Exit::Done)
}

fn diagnosis_in_words(diagnosis: &AppImageDiagnosis) -> String {
    let signed = if diagnosis.is_signed { ", signed" } else { "" };
    let mut text = format!("`{}`: {}{signed}\n", printable(&diagnosis.path), form(&diagnosis.form));
    text.push_str(&fact("used", &used(diagnosis.used, diagnosis.files, diagnosis.used_bytes, diagnosis.file_bytes)));
    for cost in &diagnosis.blocks {
        let words = format!(
            "{} decompressed with blocks of {}",
            size::bytes(cost.decompressed),
            size::bytes(u64::from(cost.block_size))
        );
        text.push_str(&fact("", &words));
    }
    for note in &diagnosis.notes {
        text.push_str(&fact("note", note));
    }
    text
}

fn used(used: u64, files: u64, used_bytes: u64, file_bytes: u64) -> String {
    let files = plain(&counted(files, "file"));
    format!("{used} of {files}, {} of {}", size::bytes(used_bytes), size::bytes(file_bytes))
}

fn form(form: &SquashfsForm) -> String {
    format!(
        "{} in {} with blocks of {}; the starts decompress at least {}",
        size::bytes(form.bytes),
        form.compression,
        size::bytes(u64::from(form.block_size)),
        size::bytes(form.decompressed)
    )
}

fn in_words(outcome: &AppImageOutcome) -> String {
    let mut text = format!("wrote `{}`: {}\n", printable(&outcome.path), size::bytes(outcome.bytes));
    text.push_str(&fact("used", &used(outcome.used, outcome.files, outcome.used_bytes, outcome.file_bytes)));
    text.push_str(&fact("before", &form(&outcome.before)));
    text.push_str(&fact("now", &form(&outcome.after)));
    text.push_str(&fact("proof", &format!("the same files; digest {}", outcome.digest)));
    for note in &outcome.notes {
        text.push_str(&fact("note", note));
    }
    text
}
