//! Replaced files made again after an upgrade.

use coldstart_install::{ChangedFile, Replacer};
use coldstart_packages::Condition;
use coldstart_profile::printable;

use super::FileReplacer;
use super::details::Details;
use super::replacer::refresh;
use crate::error::AppError;

/// Makes replaced files again whose originals have changed. Returns the files that stay replaced, and for the others, which are the
/// originals now, why: a sentence each.
///
/// # Errors
/// If a file can neither be made nor restored.
pub(crate) fn refresh_files(files: &[ChangedFile]) -> Result<(Vec<ChangedFile>, Vec<String>), AppError> {
    let (mut left, mut notes) = (Vec::new(), Vec::new());
    for file in files {
        let details = Details::of(file)?;
        let path = printable(file.path.path());
        let again = match details.replacement(file.path.path())? {
            None => FileReplacer.replace(file).map_err(AppError::from),
            Some(replacement) => match replacement.condition()? {
                Condition::Fresh if details.links.is_none() => Ok(()),
                Condition::Overwritten => {
                    notes.push(format!("`{path}` was overwritten and is left as it is"));
                    left.push(file.clone());
                    continue;
                }
                Condition::Interrupted => FileReplacer.replace(file).map_err(AppError::from),
                Condition::PackageGone => Err(AppError::new("its package was removed")),
                Condition::Fresh | Condition::OriginalChanged(_) | Condition::FellBack(_) => {
                    refresh(file, &details, replacement)
                }
            },
        };
        match again {
            Ok(()) => left.push(file.clone()),
            Err(error) => {
                FileReplacer.restore(file)?;
                notes.push(format!("`{path}` is the original again: {}", error.sentence()));
            }
        }
    }
    Ok((left, notes))
}
