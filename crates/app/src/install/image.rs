//! The image of an installation: read before it is installed, mounted for all users, judged, made again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use coldstart_image::start::{Front, Left, changed_originals};
use coldstart_install::place::MOUNT;
use coldstart_install::{ImageRecord, Installation, InstallationState, Manifest, Stored};
use coldstart_launch::CommandLine;
use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use crate::error::{AppError, HintExt};
use crate::image::{Compression, MakeOptions, RecordedStart, is_mounted, make, mount};
use crate::observer::Observer;

/// An image to be installed: it is copied.
#[derive(Clone, Debug)]
pub struct ImageToInstall {
    /// The image, or where it was when it was opened.
    pub path: PathBuf,
    /// The open image.
    pub file: Arc<File>,
    /// What is left out when it is made again.
    pub exclude: Vec<PathBuf>,
}

/// An image that was read.
pub(super) struct ReadImage {
    pub(super) file: Arc<File>,
    pub(super) record: ImageRecord,
    pub(super) notes: Vec<String>,
    front: Front,
}

/// An installed image.
#[derive(Clone, Debug, Serialize)]
pub struct InstalledImage {
    /// The file.
    pub file: Stored,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
    /// What a start reads of it, in bytes.
    pub read_bytes: u64,
    /// What may stay in memory of it, in bytes: the pages of the image and those of the files in it. The kernel takes them back when it
    /// needs room.
    pub memory_bytes: u64,
}

impl InstalledImage {
    pub(super) fn of(record: &ImageRecord, installation: &Installation) -> Self {
        Self {
            file: Stored::from(installation.image().as_path()),
            bytes: record.bytes,
            read_bytes: record.read_bytes,
            memory_bytes: record.read_bytes.saturating_mul(2),
        }
    }
}

impl ImageToInstall {
    /// Opens an image by its name.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, exclude: &[PathBuf]) -> Result<Self, AppError> {
        let file = open_regular(path).with_context(|| cannot_use(path))?;
        Ok(Self { path: path.to_owned(), file: Arc::new(file), exclude: exclude.to_vec() })
    }

    /// Reads what an installation has to know of it.
    ///
    /// # Errors
    /// If nobody could mount it, it is damaged, or it is for another machine.
    pub(super) fn read(&self, program: &CommandLine) -> Result<ReadImage, AppError> {
        let named = || cannot_use(&self.path);
        if !super::is_root() {
            return Err(anyhow!("{}: only root can mount an image", named())).hint(|| "use sudo, or install a plan");
        }
        let front = Front::read(&self.file).with_context(named)?;
        if front.index.files.iter().all(|file| file.origin.is_none()) {
            return Err(anyhow!("{}: it is not made of the files of this machine that a start needs", named()))
                .hint(|| "make one with `coldstart image make -- PROGRAM`");
        }
        let bytes = self.file.metadata().with_context(named)?.len();
        let mut words = vec![program.program.clone()];
        words.extend(program.arguments.iter().cloned());
        let mut notes = Vec::new();
        if front.programs_of(&words) == u64::MAX {
            notes.push(format!("the image was made for other programs than {program}: a start reads the pages of all"));
        }
        let exclude = self.exclude.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
        let stored = |paths: &[PathBuf]| paths.iter().map(|path| Stored::from(path.as_path())).collect();
        let record = ImageRecord {
            uuid: front.uuid_text(),
            bytes,
            read_bytes: front.index.hot.end,
            compressed: front.index.packed.is_some(),
            trees: stored(&front.index.trees),
            exclude: stored(&exclude),
        };
        Ok(ReadImage { file: self.file.clone(), record, notes, front })
    }
}

impl ReadImage {
    /// Files whose originals it takes the place of.
    pub(super) fn files(&self) -> Vec<&Path> {
        self.front.index.files.iter().map(|file| file.path.as_path()).collect()
    }
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use the image `{}`", printable(path))
}

/// Whether the image of an installation should be mounted for all users, and is not.
pub(super) fn is_unmounted(manifest: &Manifest) -> bool {
    let image = manifest.body.image.as_ref().filter(|_| manifest.has_place(MOUNT));
    manifest.state == InstallationState::Installed && image.is_some_and(|image| !is_mounted(&image.uuid))
}

/// Mounts the image of an installation for all users, if that is what it wants. Whether it was done.
///
/// # Errors
/// If it cannot be mounted.
pub(super) fn mount_if_due(manifest: &Manifest, installation: &Installation) -> Result<bool, AppError> {
    if !is_unmounted(manifest) {
        return Ok(false);
    }
    mount(&installation.image())?;
    Ok(true)
}

/// Originals that a start uses instead of their copies, and the number of copies.
///
/// # Errors
/// If the image is gone, cut off or damaged, or another one.
pub(super) fn changed(
    record: &ImageRecord,
    installation: &Installation,
) -> Result<(Vec<(PathBuf, Left)>, usize), AppError> {
    let path = installation.image();
    let named = || cannot_use(&path);
    let file = open_regular(&path).with_context(named)?;
    let front = Front::read(&file).with_context(named)?;
    if front.uuid_text() != record.uuid {
        return Err(AppError::new(format!("{}: it is not the one that was installed", named())));
    }
    Ok((changed_originals(&front), front.index.files.len()))
}

/// Makes an image again, as it was made, at [`Installation::new_image`].
///
/// # Errors
/// As [`make`].
pub(super) fn make_again(
    record: &ImageRecord,
    installation: &Installation,
    start: RecordedStart,
    observer: &dyn Observer,
) -> Result<ImageToInstall, AppError> {
    let paths = |stored: &[Stored]| stored.iter().map(|path| path.path().to_owned()).collect::<Vec<_>>();
    let path = installation.new_image();
    let options = MakeOptions {
        trees: paths(&record.trees),
        exclude: paths(&record.exclude),
        root: None,
        oci: None,
        oci_output: None,
        trace_root: None,
        traces: Vec::new(),
        start: Some(start),
        output: Some(path.clone()),
        compression: if record.compressed { Compression::Zstd } else { Compression::None },
        force: false,
    };
    make(&options, observer)?;
    ImageToInstall::open(&path, &options.exclude)
}
