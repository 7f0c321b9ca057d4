//! The page cache: dropping it, and querying it.
//!
//! Three similar cases must be distinguished: a kernel that is too old, a seccomp filter, and another user's
//! file. The first returns `ENOSYS` as expected from its release, the second unexpectedly, the third `EPERM`.

use coldstart_host::kernel::settings::DROP_CACHES;
use rustix::io::Errno;

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::root::Root;
use crate::surroundings::Surroundings;

/// Facts from files.
#[derive(Clone, Debug)]
pub(crate) struct PageCache {
    drop_caches_exists: bool,
    /// The mount that `/proc/sys` is on, when it is read-only.
    read_only_at: Option<String>,
}

pub(crate) fn look(root: &Root, surroundings: &Surroundings) -> PageCache {
    let mount = surroundings.mounts.of(std::path::Path::new(DROP_CACHES));
    PageCache {
        drop_caches_exists: root.exists(DROP_CACHES),
        read_only_at: mount.filter(|mount| mount.is_read_only()).map(|mount| mount.place.display().to_string()),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = Vec::new();
    // Without /proc there is nothing more to say about its files.
    if facts.processes.mounted.is_ok() {
        checks.push(drop_caches(facts));
    }
    checks.extend([cachestat(facts), mincore(facts), others_pages(facts)]);
    checks
}

fn drop_caches(facts: &Facts) -> Check {
    let source = "fs/drop_caches.c; Documentation/admin-guide/sysctl/vm.rst";
    let answer = &facts.probes.drop_caches;
    if answer.works() {
        return Check::new("drop-caches", Status::Yes, format!("{DROP_CACHES} is writable")).source(source);
    }
    let (who, page_cache) = (&facts.who, &facts.page_cache);
    let untried = matches!(answer, Answer::Untried(_));
    let read_only = page_cache.read_only_at.as_deref().filter(|_| who.user == Ok(0));
    let now = match read_only {
        Some(place) => format!("{place} is mounted read-only"),
        None if !page_cache.drop_caches_exists => format!("{DROP_CACHES} does not exist"),
        None => format!("{DROP_CACHES} cannot be opened for writing: {}", answer.words()),
    };
    let again = "coldstart measure --state cold -- PROGRAM";
    let mut grants = Vec::new();
    match read_only {
        Some(place) if who.is_machine_root() && who.has(super::who::SYS_ADMIN) => {
            grants.push(Grant { command: format!("mount -o remount,rw {place}"), run: Where::Here });
        }
        _ => grants.push(who.as_root(again)),
    }
    grants.extend(who.privileged_container());
    let status = if untried { Status::Unknown } else { Status::No };
    let (cold, recorded) = if untried { (Status::Unknown, Status::Unknown) } else { (Status::No, Status::Partly) };
    Check::new("drop-caches", status, now)
        .needed("writable: root of the machine, and /proc/sys not read-only")
        .cost(
            "`measure --state cold` and `--state boot` do not work. `--state selective` is a substitute: it evicts the program's own files, \
             while directories, inodes and the loader's files may stay in memory, so starts come out a little too fast \
             (5 to 11 % were seen). `prefetch record` and `speedup` use it automatically.",
        )
        .grants(grants)
        .source(source)
        .leaves(cold, &[Ability::MeasureCold, Ability::MeasureBoot], "the machine's caches may not be dropped here")
        .leaves(recorded, &[Ability::PagecacheRestore], "only with `--add`: the machine's caches may not be dropped")
        .leaves(
            recorded,
            &[Ability::PrefetchRecord, Ability::ImageMake, Ability::InstalledRefresh, Ability::Speedup],
            "from selectively cold starts instead of cold ones: the machine's caches may not be dropped",
        )
}

fn cachestat(facts: &Facts) -> Check {
    let source = "mm/filemap.c, cachestat (Linux 6.5)";
    let answer = &facts.probes.cachestat;
    let has_it = facts.kernel.since(6, 5);
    let check = match answer {
        Answer::Works => return Check::new("cachestat", Status::Yes, "works").source(source),
        Answer::Untried(reason) => Check::new("cachestat", Status::Unknown, reason.clone()),
        _ if answer.is(Errno::NOSYS) && has_it == Some(false) => {
            let now = format!("{} does not have it", facts.kernel.words());
            Check::new("cachestat", Status::No, now).grants([Grant {
                command: "install a kernel of Linux 6.5 or later".to_owned(),
                run: if facts.who.is_confined() { Where::Host } else { Where::Here },
            }])
        }
        _ if answer.is(Errno::NOSYS) || answer.is_forbidden() => {
            let now = format!("{} though {} has it: a system call filter", answer.words(), facts.kernel.words());
            let open = "docker run --security-opt seccomp=unconfined IMAGE";
            let grant = Grant { command: open.to_owned(), run: Where::Host };
            Check::new("cachestat", Status::No, now).grants(facts.who.is_confined().then_some(grant))
        }
        _ => Check::new("cachestat", Status::No, answer.words()),
    };
    let status = check.status;
    // Counting falls back to listing, which is reliable only for the owner, and does not work for block devices.
    let devices = if status == Status::No { Status::No } else { Status::Unknown };
    check
        .needed("works")
        .cost(
            "Resident pages are listed by `mincore` page by page: slower, without the number of dirty pages, and not \
             at all for block devices.",
        )
        .source(source)
        .leaves(devices, &[Ability::PagecacheDevices], "only `cachestat` is reliable for block devices")
        .leaves(Status::Partly.min(status), &[Ability::PagecacheOwn], "without the number of dirty pages")
}

fn mincore(facts: &Facts) -> Check {
    let source = "mincore(2); mm/mincore.c";
    let answer = &facts.probes.mincore;
    let status = match answer {
        Answer::Works => return Check::new("mincore", Status::Yes, "works").source(source),
        Answer::Untried(_) => Status::Unknown,
        Answer::Refused(_) => Status::No,
    };
    let left = if status == Status::Unknown { Status::Unknown } else { Status::Partly };
    Check::new("mincore", status, answer.words())
        .needed("works")
        .cost("The resident ranges of a file are found by bisecting, and not at all on stacked file systems.")
        .source(source)
        .leaves(left, &[Ability::PagecacheOwn], "files on stacked file systems cannot be queried")
}

fn others_pages(facts: &Facts) -> Check {
    let source = "mm/mincore.c, can_do_mincore (Linux 5.2); mm/filemap.c, can_do_cachestat";
    let Some(file) = &facts.probes.others_file else {
        return Check::new("other-files", Status::Unknown, "no file of the system was found for a trial")
            .cost("Whether `pagecache show` works for other users' files is unknown; it reports that for each file.")
            .source(source)
            .leaves(Status::Unknown, &[Ability::PagecacheOthers], "no file of the system was found for a trial");
    };
    let path = file.path.display();
    if file.lists.works() && (facts.who.is_machine_root() || !file.is_own) {
        let now = format!("residency of `{path}` is visible");
        return Check::new("other-files", Status::Yes, now).source(source);
    }
    if file.lists.works() {
        let because = "only of users who are mapped into this user namespace";
        return Check::new("other-files", Status::Partly, because)
            .needed("root of the machine")
            .cost("Files of users without an ID in this user namespace are listed as `unknown`.")
            .grants([facts.who.as_root("coldstart pagecache show FILE")])
            .source(source)
            .leaves(Status::Partly, &[Ability::PagecacheOthers], because);
    }
    use Ability::{MeasureBoot, MeasureCold, MeasureSelective, PagecacheEvict, PagecacheOthers};
    let counted = file.counts.works();
    let now = if counted {
        format!("pages of `{path}` are counted, but not listed: {}", file.lists.words())
    } else {
        format!("residency of `{path}` is hidden: {}", file.lists.words())
    };
    let check = Check::new("other-files", if counted { Status::Partly } else { Status::No }, now)
        .needed("root of the machine, or CAP_FOWNER over the files, or permission to write them")
        .cost(
            "For files that you neither own nor may write, `pagecache show` says `unknown`, `pagecache evict` drops them but \
             cannot verify it, and `measure` checks the state of a start only by its reads. `prefetch \
             record` finds the pages by reading without waiting.",
        )
        .grants([facts.who.as_root("coldstart pagecache show FILE")])
        .source(source);
    if counted {
        return check.leaves(
            Status::Partly,
            &[PagecacheOthers],
            "pages are counted, but their positions in the file are unknown",
        );
    }
    check
        .leaves(Status::Partly, &[Ability::PagecacheSave], "of your own files only")
        .leaves(Status::No, &[PagecacheOthers], "Linux shows it only to users who own the file or may write it")
        .leaves(
            Status::Partly,
            &[MeasureCold, MeasureBoot, MeasureSelective],
            "for other users' files the state is not checked",
        )
        .leaves(Status::Partly, &[PagecacheEvict], "eviction of other users' files cannot be verified")
}
