//! Advice in the text report of `speedup`.

use coldstart_app::speedup::Advice;

use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// What else would help, with the commands.
pub(super) fn in_words(all: &[Advice]) -> String {
    let mut text = String::new();
    for advice in all {
        let saving = match advice.saved_seconds {
            Some(saved) => format!("; predicted to save {} of a plain cold start", seconds(saved)),
            None => String::new(),
        };
        text.push_str(&wrapped(&format!("advice: {}{saving}", advice.why), 0));
        // Not wrapped, so that they can be copied.
        for command in &advice.commands {
            text.push_str(&format!("  {command}\n"));
        }
    }
    text
}
