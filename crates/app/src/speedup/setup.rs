//! A way of starting the program: which files lie over its own, and which plan is replayed.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context;
use coldstart_install::place::StartWith;
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::Candidate;
use coldstart_profile::{WorkingSet, printable};
use coldstart_sys::private_mounts::{Overlay, PrivateMounts};

use super::copies::TrialDirectory;
use super::index_fix::TrialIndex;
use super::launcher::LaunchWith;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::{FileChange, FixKind};
use crate::image::{Compression, ImageOfStart, image_of_start};
use crate::index::IndexInUse;
use crate::measure::candidate;
use crate::prefetch::RecordedPlan;

/// A way of starting the program, made of any number of fixes. Its files are removed when it is dropped.
#[derive(Default)]
pub(super) struct Setup {
    /// Whether the program starts in a private view of the file system.
    in_view: bool,
    mounts: Option<Arc<PrivateMounts>>,
    overlays: Vec<Overlay>,
    plan: Option<TrialPlan>,
    image: Option<TrialImage>,
    index: Option<Rc<TrialIndex>>,
    /// The program, if a bound copy lies over it.
    pub(super) bound: Option<PathBuf>,
    /// The files with packed copies over them.
    pub(super) packed: Vec<PathBuf>,
    /// The files with copies in another order over them, each with the names of what comes first.
    pub(super) ordered: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Differences in behaviour that are known beforehand, a clause each.
    pub(super) cautions: Vec<String>,
    copies: Vec<Rc<TrialDirectory>>,
}

/// A plan for the trial, with a launcher.
struct TrialPlan {
    file: PathBuf,
    launcher: PathBuf,
    recorded: RecordedPlan,
    _directory: TrialDirectory,
}

/// An image for the trial, with a launcher.
struct TrialImage {
    file: PathBuf,
    launcher: PathBuf,
    made: ImageOfStart,
    _directory: TrialDirectory,
}

impl Setup {
    /// The plain start; in a private view without overlays where others are compared with it that have some.
    pub(super) fn plain(in_view: bool) -> Self {
        Self { in_view, ..Self::default() }
    }

    /// Lays files over the program's own. Keep their directory, too.
    pub(super) fn lay_over(&mut self, overlays: impl IntoIterator<Item = Overlay>) {
        self.overlays.extend(overlays);
        self.mounts = None;
    }

    /// Keeps directories of copies as long as this.
    pub(super) fn keep(&mut self, copies: impl IntoIterator<Item = Rc<TrialDirectory>>) {
        self.copies.extend(copies);
    }

    /// The file that lies over `path`, or the file itself.
    pub(super) fn replacement(&self, path: &Path) -> PathBuf {
        let covering = self.overlays.iter().rfind(|overlay| overlay.original == path);
        covering.map_or_else(|| path.to_owned(), |overlay| overlay.replacement.clone())
    }

    /// Removes what lies over `path`.
    pub(super) fn uncover(&mut self, path: &Path) {
        self.overlays.retain(|overlay| overlay.original != path);
        self.mounts = None;
    }

    /// The files that lie over others.
    pub(super) fn overlays(&self) -> &[Overlay] {
        &self.overlays
    }

    /// The changed files, each with its edits in their order.
    pub(super) fn changes(&self) -> Vec<FileChange> {
        let mut changes: Vec<FileChange> = Vec::new();
        let edits = self.bound.iter().map(|file| (file, FixKind::Bind));
        for (path, edit) in edits.chain(self.packed.iter().map(|file| (file, FixKind::Pack))) {
            match changes.iter_mut().find(|change| change.path == *path) {
                Some(change) => change.edits.push(edit),
                None => changes.push(FileChange { path: path.clone(), edits: vec![edit], order: Vec::new() }),
            }
        }
        // No other fix changes these.
        changes.extend(self.ordered.iter().map(|(path, names)| FileChange {
            path: path.clone(),
            edits: vec![FixKind::Order],
            order: names.clone(),
        }));
        changes
    }

    /// Bytes by which the overlays are smaller than their originals.
    pub(super) fn bytes_saved(&self) -> u64 {
        let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
        let of_both = self.overlays.iter().map(|overlay| (size(&overlay.original), size(&overlay.replacement)));
        let (before, after) = of_both.fold((0, 0), |sum: (u64, u64), (before, after)| (sum.0 + before, sum.1 + after));
        before.saturating_sub(after)
    }

    /// Starts outside a private view if nothing needs one; false if something does.
    pub(super) fn leave_view(&mut self) -> bool {
        let may = self.overlays.is_empty();
        if may {
            self.in_view = false;
            self.mounts = None;
        }
        may
    }

    /// The view, once it is made.
    pub(super) fn mounts(&self) -> Option<&PrivateMounts> {
        self.mounts.as_deref()
    }

    /// How the program is started: in the view, if there is one.
    ///
    /// # Errors
    /// If the view cannot be made.
    pub(super) fn launch_options(&mut self, base: &LaunchOptions) -> Result<LaunchOptions, AppError> {
        if self.mounts.is_none() && (self.in_view || !self.overlays.is_empty()) {
            self.mounts = Some(Arc::new(PrivateMounts::create(&self.overlays)?));
        }
        Ok(LaunchOptions { mounts: self.mounts.clone(), ..base.clone() })
    }

