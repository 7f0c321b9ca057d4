//! `doctor`: which features work on this machine, what each missing one costs, and how to enable it.

use coldstart_doctor::{Check, Facts, Standing, Verb, impossible_verbs, judge, standings};
use serde::Serialize;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.doctor/1";

/// The result of `doctor`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The verb, if only one was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// Verbs that cannot work at all here.
    pub impossible: Vec<Verb>,
    /// How each ability of a verb works here.
    pub abilities: Vec<Standing>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// Checks this machine for one verb or all. Facts that no file states are tried out; nothing is changed.
pub fn doctor(verb: Option<Verb>) -> Report {
    Report::new(judge(&Facts::here()), verb)
}

impl Report {
    fn new(mut checks: Vec<Check>, verb: Option<Verb>) -> Self {
        let mut abilities = standings(&checks);
        if let Some(verb) = verb {
            abilities.retain(|standing| standing.verb == verb);
            checks.retain(|check| check.effects.iter().any(|effect| effect.ability.verb() == verb));
            for check in &mut checks {
                check.effects.retain(|effect| effect.ability.verb() == verb);
            }
        }
        Self { verb, impossible: impossible_verbs(&abilities), abilities, checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_verb_nothing_else_is_told() {
        let report = Report::new(judge(&Facts::here()), Some(Verb::Pack));
        assert!(!report.abilities.is_empty() && report.abilities.iter().all(|standing| standing.verb == Verb::Pack));
        let effects = report.checks.iter().flat_map(|check| &check.effects);
        assert!(effects.map(|effect| effect.ability.verb()).all(|verb| verb == Verb::Pack));
        assert!(report.impossible.iter().all(|verb| *verb == Verb::Pack));
    }
}
