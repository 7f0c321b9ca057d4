//! The command line of a desktop entry (Desktop Entry Specification 1.5, "The Exec key"), with a launcher put in front of its program.

/// What must be quoted in an argument.
const RESERVED: &str = " \t\n\"'\\><~|&;$*?#()`";
/// What is escaped within quotes.
const ESCAPED: &str = "\"`$\\";

/// A command line: the value of `Exec`, without the escapes that all strings of a desktop entry have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::place) struct Exec {
    text: String,
    words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    /// Bytes of `text`, quotes included.
    range: std::ops::Range<usize>,
    /// Without quotes; field codes as they are.
    value: String,
}

impl Exec {
    /// Reads the value as it is in the file. `None` if a quotation mark is not closed, or there is no word.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let text = unescaped(value);
        let words = words(&text)?;
        (!words.is_empty()).then_some(Self { text, words })
    }

    /// The word that is the program: the first, or the first behind `env` and its assignments.
    fn program_word(&self) -> Option<usize> {
        let name = |word: &Word| word.value.rsplit('/').next().unwrap_or_default().to_owned();
        match self.words.first() {
            Some(first) if name(first) == "env" => {
                let position = self.words.iter().skip(1).position(|word| !word.value.contains('='))?;
                let position = position.saturating_add(1);
                // An option of `env`, some of which take a word.
                self.words.get(position).filter(|word| !word.value.starts_with('-')).map(|_| position)
            }
            first => first.map(|_| 0),
        }
    }

    /// The program, as it is named there.
    pub(in crate::place) fn program(&self) -> Option<String> {
        Some(self.words.get(self.program_word()?)?.value.replace("%%", "%"))
    }

    /// Arguments that are neither field codes nor options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        let first = self.program_word().map_or(usize::MAX, |word| word.saturating_add(1));
        let rest = self.words.iter().skip(first).map(|word| word.value.as_str());
        rest.filter(|word| !word.starts_with('-') && !is_field_code(word))
    }

    /// The value for the file, where `starter` starts `program` with the arguments as they are.
    pub(in crate::place) fn started_by(&self, starter: &str, program: &str) -> Option<String> {
        let range = self.words.get(self.program_word()?)?.range.clone();
        let (before, after) = (self.text.get(..range.start)?, self.text.get(range.end..)?);
        Some(escaped(&format!("{before}{} {}{after}", quoted(starter), quoted(program))))
    }
}

fn is_field_code(word: &str) -> bool {
    matches!(word.as_bytes(), [b'%', letter] if letter.is_ascii_alphabetic())
}

/// The general escapes of string values.
fn unescaped(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('s') => text.push(' '),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\\') => text.push('\\'),
            // No escape of the specification: readers leave it as it is.
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, first)) = characters.next() {
        if matches!(first, ' ' | '\t' | '\n') {
            continue;
        }
        let mut value = String::new();
        let mut end = start.saturating_add(first.len_utf8());
        let mut in_quotes = first == '"';
        if !in_quotes {
            value.push(first);
        }
        loop {
            match (characters.peek().copied(), in_quotes) {
                (None, true) => return None,
                (None, false) | (Some((_, ' ' | '\t' | '\n')), false) => break,
                (Some((_, '"')), _) => in_quotes = !in_quotes,
                (Some((_, '\\')), true) => {
                    characters.next();
                    let (_, next) = characters.peek().copied()?;
                    value.push(next);
                }
                (Some((_, character)), _) => value.push(character),
            }
            if let Some((at, character)) = characters.next() {
                end = at.saturating_add(character.len_utf8());
            }
        }
        words.push(Word { range: start..end, value });
    }
    Some(words)
}

/// An argument for the command line.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%");
    if !word.is_empty() && !word.contains(|character| RESERVED.contains(character)) {
        return word;
    }
    let mut quoted = "\"".to_owned();
    for character in word.chars() {
        if ESCAPED.contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn started(value: &str) -> Option<String> {
        Exec::parse(value)?.started_by("/s/start", "/usr/bin/app")
    }

    #[test]
    fn the_launcher_comes_in_front_of_the_program_and_the_rest_stays() {
        for (value, expected) in [
            ("app", "/s/start /usr/bin/app"),
            ("app --new %U", "/s/start /usr/bin/app --new %U"),
            ("\"/opt/my app/app\" %f", "/s/start /usr/bin/app %f"),
            (r#"app "a\\$b" %F"#, r#"/s/start /usr/bin/app "a\\$b" %F"#),
            ("env A=b C=\"d e\" app %u", "env A=b C=\"d e\" /s/start /usr/bin/app %u"),
            ("/usr/bin/env app", "/usr/bin/env /s/start /usr/bin/app"),
        ] {
            assert_eq!(started(value).as_deref(), Some(expected), "{value}");
        }
        for value in ["", "  ", "\"app", "env", "env A=b", "env -u A app", "\"a\\\\"] {
            assert_eq!(started(value), None, "{value}");
        }
    }

    #[test]
    fn operands_are_neither_options_nor_field_codes() {
        let exec = Exec::parse("python3 -m /usr/share/x/main.py --a %U").unwrap();
        assert_eq!(exec.operands().collect::<Vec<_>>(), ["/usr/share/x/main.py"]);
    }

    proptest! {
        #[test]
        fn what_is_quoted_reads_back(starter in "[\\PC\\n\\t ]{1,12}", program in "[\\PC\\n\\t ]{1,12}") {
            let exec = Exec::parse("app %U").unwrap();
            let value = exec.started_by(&starter, &program).unwrap();
            prop_assert!(!value.contains('\n'));
            let read = Exec::parse(&value).unwrap();
            let words: Vec<String> = read.words.iter().map(|word| word.value.clone()).collect();
            prop_assert_eq!(words, [starter.replace('%', "%%"), program.replace('%', "%%"), "%U".to_owned()]);
        }
    }
}
