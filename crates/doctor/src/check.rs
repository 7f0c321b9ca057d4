//! A check: its current value, the required one, the cost of missing it, and the command that provides it.
//!
//! The summary of verbs is derived from the checks' effects, so that it is stated only once. A check
//! without effects is shown all the same, for users of other profilers, and affects no verb.

use serde::Serialize;

use crate::ability::Ability;

/// How much is available, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All of it.
    #[default]
    Yes,
    /// Unknown.
    Unknown,
    /// Some of it, or a substitute.
    Partly,
    /// Nothing.
    No,
}

impl Status {
    /// The word for people and scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// A check's effect on one ability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The ability.
    pub ability: Ability,
    /// What is left of it. [`Status::Yes`]: it works, but its results are less reliable.
    pub leaves: Status,
    /// Why, a clause without capital and full stop: "only the program's own files can be made cold".
    pub because: String,
}

/// Where to run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// In the same shell as coldstart.
    Here,
    /// On the host of the container, as its root.
    Host,
}

/// A command that provides what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// As typed into a shell.
    pub command: String,
    /// Where.
    pub run: Where,
}

/// One check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name for scripts: `drop-caches`, `file-system-of-home`.
    pub name: String,
    /// Its result.
    pub status: Status,
    /// The value found, or why it could not be read.
    pub now: String,
    /// The best value; empty where there is none.
    pub needed: String,
    /// The cost of missing it, as sentences for the user; empty when nothing is lost.
    pub cost: String,
    /// Commands that change it, the best first; empty without any.
    pub grants: Vec<Grant>,
    /// The source of the rule: a kernel file, a manual page.
    pub source: &'static str,
    /// Its effects on abilities.
    pub effects: Vec<Effect>,
}

impl Check {
    pub(crate) fn new(name: impl Into<String>, status: Status, now: impl Into<String>) -> Self {
        Self { name: name.into(), status, now: now.into(), ..Self::default() }
    }

    pub(crate) fn needed(mut self, needed: impl Into<String>) -> Self {
        self.needed = needed.into();
        self
    }

    pub(crate) fn cost(mut self, cost: impl Into<String>) -> Self {
        self.cost = cost.into();
        self
    }

    pub(crate) fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    pub(crate) fn grants(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.grants.extend(grants);
        self
    }

    /// Sets what is left of each of these abilities.
    pub(crate) fn leaves(mut self, leaves: Status, abilities: &[Ability], because: &str) -> Self {
        let effect = |&ability: &Ability| Effect { ability, leaves, because: because.to_owned() };
        self.effects.extend(abilities.iter().map(effect));
        self
    }

    /// Whether something is missing that one of our verbs would use.
    pub fn is_missed(&self) -> bool {
        self.status != Status::Yes && !self.effects.is_empty()
    }
}
