//! The map of an object as a picture.

use anyhow::anyhow;
use coldstart_profile::printable;
use coldstart_profile::trace::FileId;
use coldstart_view::comparison::Comparison;
use coldstart_view::map::{MapOptions, ObjectMap, Overlay, choose};

use super::ViewOptions;
use super::source::Source;
use crate::error::{AppError, HintExt};

/// The map of one object.
pub struct Picture {
    /// The object's path, escaped.
    pub path: String,
    map: ObjectMap,
}

impl Picture {
    /// The map of the selected object, with the touches of the other start as an overlay.
    ///
    /// # Errors
    /// If the name matches no object or several, or the other trace does not have it.
    pub(super) fn of(source: &Source, other: Option<&Source>, asked: &ViewOptions) -> Result<Self, AppError> {
        let file =
            choose(&source.trace, asked.object.as_deref()).map_err(AppError::from).map_err(|error| match other {
                // With two traces, the error names the trace.
                Some(_) => error.within(format!("cannot map `{}`", source.name)),
                None => error,
            })?;
        let path = source.trace.file(file).map_or_else(String::new, |file| printable(&file.path));
        let overlay = other.map(|other| overlay(source, other, file, &path)).transpose()?;
        let defaults = MapOptions::default();
        let (width, height) = asked.size.unwrap_or((defaults.width, defaults.height));
        let theme = asked.theme.unwrap_or_default();
        let label = other.map(|_| source.name.as_str());
        let options = MapOptions { width, height, theme, label, other: overlay, time: None };
        Ok(Self { path, map: ObjectMap::of(&source.trace, &source.figures, file, &options)? })
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        self.map.svg()
    }

    /// As PNG.
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn png(&self) -> Result<Vec<u8>, AppError> {
        Ok(self.map.png()?)
    }
}

fn overlay<'a>(source: &Source, other: &'a Source, file: FileId, path: &str) -> Result<Overlay<'a>, AppError> {
    let partners = Comparison::of(&source.as_trace(), &other.as_trace()).partners;
    let partner = usize::try_from(file.0).ok().and_then(|place| partners.get(place).copied().flatten());
    let partner = partner
        .ok_or_else(|| anyhow!("`{}` has no file that corresponds to `{path}`", other.name))
        .hint(|| "use --object with an object that both starts used, or draw each trace by itself")?;
    Ok(Overlay { trace: &other.trace, file: partner, label: Some(&other.name) })
}
