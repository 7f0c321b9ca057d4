//! Starts of programs held against our answer, on all processors at once.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use coldstart_loader::{Closure, Environment, FileSystem, Machine, Start, resolve};

use crate::account::{difference, ours, theirs};
/// How often something came up.
pub(crate) type Counts = BTreeMap<String, usize>;

/// How often each way of finding a library came up, so that the trees cannot quietly become harmless.
pub(crate) fn count(closure: &Closure, counts: &mut Counts) {
    let rules = closure.requests.iter().filter_map(|request| request.found_by);
    let decoys = closure.failed_probes.iter().map(|probe| probe.failure.to_string());
    let ends = closure.stopped.iter().map(|stopped| format!("stopped: {}", stopped.reason));
    let names = rules.map(|rule| rule.to_string()).chain(decoys).chain(ends);
    names.chain(closure.missing.iter().map(|_| "missing".to_owned())).for_each(|name| {
        *counts.entry(name).or_default() += 1;
    });
}

/// Does something for every seed, on all processors; panics with the first few differences that come up.
pub(crate) fn for_every_seed(seeds: u64, work: impl Fn(u64, &mut Counts) -> Vec<String> + Sync) -> Counts {
    let next = AtomicU64::new(0);
    let result = Mutex::new((Counts::new(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let (mut counts, mut differences) = (Counts::new(), Vec::new());
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    differences.extend(work(seed, &mut counts));
                }
                let mut result = result.lock().unwrap();
                counts.into_iter().for_each(|(name, count)| *result.0.entry(name).or_default() += count);
                result.1.extend(differences);
            });
        }
    });
    let (counts, differences) = result.into_inner().unwrap();
    eprintln!("{counts:#?}");
    let shown = differences.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(differences.is_empty(), "{} differences, among them:\n{shown}", differences.len());
    counts
}

/// ETXTBSY in glibc's words.
const BUSY: &str = "Text file busy";

/// Runs a command whose program, or the one that it starts in turn, may still be open for writing in a child that another
/// thread is just about to start.
pub(crate) fn start(command: &mut Command) -> Output {
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
            Ok(output) if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(BUSY) => {}
            output => return output.unwrap(),
        }
        std::thread::yield_now();
    }
}

/// Compares one start, whose command is complete, with our answer.
pub(crate) fn compare(
    mut command: Command,
    program: &Path,
    environment: &Environment,
    files: &impl FileSystem,
    counts: &mut Counts,
) -> Option<String> {
    let output = start(&mut command);
    let closure = match resolve(program, files, environment) {
        Ok(closure) => closure,
        Err(error) => return Some(error.to_string()),
    };
    count(&closure, counts);
    let cached = |name: &[u8]| {
        let flags = Machine::of(&closure.objects[0].facts)?.cache_flags;
        let levels = &environment.hwcaps.levels;
        let processor = environment.processor_levels.as_ref().unwrap_or(levels);
        let entry = environment.cache.as_ref()?.lookup_masked(name, flags, levels, processor)?;
        Some(String::from_utf8_lossy(entry.path).into_owned())
    };
    let mut theirs = theirs(&output);
    let mut ours = ours(&closure, files, environment.start == Start::Loader, &cached);
    if theirs.end.as_ref().is_some_and(|end| end.contains("DT_RELR without")) {
        // All is found, but of a libc that is not there the versions are asked in vain, before the list is printed.
        assert!(closure.missing.iter().any(|missing| missing.needed == b"libc.so.6"), "{theirs:?}");
        (theirs.end, theirs.listing) = (None, Vec::new());
        ours.listing.clear();
    }
    let difference = difference(&ours, &theirs)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.lines().filter(|line| !line.contains(":\t")).collect::<Vec<_>>().join("\n");
    let command: String = format!("{command:?}").chars().take(1500).collect();
    Some(format!("{difference}\n{command}\n{:?}\n{errors}", output.status))
}