    /// How the program is started while it is recorded: with the index, without a launcher.
    ///
    /// # Errors
    /// If the view cannot be made.
    pub(super) fn recording_options(&mut self, base: &LaunchOptions) -> Result<LaunchOptions, AppError> {
        let options = self.launch_options(base)?;
        Ok(IndexInUse::added_to(self.index().map(|index| &index.in_use), options))
    }

    /// Has the program started with an index. What other fixes record is recorded with it in use.
    pub(super) fn start_with_index(&mut self, index: Rc<TrialIndex>) {
        self.index = Some(index);
    }

    /// The index that the program is started with.
    pub(super) fn index(&self) -> Option<&TrialIndex> {
        self.index.as_deref()
    }

    /// Has a plan replayed at each start. The plan and a copy of the launcher lie on the file system of `beside`.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn replay(
        &mut self,
        recorded: RecordedPlan,
        subject: &Subject<'_>,
        beside: &Path,
    ) -> Result<(), AppError> {
        let bytes = recorded.plan.to_bytes().context("cannot write the plan of a trial")?;
        let of_launcher = subject.launcher.file.metadata().map_or(0, |found| found.len());
        let room = of_launcher.saturating_add(bytes.len() as u64);
        let directory = TrialDirectory::beside(beside, room, &[beside.to_owned()])?;
        let (file, launcher) = (directory.path().join("plan"), directory.path().join(&subject.launcher.name));
        let written = || -> std::io::Result<()> {
            fs::write(&file, &bytes)?;
            fs::File::open(&file)?.sync_all()?;
            subject.launcher.copy_to(&launcher)
        };
        written().with_context(|| format!("cannot write to `{}`", printable(directory.path())))?;
        self.plan = Some(TrialPlan { file, launcher, recorded, _directory: directory });
        Ok(())
    }

    /// Has the program started from an image of its used pages, of changed files as they are changed. The image and a copy of the launcher lie on the file
    /// system of `beside`.
    ///
    /// # Errors
    /// If the image cannot be made or started from.
    pub(super) fn start_from_image(
        &mut self,
        set: &WorkingSet,
        compression: Compression,
        subject: &Subject<'_>,
        beside: &Path,
    ) -> Result<(), AppError> {
        let files = subject.files();
        let room = files
            .iter()
            .filter_map(|file| file.metadata().ok())
            .fold(0u64, |sum, found| sum.saturating_add(found.len()));
        let directory = TrialDirectory::beside(beside, room, &[beside.to_owned()])?;
        let (file, launcher) = (directory.path().join("image"), directory.path().join(&subject.launcher.name));
        let mut launch = self.recording_options(subject.launch)?;
        let mounts = launch.mounts.take();
        let (program, interrupt) = (subject.program, &subject.interrupt);
        let make = || image_of_start(set, compression, program, &launch, &file, interrupt);
        // Inside, the changed files are what the image is made of, and what it lies over.
        let made = match mounts {
            Some(mounts) => mounts.inside(make)??,
            None => make()?,
        };
        let opened = fs::File::open(&file).with_context(|| format!("cannot open `{}`", printable(&file)))?;
        coldstart_image::start::check_trust(&file, &opened)?;
        opened
            .sync_all()
            .and_then(|()| subject.launcher.copy_to(&launcher))
            .with_context(|| format!("cannot write to `{}`", printable(directory.path())))?;
        self.image = Some(TrialImage { file, launcher, made, _directory: directory });
        Ok(())
    }

    /// The image that the program is started from.
    pub(super) fn image(&self) -> Option<ImageOfStart> {
        self.image.as_ref().map(|image| image.made)
    }

    /// The image's file.
    pub(super) fn image_file(&self) -> Option<&Path> {
        self.image.as_ref().map(|image| image.file.as_path())
    }

    /// The plan that is replayed.
    pub(super) fn plan(&self) -> Option<&RecordedPlan> {
        self.plan.as_ref().map(|plan| &plan.recorded)
    }

    /// The plan's file.
    pub(super) fn plan_file(&self) -> Option<&Path> {
        self.plan.as_ref().map(|plan| plan.file.as_path())
    }

    /// The command to start.
    pub(super) fn command(&self, subject: &Subject<'_>) -> CommandLine {
        let image = self.image.as_ref().map(|image| (&image.launcher, (StartWith::Image, image.file.as_path())));
        let plan = self.plan.as_ref().map(|plan| (&plan.launcher, (StartWith::Plan, plan.file.as_path())));
        let start = image.or(plan);
        let index = self.index.as_ref();
        let launcher = start.map(|(launcher, _)| launcher).or(index.map(|index| &index.launcher));
        let with =
            LaunchWith { index: index.map(|index| index.in_use.directory()), start: start.map(|(_, file)| file) };
        match launcher {
            Some(launcher) => subject.launcher.command(launcher, &with, subject.program),
            None => subject.program.clone(),
        }
    }

    /// For a measurement, with the files that a start reads.
    ///
    /// # Errors
    /// If it cannot be started or watched.
    pub(super) fn candidate(&mut self, label: String, subject: &Subject<'_>) -> Result<Candidate, AppError> {
        let launch = self.launch_options(subject.launch)?;
        candidate(label, self.command(subject), &launch)
    }
}
