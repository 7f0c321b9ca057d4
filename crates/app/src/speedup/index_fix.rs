//! The fix "index": an index of modules, with which the interpreter finds each at the first try.
//!
//! It changes no file and needs no rights. Plans and images of the same set are recorded with it in use, and leave its files out, which the
//! launcher reads by itself.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, anyhow};
use coldstart_profile::printable;

use super::copies::TrialDirectory;
use super::fix::{Fix, Prospect, made_once};
use super::look_up_time::SearchedDirectories;
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::index::{IndexInUse, MakeOutcome, languages, make_with, observed};
use crate::observer::Silent;
use crate::text::{counted, plain};

/// What an interpreter itself does for a look-up takes as long as so many look-ups of a name in the root directory: each of Node's 25,400 calls in
/// docs/index.md, "What it saves", takes 3.7 µs, and the kernel needs 0.6 to 0.9 µs of them on that machine.
const OWN_WORK: f64 = 4.0;
/// Checks are asked so many at a time before the interpreter starts.
const AT_ONCE: f64 = 32.0;
/// An index that saves less than this share of a start, cold and hot, is not tried.
const LEAST_SHARE: f64 = 0.02;
/// Room for an index besides the launcher, in bytes: those of large programs take a few MB.
const ROOM: u64 = 16 << 20;

/// An index as a fix.
pub(super) struct IndexFix<'args> {
    /// Directory on whose file system the index lies.
    beside: &'args Path,
    /// Made at the first trial; all trials use it.
    made: OnceCell<Rc<TrialIndex>>,
}

/// An index for the trial, with a launcher.
pub(super) struct TrialIndex {
    pub(super) in_use: IndexInUse,
    pub(super) launcher: PathBuf,
    /// What it takes on the disk.
    pub(super) bytes: u64,
    made: MakeOutcome,
    _directory: TrialDirectory,
}

impl TrialIndex {
    /// What was proven when it was made.
    pub(super) fn finding(&self) -> String {
        let modules: u64 = self.made.languages.iter().map(|part| part.modules).sum();
        format!("{} from the same files with the index", plain(&counted(modules, "module")))
    }
}

impl<'args> IndexFix<'args> {
    pub(super) fn new(beside: &'args Path) -> Self {
        Self { beside, made: OnceCell::new() }
    }

    fn make(&self, subject: &Subject<'_>) -> Result<TrialIndex, AppError> {
        let launcher = &subject.launcher;
        let room = launcher.file.metadata().map_or(0, |found| found.len()).saturating_add(ROOM);
        let directory = TrialDirectory::beside(self.beside, room, &[self.beside.to_owned()])?;
        let index = directory.path().join("index");
        let made = make_with(&index, subject.program, subject.launch, false, &Silent)?;
        if !made.kept {
            return Err(anyhow!("the program is not the same with it: {}", made.differences.join("; ")).into());
        }
        let copy = directory.path().join(&launcher.name);
        launcher.copy_to(&copy).with_context(|| format!("cannot write to `{}`", printable(directory.path())))?;
        let in_use = IndexInUse::open(&index)?;
        Ok(TrialIndex { bytes: bytes_below(&index), in_use, launcher: copy, made, _directory: directory })
    }
}

/// What the files below a directory take, in bytes.
fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).fold(0, u64::saturating_add)
}

impl Fix for IndexFix<'_> {
    fn kind(&self) -> FixKind {
        FixKind::Index
    }

    fn name(&self) -> &'static str {
        "index"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        let files: BTreeSet<PathBuf> = subject.files().into_iter().collect();
        if let Err(error) = languages(subject.program, &files) {
            return Ok(Prospect::not(self, error.sentence()));
        }
        let start = match observed(subject.program, subject.launch, &[]) {
            Ok(start) => start,
            Err(error) if subject.interrupt.signal().is_some() => return Err(error),
            Err(error) => return Ok(Prospect::not(self, format!("its look-ups are unknown: {}", error.sentence()))),
        };
        let hot = subject.cached.plan.summary.hot_start.as_secs_f64();
        let searched = SearchedDirectories::measure(&start.searched);
        let saves = Savings::estimated(start.vain as f64, searched, subject.device().latency.as_secs_f64());
        let vain = plain(&counted(start.vain, "look-up"));
        let directories = plain(&counted(start.searched.len() as u64, "directory"));
        let cold = subject.cold_seconds();
        if saves.hot < hot * LEAST_SHARE && saves.cold < cold * LEAST_SHARE {
            return Ok(Prospect::not(
                self,
                format!("{vain} find nothing new, in {directories}: there is little to save"),
            ));
        }
        let why = format!("{vain} in {directories} find nothing new, and need not be made");
        Ok(Prospect::of(self, Some((cold - saves.cold).max(hot - saves.hot).max(0.0)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let made = made_once(&self.made, || Ok(Rc::new(self.make(subject)?)))?;
        setup.start_with_index(made);
        Ok(())
    }
}

/// What an index saves of a start, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Savings {
    cold: f64,
    hot: f64,
}

