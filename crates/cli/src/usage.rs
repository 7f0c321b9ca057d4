//! What the parser of arguments answers instead of arguments: help, the version, or a mistake.

use crate::exit::Exit;
use crate::output;
use crate::output::printed::note_error;

/// Prints it, help and the version to stdout as a result, a mistake to stderr, and says what to exit with.
pub(crate) fn report(answer: &clap::Error) -> Exit {
    if answer.use_stderr() {
        // A stderr that cannot be written to is no further error.
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

/// The sentence and the tips of what is printed about a mistake.
fn in_parts(text: &str) -> (String, Vec<String>) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = text.split("\n\n").next().unwrap_or_default();
    let tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip:"));
    (words(message.trim_start_matches("error: ")), tips.map(words).collect())
}

/// Whether `--json` was typed, as far as that can be told of arguments that could not be read.
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
