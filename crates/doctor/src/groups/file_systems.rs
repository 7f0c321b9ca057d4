//! The file systems of programs, user files, temporary files and the working directory, and their disks.

use std::path::PathBuf;

use coldstart_host::block_device::BlockDevice;
use coldstart_host::mounts::Mount;
use coldstart_host::text::chosen;

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Status};
use crate::file_system::{Kind, device_path};
use crate::groups::facts::Facts;
use crate::probes::{PlaceProbe, Probes};
use crate::root::Root;
use crate::surroundings::Surroundings;

/// The places, each with its file system.
#[derive(Clone, Debug)]
pub(crate) struct FileSystems {
    places: Vec<Place>,
    knows_mounts: bool,
}

#[derive(Clone, Debug)]
struct Place {
    name: &'static str,
    path: PathBuf,
    mount: Option<Mount>,
    kind: Option<Kind>,
    disk: Option<Disk>,
    probe: PlaceProbe,
}

/// The underlying block device, as `/sys` shows it.
#[derive(Clone, Debug, Default)]
struct Disk {
    rotational: Option<bool>,
    read_ahead_kib: Option<i64>,
    scheduler: Option<String>,
}

pub(crate) fn look(root: &Root, surroundings: &Surroundings, probes: &Probes) -> FileSystems {
    let place = |(name, path): (&'static str, PathBuf)| {
        let probe = probes.places.iter().find(|probe| probe.name == name).cloned().unwrap_or_default();
        let real = probe.real_path.as_ref().unwrap_or(&path);
        // A path that could not be resolved completely may lead anywhere; only file systems known to hang by their kind
        // were skipped.
        let is_followed = probe.real_path.is_some() || probe.name.is_empty();
        let named = surroundings.mounts.of(real).cloned();
        let mount = named.filter(|mount| is_followed || Kind::of(mount).may_hang());
        let kind = mount.as_ref().map(Kind::of).filter(|kind| *kind != Kind::Other).or(probe.kind);
        let disk = mount.as_ref().and_then(|mount| disk_of(root, mount));
        Place { name, path, kind, disk, mount, probe }
    };
    FileSystems {
        places: surroundings.places().into_iter().map(place).collect(),
        knows_mounts: !surroundings.mounts.all().is_empty(),
    }
}

fn disk_of(root: &Root, mount: &Mount) -> Option<Disk> {
    let by_number = BlockDevice::numbered(mount.device).directory();
    // btrfs and others number their file systems, not their devices.
    let by_name = || {
        let name = device_path(mount)?.file_name()?.to_owned();
        Some(PathBuf::from("/sys/class/block").join(name))
    };
    let place = if root.exists(&by_number) { by_number } else { by_name().filter(|place| root.exists(place))? };
    // A partition has no queue; its disk is the parent directory.
    let queue = if root.exists(place.join("partition")) { place.join("../queue") } else { place.join("queue") };
    let scheduler = root.text(queue.join("scheduler")).ok().map(|line| chosen(&line).to_owned());
    Some(Disk {
        rotational: root.number(queue.join("rotational")).ok().map(|value| value != 0),
        read_ahead_kib: root.number(queue.join("read_ahead_kb")).ok(),
        scheduler,
    })
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    let places = &facts.file_systems.places;
    let mut checks: Vec<Check> = places.iter().map(|place| file_system(place, facts)).collect();
    checks.push(extents(places));
    checks.push(direct_reads(places));
    checks.push(devices(facts));
    checks
}

