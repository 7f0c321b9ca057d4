//! `coldstart view`: a trace as a page, a picture, another viewer's file, tables, or text.
//!
//! What is asked for is checked as a whole before anything is read or written, so that a slip in the last of several files does
//! not come out after the first was made.

mod differences;
mod pictures;
mod report;
mod serve;
mod sources;
mod tables;
mod wanted;

use std::io::Write;

use anyhow::anyhow;
use coldstart_launch::Interrupt;
use coldstart_view::comparison::Comparison;
use coldstart_view::export::{self, TraceExport};
use coldstart_view::page::trace_page;

use crate::args::view::{OutputKind, ViewArgs, ViewerFormat};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output;
use report::{Report, Written};
use sources::Source;
use wanted::Wanted;

pub(super) fn run(args: &ViewArgs) -> Result<Exit, CliError> {
    if args.table.as_deref() == Some("list") {
        wanted::check_list(args)?;
        return tables::list(args.other.is_some());
    }
    let wanted = Wanted::of(args)?;
    let interrupt = Interrupt::listen()?;
    let first = Source::read(&args.trace)?;
    let second = args.other.as_deref().map(Source::read).transpose()?;
    let view = View { args, interrupt: &interrupt, first: &first, second: second.as_ref() };
    let done = view.all(&wanted);
    match done {
        // Whatever broke, it broke because we were told to end. That is how serving ends, too, and then all is well.
        Err(_) if interrupt.signal().is_some() => Ok(Exit::Interrupted),
        Ok(Exit::Done) if interrupt.signal().is_some() && !args.open => Ok(Exit::Interrupted),
        done => done,
    }
}

/// What was read, and what is to become of it.
struct View<'a> {
    args: &'a ViewArgs,
    interrupt: &'a Interrupt,
    first: &'a Source,
    second: Option<&'a Source>,
}

impl View<'_> {
    fn all(&self, wanted: &Wanted) -> Result<Exit, CliError> {
        let mut report = Report::of(self.first, self.second);
        if let (Some(second), true) = (self.second, wanted.compares()) {
            report.caveats = Comparison::of(&self.first.as_trace(), &second.as_trace()).caveats;
        }
        let pictures = wanted.files.iter().any(|file| matches!(file.kind, OutputKind::Svg | OutputKind::Png));
        let map = if pictures { Some(pictures::Picture::of(self.first, self.second, self.args)?) } else { None };
        report.object = map.as_ref().map(|map| map.path.clone());
        for file in &wanted.files {
            match (file.kind, &map) {
                (OutputKind::Html, _) => self.one(file, &mut report, |_, out| Ok(out.write_all(&self.page()?)?))?,
                (OutputKind::Svg, Some(map)) => {
                    self.one(file, &mut report, |_, out| Ok(out.write_all(map.svg().as_bytes())?))?;
                }
                (OutputKind::Png, Some(map)) => {
                    self.one(file, &mut report, |_, out| Ok(out.write_all(&map.png()?)?))?
                }
                (OutputKind::Svg | OutputKind::Png, None) => {}
                (OutputKind::Json, _) => self.one(file, &mut report, |written, out| self.json(written, out))?,
                (OutputKind::Csv, _) => tables::write(self, file, &mut report)?,
            }
        }
        if self.args.terminal || wanted.is_nothing() {
            output::print(&pictures::text(self.first, self.args)?)?;
        }
        if !self.args.open {
            report.finish(self.args.json)?;
            return Ok(Exit::Done);
        }
        let page = self.page()?;
        let served = serve::Served::begin(page)?;
        report.address = Some(served.address().to_owned());
        report.finish(self.args.json)?;
        served.run(self.interrupt, self.args.json)
    }

    /// Writes one file, and notes that it was written.
    fn one(
        &self,
        file: &wanted::WantedFile,
        report: &mut Report,
        fill: impl FnOnce(&mut Written, &mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut written = Written::new(file.kind, &file.destination);
        written.bytes = file.destination.write(Some(self.interrupt), |out| fill(&mut written, out))?;
        report.add(written);
        Ok(())
    }

    fn page(&self) -> Result<Vec<u8>, CliError> {
        let second = self.second.map(Source::as_trace);
        Ok(trace_page(&self.first.as_trace(), second.as_ref())?)
    }

    fn json(&self, written: &mut Written, out: &mut dyn Write) -> Result<(), CliError> {
        let traces: Vec<TraceExport<'_>> = self.sources().map(|source| source.as_export()).collect();
        let format = self.args.format.unwrap_or(ViewerFormat::Perfetto);
        let exported = match format {
            ViewerFormat::Perfetto => export::write_perfetto(&traces, out),
            ViewerFormat::Firefox => export::write_firefox(&traces, out),
        };
        written.format = Some(format.name());
        written.records = Some(exported?.records);
        Ok(())
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(self.first).chain(self.second)
    }
}

/// Refuses what two traces cannot become.
fn of_one_trace_only(what: &str, hint: &str) -> Result<(), CliError> {
    Err(anyhow!("{what} is made of one trace, and there are two")).hint(|| hint)
}
