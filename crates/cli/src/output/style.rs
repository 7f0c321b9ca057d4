//! The few styles in use. Colour only helps: every text is complete without it.

use anstyle::{AnsiColor, Style};

/// The label of an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The label of advice.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// The label of a remark on how the result came about.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default().bold();
/// The title of a part of a report.
pub(crate) const HEADING: Style = Style::new().bold();
