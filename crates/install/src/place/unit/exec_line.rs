//! A command line of a systemd service (`systemd.service(5)`, "Command lines"), with a launcher put in front of its program.

use crate::place::systemd_word::{SPACE, ends_with_escape, quoted, specifiers_as_text};

/// A value of `ExecStart=`: prefixes, the program, and the rest as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::place) struct ExecLine {
    prefixes: String,
    /// Without quotes and escapes; specifiers as they are.
    program: String,
    rest: String,
}

/// Why a launcher cannot be put in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::place) struct Refusal(pub(super) &'static str);

impl ExecLine {
    /// Reads a value. `None` for one that starts nothing.
    pub(in crate::place) fn parse(value: &str) -> Option<Self> {
        let value = value.trim_matches(SPACE);
        let begin = value.find(|character| !"@-:+!|".contains(character))?;
        let (prefixes, command) = value.split_at(begin);
        let (program, rest) = first_word(command)?;
        Some(Self { prefixes: prefixes.to_owned(), program, rest: rest.to_owned() })
    }

    /// The program; specifiers (`%i`) are not resolved.
    pub(in crate::place) fn program(&self) -> String {
        self.program.replace("%%", "%")
    }

    /// The value with the launcher in front, which is written as an executable already. `program` is the absolute path for the
    /// program; `None` for the path as it is there.
    pub(in crate::place) fn started_by(&self, starter: &str, program: Option<&str>) -> Result<String, Refusal> {
        let mut rest = self.rest.as_str();
        let mut prefixes = self.prefixes.clone();
        if prefixes.contains('@') {
            // The word behind the path is the name that the program gets as its own.
            let (name, behind) = first_word(rest).unwrap_or_default();
            if name != self.program {
                return Err(Refusal("it gives the program another name (`@`), which a launcher cannot"));
            }
            prefixes = prefixes.replace('@', "");
            rest = behind;
        }
        // systemd would join the next line of our file to it.
        if ends_with_escape(rest) {
            return Err(Refusal("its command line ends with a backslash"));
        }
        // Behind the launcher the path is an argument, in which variables are replaced, unless that is switched off.
        let dollars = !prefixes.contains(':');
        let program = match program {
            Some(program) => quoted(&specifiers_as_text(program), dollars),
            None => quoted(&self.program, dollars),
        };
        Ok(format!("{prefixes}{starter} {program}{rest}"))
    }
}

/// The first word without quotes and escapes, and what follows with the space before it.
fn first_word(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(SPACE);
    let mut word = String::new();
    let mut characters = text.char_indices();
    let mut quote = None;
    let mut end = text.len();
    while let Some((at, character)) = characters.next() {
        match (character, quote) {
            ('\\', _) => match characters.next()?.1 {
                's' => word.push(' '),
                't' => word.push('\t'),
                'n' => word.push('\n'),
                other if "\\\"'".contains(other) => word.push(other),
                // `\x20` and the like: no path of a program that we could compare.
                _ => return None,
            },
            (character, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => quote = Some(character),
            (space, None) if SPACE.contains(&space) => {
                end = at;
                break;
            }
            _ => word.push(character),
        }
    }
    (quote.is_none() && !word.is_empty()).then(|| (word, text.get(end..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(value: &str) -> Result<String, Refusal> {
        ExecLine::parse(value).unwrap().started_by("/v/start", None)
    }

    #[test]
    fn prefixes_stay_and_the_rest_stays() {
        for (value, expected) in [
            ("/bin/d -x $OPTIONS %i", "/v/start /bin/d -x $OPTIONS %i"),
            ("-/bin/d", "-/v/start /bin/d"),
            ("+-:/bin/d a", "+-:/v/start /bin/d a"),
            ("!!/bin/d", "!!/v/start /bin/d"),
            ("\"/opt/a b/d\" \"c d\"", "/v/start \"/opt/a b/d\" \"c d\""),
            ("/opt/%i/a$b", "/v/start /opt/%i/a$$b"),
            (":/opt/a$b", ":/v/start /opt/a$b"),
            ("@/bin/d /bin/d -x", "/v/start /bin/d -x"),
            ("-@/bin/d /bin/d", "-/v/start /bin/d"),
        ] {
            assert_eq!(started(value).as_deref(), Ok(expected), "{value}");
        }
        assert!(started("@/bin/d other -x").is_err());
        assert!(started("/bin/d a \\").is_err() && started("/bin/d a\\\\").is_ok());
        for value in ["", "-", "\"/bin/d", "/bin/\\x41"] {
            assert_eq!(ExecLine::parse(value), None, "{value}");
        }
    }
}
