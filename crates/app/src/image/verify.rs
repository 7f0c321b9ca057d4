//! Verifying an image: against itself, and against the files it was made of.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_image::read::{Image, ReadError};
use coldstart_image::verify::{CompareError, Comparison, Scope, Soundness, check, compare, compare_mounted};
use coldstart_profile::{JsonPath, printable};
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use super::image_of;
use crate::error::AppError;
use crate::reading;

/// What to verify.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The image.
    pub image: PathBuf,
    /// The directory whose files it is compared with: the path `/` of the image.
    pub against: Option<PathBuf>,
}

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyOutcome {
    #[serde(flatten)]
    image: JsonPath,
    /// Whether nothing is wrong and nothing differs.
    pub good: bool,
    /// Whether it is a start image, with digests of all bytes; of another image only the structure is checked.
    pub is_start_image: bool,
    /// Names in it.
    pub entries: u64,
    /// Bytes of regular files.
    pub bytes: u64,
    /// What is wrong, a clause each.
    pub flaws: Vec<String>,
    /// The comparison with a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstOutcome>,
}

/// The result of a comparison with a directory.
#[derive(Clone, Debug, Serialize)]
pub struct AgainstOutcome {
    /// The directory.
    pub root: JsonPath,
    /// Entries that were compared.
    pub entries: u64,
    /// Bytes of contents that were compared.
    pub bytes: u64,
    /// The differences, at most 1000.
    pub differences: Vec<ShownDifference>,
    /// How many more there are.
    pub more: u64,
    /// The same through the kernel.
    pub kernel: KernelOutcome,
}

/// A difference.
#[derive(Clone, Debug, Serialize)]
pub struct ShownDifference {
    #[serde(flatten)]
    path: JsonPath,
    /// In words, the path included.
    pub words: String,
}

/// What the kernel sees in the image.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum KernelOutcome {
    /// The same as our reader.
    Same,
    /// Something else: the differences that only one of them sees.
    Differs {
        /// In words.
        differences: Vec<String>,
    },
    /// It could not be asked.
    NotAsked {
        /// Why.
        reason: String,
    },
}

/// Verifies an image.
///
/// # Errors
/// If the image or a file to compare with cannot be read. A damaged image is no error: it has flaws.
pub fn verify(options: &VerifyOptions) -> Result<VerifyOutcome, AppError> {
    if let Some(root) = &options.against {
        reading::directory("the root", root)?;
    }
    let named = || format!("cannot use the image `{}`", printable(&options.image));
    let file = open_regular(&options.image).with_context(named)?;
    let mut outcome = VerifyOutcome {
        image: JsonPath::new(&options.image),
        good: false,
        is_start_image: false,
        entries: 0,
        bytes: 0,
        flaws: Vec::new(),
        against: None,
    };
    match checked(&file) {
        Ok((image, found)) => {
            outcome.is_start_image = found.index.is_some();
            (outcome.entries, outcome.bytes) = (found.entries, found.bytes);
            outcome.flaws = found.flaws.iter().map(ToString::to_string).collect();
            if let Some(root) = &options.against {
                outcome.against = Some(against(&image, &file, &found, root)?);
            }
        }
        Err(error) if is_damage(&error) => outcome.flaws.push(error.to_string()),
        Err(error) => return Err(error).with_context(named)?,
    }
    let is_same = outcome.against.as_ref().is_none_or(|against| {
        against.differences.is_empty() && !matches!(against.kernel, KernelOutcome::Differs { .. })
    });
    outcome.good = outcome.flaws.is_empty() && is_same;
    Ok(outcome)
}

fn checked(file: &File) -> Result<(Image<File>, Soundness), ReadError> {
    let copy = file.try_clone().map_err(|source| ReadError::Io { offset: 0, source })?;
    let image = image_of(copy)?;
    let soundness = check(&image)?;
    Ok((image, soundness))
}

/// Whether the answer is that the image is damaged, and not that it cannot be read here.
fn is_damage(error: &ReadError) -> bool {
    match error {
        ReadError::Checksum { .. } | ReadError::OutOfImage { .. } | ReadError::Malformed { .. } => true,
        ReadError::Index(error) => !matches!(error, coldstart_image::IndexError::NewerVersion(_)),
        ReadError::NotErofs | ReadError::Unsupported { .. } | ReadError::Io { .. } => false,
    }
}

fn against(
    image: &Image<File>,
    file: &File,
    soundness: &Soundness,
    root: &Path,
) -> Result<AgainstOutcome, CompareError> {
    let scope = match &soundness.index {
        Some(index) => Scope::Trees(index.trees.clone()),
        None => Scope::Whole,
    };
    let found = compare(image, root, &scope)?;
    let kernel = match compare_mounted(file, root, &scope) {
        Ok(seen) => kernel_outcome(&found, &seen?),
        Err(error) => KernelOutcome::NotAsked { reason: error.to_string() },
    };
    let shown = |difference: &coldstart_image::verify::Difference| ShownDifference {
        path: JsonPath::new(&difference.path),
        words: difference.to_string(),
    };
    Ok(AgainstOutcome {
        root: JsonPath::new(root),
        entries: found.entries,
        bytes: found.bytes,
        differences: found.differences.iter().map(shown).collect(),
        more: found.more,
        kernel,
    })
}

fn kernel_outcome(ours: &Comparison, kernels: &Comparison) -> KernelOutcome {
    if ours == kernels {
        return KernelOutcome::Same;
    }
    let only = |one: &Comparison, other: &Comparison| {
        let differences = one.differences.iter().filter(|difference| !other.differences.contains(difference));
        differences.map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut differences = only(kernels, ours);
    differences.extend(only(ours, kernels));
    if differences.is_empty() {
        let (entries, bytes) = (kernels.entries, kernels.bytes);
        differences.push(format!("the kernel sees {entries} entries with {bytes} equal bytes"));
    }
    KernelOutcome::Differs { differences }
}
