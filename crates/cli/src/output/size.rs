//! Human-readable sizes and shares.

pub(crate) use coldstart_view::numbers::{bytes, grouped, percent};
