//! Matches the files of two traces, and lists caveats for comparing them.
//!
//! What a newcomer would not guess: two starts of the same program hardly ever are equal in all but one thing. What
//! differs besides is said in sentences, and shown above every comparison.

mod caveats;
mod partners;

use coldstart_profile::trace::FileId;

use crate::page::TraceSource;

/// How two traces belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Of each file of the first trace: its partner in the second. No file has two partners.
    pub partners: Vec<Option<FileId>>,
    /// Why figures of the two must not be held against one another, or with care only, a sentence each.
    pub caveats: Vec<String>,
}

impl Comparison {
    /// Of two traces.
    pub fn of(first: &TraceSource<'_>, second: &TraceSource<'_>) -> Self {
        let partners = partners::partners(first.trace, second.trace);
        let caveats = caveats::caveats(first, second, &partners);
        Self { partners, caveats }
    }
}
