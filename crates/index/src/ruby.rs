//! The index for Ruby: which entries of the load path have which files, and the code of all sources in one pack.
//!
//! Not obvious: the hook starts as a file `rubygems.rb` in the first directory of RUBYLIB, which Ruby loads by name before anything else. So it
//! stands below RubyGems and Bundler, which take Ruby's `require` as they find it, and has their code at hand, too. With `-r` in RUBYOPT it
//! would come after RubyGems, and each program would end once the index has been removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::listing::Times;
use crate::log::{Event, escaped};
use crate::manifest::SourceFile;
use crate::providers::Providers;
use crate::searches::Searches;
use crate::sources::settled_sources;

/// Stands in front of RubyGems.
pub const RUBYGEMS: &str = include_str!("../shims/ruby/rubygems.rb");
/// Runs in every start of the recorded interpreter.
pub const HOOK: &str = include_str!("../shims/ruby/hook.rb");
/// Run by the recorded interpreter when an index is made: compiles.
pub const PACK: &str = include_str!("../shims/ruby/pack.rb");
/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG_RUBY";

/// Names of the files in the index's directory for Ruby.
pub mod files {
    /// [`super::RUBYGEMS`].
    pub const RUBYGEMS: &str = "ruby/rubygems.rb";
    /// [`super::HOOK`] compiled, behind what it is valid for.
    pub const HOOK: &str = "ruby/hook.bin";
    /// What the hook knows.
    pub const INDEX: &str = "ruby/index.bin";
    /// The sources' code.
    pub const PACK: &str = "ruby/pack.bin";
}

/// The index for one interpreter of Ruby.
#[derive(Debug)]
pub struct RubyIndex {
    /// The interpreter.
    pub executable: PathBuf,
    /// Its version.
    pub version: String,
    /// Number of names that nothing had.
    pub missing: u64,
    /// Who has what: names are files, with their suffix.
    pub providers: Providers,
    /// Sources whose code belongs into the pack.
    pub sources: Vec<SourceFile>,
    tag: Vec<u8>,
}

impl RubyIndex {
    /// From the log of a recorded start; waits for what has just changed. `None` if no Ruby wrote into it.
    pub fn new(events: &[Event]) -> Option<Self> {
        let searches = Searches::of(events)?;
        let own = |event: &&Event| searches.has(event.process);
        let first = events.iter().find(|event| event.kind == b'P')?;
        let real = RealEntries::of(&searches.entries);
        let found = events.iter().filter(own).filter(|event| event.kind == b'F');
        let names: BTreeSet<Vec<u8>> = found
            .filter(|event| real.leads_to(event.field(0), event.field(2)))
            .flat_map(|event| variants(event.field(0)))
            .collect();
        let code = events.iter().filter(own).filter(|event| event.kind == b'C');
        let paths = code.map(|event| Path::new(OsStr::from_bytes(event.field(0)))).filter(|path| is_real(path));
        Some(Self {
            version: String::from_utf8_lossy(first.field(2)).into_owned(),
            providers: Providers::new(&searches.entries, &names, &|name| vec![name.to_vec()], Times::Nanoseconds),
            sources: settled_sources(paths),
            executable: searches.executable,
            missing: searches.missing.len() as u64,
            tag: searches.tag,
        })
    }

    /// What [`PACK`] reads: names and entries. Times are in nanoseconds.
    pub fn text(&self) -> Vec<u8> {
        self.providers.encode(&self.tag, 1)
    }

    /// The list of sources for [`PACK`].
    pub fn list(&self) -> Vec<u8> {
        let mut list = Vec::new();
        for source in &self.sources {
            list.extend(escaped(source.path.as_os_str().as_bytes()));
            let device = source.identity.device.map_or("-1".to_owned(), |device| device.to_string());
            let identity = source.identity;
            let rest = format!(
                "\t{device}\t{}\t{}\t{}\t{}\n",
                identity.inode, identity.modified, identity.changed, source.bytes
            );
            list.extend(rest.into_bytes());
        }
        list
    }

    /// Of the sources, those in the pack, as [`PACK`] prints their numbers.
    pub fn packed(&self, printed: &str) -> Vec<SourceFile> {
        let numbers = printed.lines().filter_map(|line| line.parse::<usize>().ok());
        numbers.filter_map(|number| self.sources.get(number).cloned()).collect()
    }

    /// Whether all sources in the pack may be read by everybody; otherwise the pack must not be, either.
    pub fn is_public(&self) -> bool {
        self.sources.iter().all(SourceFile::is_public)
    }
}

/// Whether no part of a path is a link: compiled code knows its real path.
fn is_real(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// The files that a name may stand for (`search_required` in Ruby's `load.c`).
fn variants(name: &[u8]) -> Vec<Vec<u8>> {
    match name.ends_with(b".rb") || name.ends_with(b".so") {
        true => vec![name.to_vec()],
        false => [&b".rb"[..], b".so"].iter().map(|suffix| [name, suffix].concat()).collect(),
    }
}

/// Entries as Ruby searches them: without links (`rb_construct_expanded_load_path`).
struct RealEntries(BTreeMap<Vec<u8>, PathBuf>);

impl RealEntries {
    fn of(entries: &[Vec<u8>]) -> Self {
        let real = |entry: &Vec<u8>| Some((entry.clone(), Path::new(OsStr::from_bytes(entry)).canonicalize().ok()?));
        Self(entries.iter().filter_map(real).collect())
    }

    /// Whether a name that was found as `path` was found in an entry, by the rules that we know.
    fn leads_to(&self, name: &[u8], path: &[u8]) -> bool {
        // To Ruby these are other suffixes of libraries.
        if [&b".o"[..], b".dll", b".bundle"].iter().any(|suffix| name.ends_with(suffix)) {
            return false;
        }
        let variants = variants(name);
        self.0
            .values()
            .any(|entry| variants.iter().any(|file| entry.join(OsStr::from_bytes(file)).as_os_str().as_bytes() == path))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_name_counts_if_it_was_found_in_an_entry_as_ruby_names_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/lib")).unwrap();
        symlink("a", root.join("link")).unwrap();
        let bytes = |name: &str| root.join(name).into_os_string().into_encoded_bytes();
        let real = RealEntries::of(&[bytes("link/lib"), bytes("absent")]);
        assert!(real.leads_to(b"x", &bytes("a/lib/x.rb")) && real.leads_to(b"x/y.so", &bytes("a/lib/x/y.so")));
        assert!(!real.leads_to(b"x", &bytes("link/lib/x.rb")) && !real.leads_to(b"x.o", &bytes("a/lib/x.o.rb")));
        assert!(!real.leads_to(b"x", b"") && !real.leads_to(b"x", &bytes("other/x.rb")));
    }
}
