//! Why a layout cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_output::OutputRefusal;
use coldstart_profile::printable;

/// What is wrong with which file of a layout.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`: {problem}", printable(path))]
pub struct OciError {
    /// The file, or the layout itself.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: OciProblem,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum OciProblem {
    /// The system's error.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The way to it is another user's.
    #[error("{0}")]
    Place(#[source] OutputRefusal),
    /// No `index.json`.
    #[error("not an OCI image layout: it has no `index.json`")]
    NoLayout,
    /// Another version of layouts.
    #[error("a layout of version `{0}`; known is 1.0.0")]
    Version(String),
    /// Not the JSON that is expected there.
    #[error("{0}")]
    Json(#[source] serde_json::Error),
    /// A digest of another form than `sha256:` and 64 digits.
    #[error("the digest `{0}` is not `sha256:` with 64 hexadecimal digits")]
    DigestForm(String),
    /// No image of that name.
    #[error("no image is called `{wanted}`; there are: {names}")]
    NoTag {
        /// What was asked for.
        wanted: String,
        /// What there is.
        names: String,
    },
    /// Several images.
    #[error("it has several images: {0}")]
    Several(String),
    /// An index without an image for this machine.
    #[error("no image for linux/{0} is in it")]
    Platform(String),
    /// A file larger than its kind may be, or than its descriptor says.
    #[error("{found} bytes, where {expected} are {said}")]
    Size {
        /// Bytes of the file.
        found: u64,
        /// Bytes that are expected.
        expected: u64,
        /// "declared", "the limit".
        said: &'static str,
    },
    /// Other bytes than the name says.
    #[error("its content has the digest {found}, but {expected} is declared")]
    Digest {
        /// Of the content.
        found: String,
        /// As declared.
        expected: String,
    },
    /// A layer that we cannot read.
    #[error("layers of the type `{0}` are not known")]
    MediaType(String),
    /// The configuration lists other layers than the manifest.
    #[error("{layers} layers, but {diff_ids} digests of layers in the configuration")]
    Layers {
        /// In the manifest.
        layers: usize,
        /// In the configuration.
        diff_ids: usize,
    },
    /// A damaged tar file.
    #[error("the tar file is damaged at offset {offset}: {problem}")]
    Tar {
        /// Offset in the decompressed layer.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// An entry that must not be.
    #[error("the entry `{name}` (offset {offset}) {problem}")]
    Entry {
        /// Its name.
        name: String,
        /// Offset in the decompressed layer.
        offset: u64,
        /// What is wrong with it: a predicate.
        problem: String,
    },
    /// There is something at the output.
    #[error("it exists already")]
    Exists,
    /// The caller ended it.
    #[error("interrupted")]
    Interrupted,
}

impl OciError {
    pub(crate) fn new(path: impl AsRef<Path>, problem: OciProblem) -> Self {
        Self { path: path.as_ref().to_owned(), problem }
    }

    pub(crate) fn io(path: impl AsRef<Path>, error: io::Error) -> Self {
        Self::new(path, OciProblem::Io(error))
    }

    pub(crate) fn refused(path: impl AsRef<Path>, refusal: OutputRefusal) -> Self {
        match refusal {
            OutputRefusal::Io(error) => Self::io(path, error),
            refusal => Self::new(path, OciProblem::Place(refusal)),
        }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.problem {
            OciProblem::NoLayout => {
                Some("name the directory that holds `index.json`, as `skopeo copy IMAGE oci:DIR` makes it")
            }
            OciProblem::Version(_) => Some("copy the image with a current `skopeo copy IMAGE oci:DIR`"),
            OciProblem::NoTag { .. } | OciProblem::Several(_) => Some("name one of them as LAYOUT:TAG"),
            OciProblem::Platform(_) => Some("copy the image for this machine's architecture into a layout of its own"),
            OciProblem::Digest { .. } | OciProblem::Size { said: "declared", .. } | OciProblem::Tar { .. } => {
                Some("the layout is damaged: copy the image again")
            }
            OciProblem::Json(_) | OciProblem::DigestForm(_) | OciProblem::Layers { .. } | OciProblem::Size { .. } => {
                Some("the layout is not valid: make it again with the tool that made it")
            }
            OciProblem::MediaType(_) => Some("convert the image to layers of tar, gzip or zstd with `skopeo copy`"),
            OciProblem::Entry { .. } => {
                Some("the layer is not valid or not safe: do not use it, or make it again with another tool")
            }
            OciProblem::Exists => Some("name a new directory"),
            OciProblem::Place(refusal) => refusal.hint(),
            OciProblem::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
                Some("make room where the output goes: compressed layers are unpacked beside it meanwhile")
            }
            OciProblem::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Some("run as a user who may read it")
            }
            OciProblem::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                ) =>
            {
                Some("the layout is damaged: copy the image again")
            }
            OciProblem::Io(_) => Some("check that the layout is complete"),
            OciProblem::Interrupted => None,
        }
    }
}

coldstart_hint::hinted!(OciError);
