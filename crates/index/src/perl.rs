//! The index for Perl: which entries of `@INC` have which files.
//!
//! Not obvious: the hook is started by `PERL5OPT=-M5;BEGIN{...do(q{FILE})}`, that is `use 5;` with code behind it. A module named there
//! would end every program once the index has been removed; `do` with a missing file does nothing.

use std::path::PathBuf;

use crate::listing::Times;
use crate::log::Event;
use crate::providers::Providers;
use crate::searches::Searches;

/// Runs in every start.
pub const HOOK: &str = include_str!("../shims/perl/hook.pl");
/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG_PERL";

/// Names of the files in the index's directory for Perl.
pub mod files {
    /// [`super::HOOK`].
    pub const HOOK: &str = "perl/hook.pl";
    /// What [`super::PerlIndex::encode`] returns.
    pub const INDEX: &str = "perl/index.txt";
}

/// The index for one interpreter of Perl.
#[derive(Debug)]
pub struct PerlIndex {
    /// The interpreter.
    pub executable: PathBuf,
    /// Its version.
    pub version: String,
    /// Number of names that nothing had.
    pub missing: u64,
    /// Who has what.
    pub providers: Providers,
    tag: Vec<u8>,
}

impl PerlIndex {
    /// From the log of a recorded start. `None` if no Perl wrote into it.
    pub fn new(events: &[Event]) -> Option<Self> {
        let searches = Searches::of(events)?;
        let version = events.iter().find(|event| event.kind == b'P').map(|event| event.field(2)).unwrap_or_default();
        Some(Self {
            version: String::from_utf8_lossy(version).trim_start_matches('v').to_owned(),
            providers: Providers::new(&searches.entries, &searches.found, &variants, Times::Seconds),
            executable: searches.executable,
            missing: searches.missing.len() as u64,
            tag: searches.tag,
        })
    }

    /// The data for the hook. Perl tells times in seconds.
    pub fn encode(&self) -> Vec<u8> {
        self.providers.encode(&self.tag, 1_000_000_000)
    }
}

/// A compiled `.pmc` goes before its `.pm` in each entry (`S_doopen_pm` in `pp_ctl.c`).
fn variants(name: &[u8]) -> Vec<Vec<u8>> {
    let compiled = name.ends_with(b".pm").then(|| [name, b"c"].concat());
    std::iter::once(name.to_vec()).chain(compiled).collect()
}
