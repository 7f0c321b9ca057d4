//! Errors of building a cache, with hints.

use anyhow::anyhow;
use coldstart_loader::cache::FAMILIES;
use coldstart_profile::printable;
use coldstart_startup::Root;
use coldstart_startup::cache::CacheSourceError;

use crate::error::AppError;

/// The error with its hint. `root` is the root of the paths.
pub(super) fn in_words(error: CacheSourceError, root: &Root) -> AppError {
    let place = root.given_sysroot().map(|sysroot| format!(" in the sysroot `{}`", printable(sysroot)));
    let place = place.unwrap_or_default();
    let (error, hint) = match error {
        CacheSourceError::NotAnObject { path, reason } => (
            anyhow!("cannot determine what `{}` loads: {reason}", printable(&path)),
            "name a program or library; for a script, name the interpreter in its first line".to_owned(),
        ),
        CacheSourceError::OtherFamily { path, wanted } => {
            let name = printable(&path);
            let error = anyhow!("`{name}` is not for {wanted}; a cache is for one architecture");
            (error, "write a cache for each architecture".to_owned())
        }
        CacheSourceError::Loader(error) => {
            (error.into(), "its loader must exist, with --sysroot inside the sysroot".to_owned())
        }
        CacheSourceError::Unusable { path, source } => {
            let hint = match root.sysroot() {
                Some(_) => "paths are relative to the sysroot; omit the sysroot itself",
                None => "name directories with libraries",
            };
            let context = format!("cannot use `{}`{place}", printable(&path));
            (anyhow::Error::new(source).context(context), hint.to_owned())
        }
        CacheSourceError::IncludedTooDeep { path } => {
            let error = anyhow!("`{}` is included recursively or too deeply", printable(&path));
            (error, "look for an `include` cycle".to_owned())
        }
        error @ CacheSourceError::UnknownFamily { .. } => {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
            (error.into(), format!("one of {}", names.join(", ")))
        }
        error @ CacheSourceError::SeveralFamilies { .. } => {
            (error.into(), "give the architecture, for example `--arch aarch64`".to_owned())
        }
        CacheSourceError::NoConfiguration { path } => {
            return anyhow!("no such file: `{}`{place}", printable(&path)).into();
        }
        error => return error.into(),
    };
    AppError::hinted(error, hint)
}
