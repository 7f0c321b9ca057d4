//! Every argument of every verb as a list, for tests and tools that need all of them.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory};

/// One argument of one verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedArgument {
    /// The verb and the verbs below it: `prefetch record`.
    pub verb: String,
    /// `--html`; `PLAN` for an argument without a flag.
    pub name: String,
    /// The kind of its values.
    pub values: ValueKind,
}

/// The kind of an argument's values, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// It has none.
    Flag,
    /// One of a fixed set of words.
    Choice,
    /// A file, a directory, or words of a command line: any bytes.
    Path,
    /// Text in a format of its own, which may contain a path: `boot=FILE`.
    Text,
}

/// The definition for parsing, from which help, man pages and completions are generated.
pub fn definition() -> Command {
    let mut command = super::Cli::command();
    command.build();
    command
}

/// All arguments that can be typed, in the order of the help, but for `--help`, `--version` and what all verbs share.
pub fn listed_arguments() -> Vec<ListedArgument> {
    let command = definition();
    let mut listed = Vec::new();
    for verb in command.get_subcommands() {
        list(verb, verb.get_name(), &mut listed);
    }
    listed
}

fn list(command: &Command, verb: &str, listed: &mut Vec<ListedArgument>) {
    // The automatic `help` below a verb repeats the definitions of its siblings.
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        list(below, &format!("{verb} {}", below.get_name()), listed);
    }
    let own = command.get_arguments().filter(|argument| !argument.is_global_set());
    let own = own.filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()));
    listed.extend(own.map(|argument| ListedArgument {
        verb: verb.to_owned(),
        name: name(argument),
        values: values(argument),
    }));
}

fn name(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_short(), argument.get_value_names()) {
        (Some(long), _, _) => format!("--{long}"),
        (None, Some(short), _) => format!("-{short}"),
        (None, None, Some([first, ..])) => first.to_string(),
        (None, None, _) => argument.get_id().to_string(),
    }
}

fn values(argument: &Arg) -> ValueKind {
    let parser = argument.get_value_parser();
    if !argument.get_action().takes_values() {
        ValueKind::Flag
    } else if [TypeId::of::<PathBuf>(), TypeId::of::<OsString>()].into_iter().any(|path| parser.type_id() == path) {
        ValueKind::Path
    } else if argument.get_possible_values().is_empty() {
        ValueKind::Text
    } else {
        ValueKind::Choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_verbs_below_verbs_are_listed_with_their_kind() {
        let listed = listed_arguments();
        let kind = |verb: &str, name: &str| {
            listed.iter().find(|found| found.verb == verb && found.name == name).map(|found| found.values)
        };
        assert_eq!(kind("prefetch record", "--output"), Some(ValueKind::Path));
        assert_eq!(kind("prefetch run", "PROGRAM"), Some(ValueKind::Path));
        assert_eq!(kind("measure", "--state"), Some(ValueKind::Text));
        assert_eq!(kind("measure", "--json"), Some(ValueKind::Flag));
        assert_eq!(kind("bind", "--mode"), Some(ValueKind::Choice));
        assert_eq!(kind("trace sql", "FILE"), Some(ValueKind::Path));
        assert!(listed.iter().all(|found| found.name != "--help" && found.name != "--color"));
    }
}