fn file_system(place: &Place, facts: &Facts) -> Check {
    let source = "proc_pid_mountinfo(5); /sys/dev/block/*/queue (Documentation/block/queue-sysfs.rst)";
    let name = match place.name {
        "here" => "file-system-here".to_owned(),
        other => format!("file-system-of-{other}"),
    };
    let mut words = vec![place.path.display().to_string()];
    if let Some(mount) = &place.mount {
        words.push(mount.file_system.to_string_lossy().into_owned());
    }
    words.extend(place.kind.map(|kind| kind.words().to_owned()));
    let options = ["noatime", "relatime", "strictatime", "lazytime", "noexec"];
    if let Some(mount) = &place.mount {
        words.extend(options.iter().filter(|option| mount.has_option(option)).map(|option| (*option).to_owned()));
        if mount.is_read_only() {
            words.push("read-only".to_owned());
        }
    }
    if let Some(disk) = &place.disk {
        words.extend(disk.rotational.map(|turns| if turns { "rotational" } else { "not rotational" }.to_owned()));
        words.extend(disk.read_ahead_kib.map(|kib| format!("{kib} KiB readahead")));
        words.extend(disk.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    }
    let now = words.join(", ");
    let Some(kind) = place.kind else {
        let reason = match (&place.probe.fiemap, facts.file_systems.knows_mounts) {
            (Answer::Works, true) => "its mount is unknown".to_owned(),
            (_, false) => "no mount table".to_owned(),
            (answer, true) => answer.words(),
        };
        return Check::new(name, Status::Unknown, format!("{}: {reason}", place.path.display()))
            .cost("Whether files there can be made cold, and how, is unknown.")
            .source(source);
    };
    use Ability::{MeasureBoot, MeasureCold, MeasureSelective};
    let holds_programs = place.name == "usr";
    let (status, cost, because) = match kind {
        Kind::Disk => (Status::Yes, String::new(), ""),
        Kind::Memory => (
            Status::Partly,
            "Files there are always in memory: nothing can be made cold, and prefetching gains nothing.".to_owned(),
            "programs in /usr are in memory and never cold",
        ),
        Kind::Layered => (
            Status::Partly,
            "Pages belong to files of the lower layers: they are listed by `mincore` instead of counted, and those of other users' \
             files are hidden; recordings have no order of pages there, and plans no metadata blocks."
                .to_owned(),
            "programs in /usr are on a stacked file system: states are checked page by page",
        ),
        Kind::Network | Kind::Served => (
            Status::Partly,
            "The server's own cache is not dropped: a start counts as cold even if the server answers from memory. \
             There are no disk offsets to order reads by."
                .to_owned(),
            "programs in /usr come from a server, whose own cache stays",
        ),
        Kind::Other => (
            Status::Unknown,
            "Page cache behaviour of this kind of file system is unknown; results are checked.".to_owned(),
            "",
        ),
    };
    let check = Check::new(name, status, now).source(source).cost(cost);
    if status == Status::Yes {
        return check;
    }
    let check = check.needed("a file system on a disk");
    if holds_programs && !because.is_empty() {
        return check.leaves(Status::Partly, &[MeasureCold, MeasureBoot, MeasureSelective], because);
    }
    check
}

/// The place of programs: its failures matter, those in /tmp do not.
fn programs(places: &[Place]) -> Option<&Place> {
    places.iter().find(|place| place.name == "usr")
}

fn told(places: &[Place], answer: fn(&PlaceProbe) -> &Answer) -> String {
    let told = places.iter().map(|place| {
        let answer = answer(&place.probe);
        let word = if answer.works() { "yes".to_owned() } else { answer.words() };
        format!("{}: {word}", place.path.display())
    });
    told.collect::<Vec<_>>().join("; ")
}

fn status_of(answer: Option<&Answer>) -> Status {
    match answer {
        Some(Answer::Works) => Status::Yes,
        Some(Answer::Refused(_)) => Status::No,
        Some(Answer::Untried(_)) | None => Status::Unknown,
    }
}

fn extents(places: &[Place]) -> Check {
    let status = status_of(programs(places).map(|place| &place.probe.fiemap));
    let check = Check::new("extents", status, told(places, |probe| &probe.fiemap))
        .source("Documentation/filesystems/fiemap.rst, tried on a file of each place");
    if status == Status::Yes {
        return check;
    }
    check
        .needed("a file system that reports the disk offsets of files (ext4, xfs, btrfs, f2fs)")
        .cost(
            "Plans that are read before the program starts are ordered by file instead of by disk offset; on rotational \
             disks this costs about a third of the gain.",
        )
        .leaves(
            if status == Status::No { Status::Partly } else { status },
            &[Ability::PrefetchRecord],
            "reads are not ordered by disk offset",
        )
}

fn direct_reads(places: &[Place]) -> Check {
    let status = status_of(programs(places).map(|place| &place.probe.direct));
    let check = Check::new("direct-reads", status, told(places, |probe| &probe.direct)).source("open(2), O_DIRECT");
    if status == Status::Yes {
        return check;
    }
    check
        .needed("O_DIRECT on the file system of programs")
        .cost("The disk cannot be measured: plans assume an ordinary SSD (0.1 ms a read, 500 MB/s, 8 reads at once).")
        .leaves(
            if status == Status::No { Status::Partly } else { status },
            &[Ability::PrefetchRecord],
            "the disk is not measured but assumed to be an ordinary SSD",
        )
}

fn devices(facts: &Facts) -> Check {
    let source = "open(2) of each mounted device; metadata of ext4 and others is cached as pages of the device";
    let name = "block-devices";
    let mut tried: Vec<(&PathBuf, &Answer)> = Vec::new();
    for (path, answer) in
        facts.file_systems.places.iter().filter_map(|place| place.probe.device.as_ref().map(|(p, a)| (p, a)))
    {
        if !tried.iter().any(|(known, _)| *known == path) {
            tried.push((path, answer));
        }
    }
    use Ability::{PagecacheDevices, PrefetchRecord};
    if tried.is_empty() {
        return Check::new(name, Status::Unknown, "no block device was found under these places")
            .cost("Metadata blocks (directories, inodes) are not in plans; they are a tenth of the requests of a cold start.")
            .source(source)
            .leaves(Status::Unknown, &[PagecacheDevices], "no block device was found to try it on");
    }
    let words: Vec<String> = tried
        .iter()
        .map(|(path, answer)| {
            let word = if answer.works() { "readable".to_owned() } else { answer.words() };
            format!("{}: {word}", path.display())
        })
        .collect();
    let status = match (tried.iter().any(|(_, answer)| answer.works()), tried.iter().all(|(_, answer)| answer.works()))
    {
        (_, true) => Status::Yes,
        (true, false) => Status::Partly,
        (false, false) => Status::No,
    };
    let check = Check::new(name, status, words.join("; ")).source(source);
    if status == Status::Yes {
        return check;
    }
    let refused = tried.iter().find(|(_, answer)| !answer.works());
    let command = match (refused, facts.who.is_machine_root()) {
        // Root is refused by a rule of the machine (device cgroup, LSM), which no command of ours can change.
        (Some(_), true) => None,
        (Some((path, _)), false) => Some(facts.who.as_root(&format!("coldstart pagecache show {}", path.display()))),
        (None, _) => None,
    };
    check
        .needed("readable")
        .cost(
            "Metadata blocks (directories, inodes) are not in plans; they are a tenth of the requests of a cold start. The \
             device's own cached pages cannot be shown.",
        )
        .grants(command)
        .leaves(status, &[PagecacheDevices], "the device cannot be opened")
        .leaves(Status::Partly, &[PrefetchRecord], "plans have no metadata blocks")
}
