//! What verbs tell on the way, on stderr.

use coldstart_app::observer::Observer;

use crate::output;

/// Prints notes and hints as they come, and shows no progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal;

impl Observer for Terminal {
    fn note(&self, text: &str) {
        output::note(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }
}
