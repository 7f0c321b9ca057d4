//! Results of the argument parser other than arguments: help, the version, or an error.

use crate::exit::Exit;
use crate::output;
use crate::output::printed::note_error;

/// Prints it (help and the version to stdout, errors to stderr), and returns the exit code.
pub(crate) fn report(answer: &clap::Error) -> Exit {
    if answer.use_stderr() {
        // Errors of stderr are ignored.
        let _ = answer.print();
        let (message, hints) = in_parts(&answer.render().to_string());
        note_error(message, hints);
        return Exit::Broken;
    }
    match output::print(&answer.render().ansi().to_string()) {
        Ok(()) => Exit::Done,
        Err(error) => crate::error::report(&error),
    }
}

/// The message and the hints of a usage error.
fn in_parts(text: &str) -> (String, Vec<String>) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = text.split("\n\n").next().unwrap_or_default();
    let tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip:"));
    (words(message.trim_start_matches("error: ")), tips.map(words).collect())
}

/// Whether `--json` is among the arguments, which could not be parsed.
pub(crate) fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::in_parts;

    #[test]
    fn a_mistake_has_a_sentence_and_tips() {
        let text = "error: unexpected argument '--al' found\n\n  tip: a similar argument exists: '--all'\n\nUsage: x\n";
        let tips = vec!["a similar argument exists: '--all'".to_owned()];
        assert_eq!(in_parts(text), ("unexpected argument '--al' found".to_owned(), tips));
        let text = "error: these are missing:\n  <FILE>\n\nUsage: x\n";
        assert_eq!(in_parts(text).0, "these are missing: <FILE>");
    }
}
