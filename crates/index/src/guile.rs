//! The index for Guile: which entries of the load paths have which files.
//!
//! Not obvious: Guile loads the first `init.scm` of its load path at each start, before any module. Ours stands in the first directory of
//! `GUILE_LOAD_PATH`, and loads all else as one compiled file, hook, data, and what puts the paths in order: what Guile reads as source costs it
//! as many instructions as its own start. Before that, Guile has loaded thirty files of its own, each looked for in all entries. So its own
//! directories, for which `...` stands in the variables, go first until then.

use std::path::PathBuf;

use crate::listing::Times;
use crate::log::Event;
use crate::providers::Providers;
use crate::searches::Searches;

/// Starts all else.
pub const INIT: &str = include_str!("../shims/guile/init.scm");
/// Puts the paths in order and starts the hook.
pub const ORDER: &str = include_str!("../shims/guile/order.scm");
/// The hook, with places for its data.
const HOOK: &str = include_str!("../shims/guile/hook.scm");
/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG_GUILE";

/// Names of the files in the index's directory for Guile.
pub mod files {
    /// [`super::INIT`].
    pub const INIT: &str = "guile/init.scm";
    /// [`super::ORDER`].
    pub const ORDER: &str = "guile/order.scm";
    /// What [`super::empty_hook`] or [`super::GuileIndex::source`] returns; only while an index is made.
    pub const HOOK: &str = "guile/hook.scm";
}

/// The index for one version of Guile.
#[derive(Debug)]
pub struct GuileIndex {
    /// The interpreter.
    pub executable: PathBuf,
    /// Its version.
    pub version: String,
    /// Number of names that nothing had.
    pub missing: u64,
    /// Who has what.
    pub providers: Providers,
}

impl GuileIndex {
    /// From the log of a recorded start. `None` if no Guile wrote into it.
    pub fn new(events: &[Event]) -> Option<Self> {
        let searches = Searches::of(events)?;
        // At its start Guile knows no encoding of file names: others are left to it.
        let entries: Vec<Vec<u8>> = searches.entries.into_iter().filter(|entry| is_plain(entry)).collect();
        let found = searches.found.into_iter().filter(|name| is_plain(name));
        // Guile's own search at each start, before the hook.
        let names = found.chain([b"init.scm".to_vec()]).collect();
        Some(Self {
            executable: searches.executable,
            version: String::from_utf8_lossy(&searches.tag).into_owned(),
            missing: searches.missing.len() as u64,
            providers: Providers::new(&entries, &names, &variants, Times::Seconds),
        })
    }

    /// The name of the compiled hook: another version does not load it.
    ///
    /// `None` if the version is no part of a file name.
    pub fn compiled(&self) -> Option<String> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        self.version.bytes().all(is_fine).then(|| format!("guile/{}.go", self.version))
    }

    /// What is compiled: a procedure that puts the paths in order and starts the hook with its data.
    pub fn source(&self) -> String {
        format!("((lambda (order install) (lambda (shim) (order shim install)))\n{ORDER}\n{})\n", self.hook())
    }

    /// The hook with its data, in Scheme.
    fn hook(&self) -> String {
        let quoted = |bytes: &[u8]| format!("\"{}\"", String::from_utf8_lossy(bytes));
        let entries: Vec<String> = self.providers.entries().iter().map(|entry| quoted(entry)).collect();
        let guards = self.providers.guards().iter().map(|guard| {
            let path = quoted(guard.path.as_os_str().as_encoded_bytes());
            match guard.identity {
                None => format!("'({path} -1 -1 0 0)"),
                Some(identity) => {
                    let device = identity.device.map_or("-1".to_owned(), |device| device.to_string());
                    let changed = identity.changed.div_euclid(1_000_000_000);
                    format!("'({path} {device} {} {} {changed})", identity.inode, identity.modified)
                }
            }
        });
        let guards: Vec<String> = guards.collect();
        let sections = self.providers.sections().map(|(section, guarded)| {
            let pairs: Vec<String> = guarded.iter().map(|(entry, guard)| format!("({entry} . {guard})")).collect();
            format!("({} {})", quoted(section), pairs.join(" "))
        });
        let sections: Vec<String> = sections.collect();
        let names = self.providers.names().map(|(name, having)| {
            let having: Vec<String> = having.iter().map(usize::to_string).collect();
            format!("({} {})", quoted(name), having.join(" "))
        });
        let names: Vec<String> = names.collect();
        filled([entries, guards, sections, names])
    }
}

/// The hook without data, for a recorded start.
pub fn empty_hook() -> String {
    filled([const { Vec::new() }; 4])
}

fn filled([entries, guards, sections, names]: [Vec<String>; 4]) -> String {
    HOOK.replace("@ENTRIES@", &entries.join("\n"))
        .replace("@GUARDS@", &guards.join("\n"))
        .replace("@SECTIONS@", &sections.join("\n"))
        .replace("@NAMES@", &names.join("\n"))
}

/// Whether a name can be written between quotation marks, and means the same in every encoding.
fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|&byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\' | b'@'))
}

/// The files by which a name is found, with `%load-extensions` and `%load-compiled-extensions` as they are by default.
fn variants(name: &[u8]) -> Vec<Vec<u8>> {
    [&b""[..], b".scm", b".go"].iter().map(|suffix| [name, suffix].concat()).collect()
}
