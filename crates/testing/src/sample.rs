//! How much of a large set a test goes through: by default a part, which the developer waits for; all of it by `cargo xtask test --whole`.

/// The variable that asks for everything, whatever its value.
const WHOLE: &str = "COLDSTART_WHOLE";

/// By how many a large set is divided: `parts`, or 1 if tests go through everything.
pub fn divided_by(parts: usize) -> usize {
    if std::env::var_os(WHOLE).is_some() { 1 } else { parts.max(1) }
}
