//! Where an image goes: to a file, or as the layer of a new OCI layout.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use coldstart_image::{Plan, Written, write_image, write_image_at};
use coldstart_oci::{Layout, NewLayout, Reference, WrittenLayout};
use coldstart_output::OutputTarget;

use crate::error::AppError;

/// Where an image goes.
pub(super) enum Target {
    File(OutputTarget),
    Layout(Reference, NewLayout),
}

impl Target {
    /// As it was named.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(place) => place.path(),
            Self::Layout(reference, _) => &reference.directory,
        }
    }

    /// Where it will be, without links.
    pub(super) fn real_path(&self) -> PathBuf {
        match self {
            Self::File(place) => place.real_path().to_owned(),
            Self::Layout(_, layout) => layout.scratch().canonicalize().unwrap_or_else(|_| layout.scratch().to_owned()),
        }
    }

    /// A directory on the same file system, for files without names.
    pub(super) fn scratch(&self) -> PathBuf {
        match self {
            Self::File(place) => place.real_path().parent().unwrap_or(Path::new("/")).to_owned(),
            Self::Layout(_, layout) => layout.scratch().to_owned(),
        }
    }

    /// Writes the image: all of it, or nothing.
    pub(super) fn write(
        self,
        plan: &Plan,
        source: Option<&Layout>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(Written, Option<WrittenLayout>), AppError> {
        match self {
            Self::File(place) => Ok((write_image_at(&place, plan, progress)?, None)),
            Self::Layout(_, layout) => {
                let file = layout.layer()?;
                let written = write_image(&file, plan, progress)?;
                let finished = layout.finish(file, source, &mut || progress(0).is_continue())?;
                Ok((written, Some(finished)))
            }
        }
    }
}
