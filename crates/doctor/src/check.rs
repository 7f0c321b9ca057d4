//! One thing that was looked at: what it is now, what is needed, what its lack costs, and the command that grants it.
//!
//! A check's effects are what the summary of verbs is made of: nobody says twice that a verb loses something. A check
//! without effects is told all the same, for people who profile by other means, and spoils no verb.

use serde::Serialize;

use crate::ability::Ability;

/// How much of something there is, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All of it.
    #[default]
    Yes,
    /// It cannot be told here.
    Unknown,
    /// Some of it, or a stand-in.
    Partly,
    /// Nothing.
    No,
}

impl Status {
    /// The word that people and scripts read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check does to one of our abilities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The ability.
    pub ability: Ability,
    /// What is left of it. [`Status::Yes`]: it works, and what it says is worth less.
    pub leaves: Status,
    /// Why, a clause without capital and full stop: "only the program's own files can be made cold".
    pub because: String,
}

/// Where a command is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// In the shell that coldstart is run from.
    Here,
    /// On the machine outside the container, by its root.
    Host,
}

/// A command that grants what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// As typed into a shell.
    pub command: String,
    /// Where.
    pub run: Where,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name for scripts: `drop-caches`, `file-system-of-home`.
    pub name: String,
    /// What is there.
    pub status: Status,
    /// The value found, or why it could not be read.
    pub now: String,
    /// The value that would be best; empty where there is nothing to want.
    pub needed: String,
    /// What its lack costs, sentences in the user's words; empty when nothing is lost.
    pub cost: String,
    /// What would change it, the best first; empty when nothing would.
    pub grants: Vec<Grant>,
    /// Where the rule comes from: a kernel file, a manual page.
    pub source: &'static str,
    /// What it does to our abilities.
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

    /// Notes what is left of each of these abilities.
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
