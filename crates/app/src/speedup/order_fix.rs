//! The fix "order": zip files (jars, zipapps, omni.ja) and `AppImage`s that a start uses, in the order of the start.

use std::cell::OnceCell;
use std::rc::Rc;

use coldstart_profile::printable;

use super::archive_uses::{ArchiveKind, ArchiveUse, archive_uses};
use super::copies::{OrderedCopy, TrialDirectory, by_device, ordered_from};
use super::fix::{Fix, Prospect, made_once};
use super::setup::Setup;
use super::subject::{Changeable, Subject};
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::order::order_by::OrderBy;
use crate::text::{counted, plain};

/// Puts archives into order.
#[derive(Default)]
pub(super) struct OrderFix {
    /// Those that are worth it, and may be changed.
    archives: Vec<ArchiveUse>,
    /// Written at the first trial; all trials use them.
    written: OnceCell<Written>,
}

/// Copies in order and where they are.
#[derive(Clone, Default)]
struct Written {
    copies: Vec<OrderedCopy>,
    directories: Vec<Rc<TrialDirectory>>,
}

impl Fix for OrderFix {
    fn kind(&self) -> FixKind {
        FixKind::Order
    }

    fn name(&self) -> &'static str {
        "order"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        let Some(trace) = &subject.trace else {
            return Ok(Prospect::not(self, "the start could not be traced, so that its use of archives is unknown"));
        };
        let found = archive_uses(trace, &subject.device(), subject.cold_seconds());
        if found.is_empty() {
            return Ok(Prospect::not(self, "the start uses no zip file, and is not that of an AppImage"));
        }
        let (worth, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|archive| archive.saved.is_ok());
        if let (true, Some(ArchiveUse { path, saved: Err(reason), .. })) = (worth.is_empty(), others.first()) {
            return Ok(Prospect::not(self, format!("`{}`: {reason}", printable(path))));
        }
        let paths: Vec<_> = worth.iter().map(|archive| archive.path.clone()).collect();
        let Changeable { may, may_not } = subject.changeable(&paths)?;
        let mut left_out: Vec<String> = may_not.into_iter().map(|(_, reason)| reason).collect();
        let worth = worth.into_iter().filter(|archive| may.contains(&archive.path)).collect();
        self.archives.clear();
        for (archives, directory) in by_device(worth, |archive: &ArchiveUse| (&archive.path, archive.size)) {
            match directory {
                Ok(_) => self.archives.extend(archives),
                Err(error) => left_out.push(error.sentence()),
            }
        }
        if let (true, Some(reason)) = (self.archives.is_empty(), left_out.first()) {
            return Ok(Prospect::not(self, format!("its archives cannot be replaced; the first: {reason}")));
        }
        let saved: f64 = self.archives.iter().filter_map(|archive| archive.saved.as_ref().ok()).sum();
        let pieces = plain(&counted(self.archives.iter().map(|archive| archive.before.pieces).sum(), "piece"));
        let archives = plain(&counted(self.archives.len() as u64, "archive"));
        let mut why = format!("what lies in {pieces} of {archives} comes together");
        if let Some(reason) = left_out.first() {
            let left = counted(left_out.len() as u64, "archive");
            why.push_str(&format!("; {left} cannot be replaced, the first: {reason}"));
        }
        Ok(Prospect::of(self, Some((subject.cold_seconds() - saved).max(0.0)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let written = made_once(&self.written, || self.write(subject))?;
        for OrderedCopy { overlay, names } in written.copies {
            // An AppImage or a self-extracting archive that another fix has changed stays as that has made it.
            if setup.replacement(&overlay.original) == overlay.original {
                setup.ordered.push((overlay.original.clone(), names));
                setup.lay_over([overlay]);
            }
        }
        setup.keep(written.directories);
        Ok(())
    }
}

impl OrderFix {
    /// Writes the copies, each on the file system of its original.
    fn write(&self, subject: &Subject<'_>) -> Result<Written, AppError> {
        let mut written = Written::default();
        for (archives, directory) in by_device(self.archives.clone(), |archive| (&archive.path, archive.size)) {
            let directory = directory?;
            for (number, archive) in archives.iter().enumerate() {
                let by = match (archive.kind, &subject.trace) {
                    (ArchiveKind::AppImage, Some(trace)) => OrderBy::Start(trace),
                    _ => OrderBy::Names(&archive.names),
                };
                let replacement = directory.path().join(format!("ordered-{number}"));
                let copy = ordered_from(&archive.path, by, &replacement, &subject.interrupt);
                written.copies.push(copy.map_err(AppError::new)?);
            }
            written.directories.push(Rc::new(directory));
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use coldstart_launch::{CommandLine, LaunchOptions};
    use coldstart_testing::{is_root, scratch, succeed};

    use super::super::launcher::Launcher;
    use super::*;

    #[test]
    fn what_is_read_in_one_piece_or_signed_is_left_alone() {
        if !is_root() {
            return;
        }
        let directory = scratch();
        let make = "import zipfile\nfor name, first in ('data.zip', 'first'), ('app.jar', 'META-INF/A.SF'):\n z = zipfile.ZipFile(name, 'w')\n for n in [first, *range(300)]: z.writestr(str(n), 'x' * 9000)";
        succeed(Command::new("python3").args(["-c", make]).current_dir(directory.path()));
        for (name, reason) in [("data.zip", "read about as fast as it lies"), ("app.jar", "`META-INF/A.SF`")] {
            let archive = directory.path().join(name);
            let program = CommandLine { program: "cat".into(), arguments: vec![archive.clone().into()] };
            let launch = LaunchOptions::default();
            let launcher = Launcher { name: "true".to_owned(), words: Vec::new(), file: "/bin/true".into() };
            let subject = Subject::record(&program, &launch, None, &launcher, None).unwrap();
            let prospect = OrderFix::default().predict(&subject).unwrap();
            let told = prospect.why.contains(&format!("{name}`: ")) && prospect.why.contains(reason);
            assert!(!prospect.applies && told, "{prospect:?}");
        }
    }
}