impl Savings {
    /// On a remote file system each look-up is a request at a cold start, elsewhere the first one in each directory is. An index asks for all
    /// directories, many at the same time.
    fn estimated(vain: f64, SearchedDirectories { local, remote, root }: SearchedDirectories, latency: f64) -> Self {
        let directories = (remote.directories + local.directories).max(1.0);
        let (locally, remotely) = (vain * local.directories / directories, vain * remote.directories / directories);
        let in_memory = vain * OWN_WORK * root + locally * local.look_up;
        let hot = in_memory + remotely * remote.look_up;
        let requests = remotely + local.directories - directories / AT_ONCE;
        Self { cold: hot.max(in_memory + requests.max(0.0) * latency), hot }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use coldstart_launch::{CommandLine, LaunchOptions};
    use coldstart_testing::{Turn, is_root, scratch, script};

    use super::super::image_fix::ImageFix;
    use super::super::launcher::Launcher;
    use super::super::look_up_time::Searched;
    use super::super::prefetch_fix::{Pages, PrefetchFix};
    use super::super::proof::Prover;
    use super::*;

    /// Sets the variable as the launcher does, and leaves the plan out.
    const LAUNCHER: &str = "#!/bin/sh\ntest \"$1\" = --index || exit 9\n\
        export PYTHONPATH=\"$2/current/python${PYTHONPATH:+:$PYTHONPATH}\"\n\
        while test \"$1\" != --; do shift; done\nshift\nexec \"$@\"\n";

    #[test]
    fn plans_and_images_are_recorded_with_the_index_in_use_and_without_its_files() {
        let _turn = Turn::alone("page-cache");
        let directory = scratch();
        let here = directory.path().canonicalize().unwrap();
        let mut imports = String::new();
        let mut path = Vec::new();
        for number in 0..40 {
            let entry = here.join(format!("p{number}"));
            fs::create_dir_all(entry.join(format!("pkg{number}"))).unwrap();
            fs::write(entry.join(format!("pkg{number}/__init__.py")), "value = 1\n").unwrap();
            imports.push_str(&format!("import pkg{number}\n"));
            path.push(entry);
        }
        fs::write(here.join("app.py"), imports).unwrap();
        fs::create_dir(here.join("bin")).unwrap();
        let file = script(&here.join("bin"), "launcher", LAUNCHER, 0o755);
        let launcher = Launcher { name: "launcher".to_owned(), words: Vec::new(), file };
        let program = CommandLine::new("/usr/bin/python3", [here.join("app.py")]);
        let path = std::env::join_paths(path).unwrap();
        let launch = LaunchOptions {
            environment: vec![("PYTHONPATH".into(), Some(path))],
            time_limit: Some(Duration::from_secs(120)),
            ..LaunchOptions::default()
        };
        let subject = Subject::record(&program, &launch, None, &launcher, None).unwrap();
        let mut index = IndexFix::new(&here);
        let prospect = index.predict(&subject).unwrap();
        assert!(prospect.applies && prospect.why.contains("look-ups in"), "{prospect:?}");
        let mut setup = Setup::plain(false);
        index.add_to(&mut setup, &subject).unwrap();
        PrefetchFix { pages: Pages::Cached, beside: &here }.add_to(&mut setup, &subject).unwrap();
        let own = setup.index().unwrap().in_use.directory().to_owned();
        let set = &setup.plan().unwrap().working_set;
        assert!(set.files.iter().any(|file| file.path == here.join("app.py")), "{set:?}");
        let others = set.files.iter().map(|file| &file.path).chain(set.names.iter().map(|name| &name.path));
        let wrong: Vec<_> = others.filter(|path| path.starts_with(&own) || path.ends_with("__pycache__")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let proof = Prover::new(&subject, None).prove(&mut setup).unwrap();
        assert!(
            proof.holds && proof.findings.iter().any(|finding| finding.contains("modules")),
            "{:?}",
            proof.findings
        );
        if is_root() {
            let mut from_image = Setup::plain(false);
            index.add_to(&mut from_image, &subject).unwrap();
            ImageFix { beside: &here }.add_to(&mut from_image, &subject).unwrap();
            let made = from_image.image().unwrap();
            assert!(made.read_bytes > 0 && made.read_bytes < made.bytes, "{made:?}");
            let file = fs::read(from_image.image_file().unwrap()).unwrap();
            let has = |path: &Path| {
                file.windows(path.as_os_str().len()).any(|part| part == path.as_os_str().as_encoded_bytes())
            };
            assert!(has(&here.join("app.py")) && !has(&own), "the image leaves the index out");
        }
        drop((setup, index));
        assert!(!own.exists(), "a trial leaves nothing");
    }

    #[test]
    fn a_remote_disk_is_asked_for_each_name_and_a_local_one_for_each_directory() {
        let millisecond = 1e-3;
        let on_disk = Searched { directories: 64.0, look_up: 1e-6 };
        let local = SearchedDirectories { local: on_disk, root: 0.5e-6, ..SearchedDirectories::default() };
        let saved = Savings::estimated(10_000.0, local, millisecond);
        assert!((saved.hot - 0.03).abs() < 1e-9 && (saved.cold - saved.hot - 0.062).abs() < 1e-9, "{saved:?}");
        // One that keeps names in memory, and one that asks again each time.
        for (look_up, hot) in [(1e-6, 0.03), (2e-3, 20.02)] {
            let away = Searched { directories: 64.0, look_up };
            let remote = SearchedDirectories { remote: away, root: 0.5e-6, ..SearchedDirectories::default() };
            let saved = Savings::estimated(10_000.0, remote, millisecond);
            assert!((saved.hot - hot).abs() < 1e-9 && (saved.cold - hot.max(10.018)).abs() < 1e-9, "{saved:?}");
        }
        let none = Savings::estimated(0.0, SearchedDirectories::default(), millisecond);
        assert_eq!(none, Savings { cold: 0.0, hot: 0.0 });
    }

    #[test]
    fn the_same_look_ups_save_more_on_a_slower_processor() {
        let at = |slowness: f64| {
            let local = Searched { directories: 10.0, look_up: slowness * 0.7e-6 };
            let searched = SearchedDirectories { local, root: slowness * 0.6e-6, ..SearchedDirectories::default() };
            Savings::estimated(2_732.0, searched, 0.0).hot
        };
        assert!((at(30.0) / at(1.0) - 30.0).abs() < 1e-9, "{} {}", at(1.0), at(30.0));
    }
}
