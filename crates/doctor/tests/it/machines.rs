//! Machines that we do not have: what is claimed of them.

use std::fs;

use coldstart_doctor::{
    Ability, Answer, Facts, PlaceProbe, Probes, Refusal, Status, Surroundings, Verb, Where, impossible_verbs, judge,
    standings,
};
use coldstart_host::kernel;
use coldstart_sys::private_mounts::Method;
use coldstart_sys::tracing::Tracer;

use crate::common::{EACCES, ENOSYS, EPERM, MOUNTS, Machine, STATUS};

#[test]
fn everything_is_there() {
    let mut machine = Machine::new();
    machine.surroundings.display = Some(":0".to_owned());
    machine.probes.display = Some(Answer::Works);
    let judged = machine.judged();
    // There is no loader on it.
    let of_loader = [Ability::Pack, Ability::Resolve, Ability::Bind, Ability::BindAudit];
    let elsewhere = Some(Ability::TraceRecord).filter(|_| !Tracer::HAS_BREAKPOINTS);
    let partly = |ability| of_loader.contains(&ability) || elsewhere == Some(ability);
    for standing in judged.standings.iter().filter(|standing| !partly(standing.ability)) {
        assert_eq!(standing.status, Status::Yes, "{standing:?}");
    }
    assert_eq!(impossible_verbs(&judged.standings), []);
}

#[test]
fn nothing_can_be_read_and_nothing_tried() {
    let root = tempfile::tempdir().unwrap();
    let checks = judge(&Facts::look(root.path(), &Surroundings::default(), Probes::default()));
    assert!(checks.iter().all(|check| !check.now.is_empty()), "{checks:#?}");
    let standings = standings(&checks);
    let of = |ability| standings.iter().find(|standing| standing.ability == ability).unwrap().status;
    assert_eq!((of(Ability::Inspect), of(Ability::Verify)), (Status::Yes, Status::Yes));
    assert_eq!((of(Ability::Pack), of(Ability::MeasureSelective)), (Status::Unknown, Status::No));
}

#[test]
fn every_missing_thing_says_what_it_costs() {
    let mut machine = Machine::new();
    machine.become_user();
    machine.probes = Probes { user: Some(1000), ..Probes::default() };
    for judged in [machine.judged(), Machine::new().judged()] {
        for check in judged.checks {
            assert!(!check.source.is_empty(), "{}", check.name);
            assert!(check.status == Status::Yes || !check.cost.is_empty(), "{}", check.name);
            for grant in check.grants {
                assert!(!grant.command.contains('\n') && !grant.command.is_empty(), "{}", check.name);
            }
        }
    }
}

#[test]
fn an_ordinary_user_is_told_how_to_become_root() {
    let mut machine = Machine::new();
    machine.become_user();
    let judged = machine.judged();
    assert_eq!(judged.of(Ability::MeasureCold), Status::No);
    assert_eq!(judged.of(Ability::MeasureBoot), Status::No);
    assert_eq!(judged.of(Ability::MeasureSelective), Status::Partly);
    assert_eq!(judged.of(Ability::PrefetchRecord), Status::Partly);
    assert_eq!(judged.of(Ability::PagecacheRestore), Status::Partly);
    assert_eq!(judged.command("drop-caches"), "su -c 'coldstart measure --state cold -- PROGRAM'");
    machine.write("/usr/bin/sudo", "");
    assert_eq!(machine.judged().command("drop-caches"), "sudo coldstart measure --state cold -- PROGRAM");
    assert_eq!(machine.judged().check("drop-caches").grants[0].run, Where::Here);
}

#[test]
fn root_of_a_container_is_sent_outside() {
    let mut machine = Machine::new();
    machine.probes.drop_caches = Answer::Refused(30);
    machine.mount("26 25 0:22 /sys /proc/sys ro - proc proc rw");
    let judged = machine.judged();
    assert_eq!(judged.command("drop-caches"), "mount -o remount,rw /proc/sys");
    machine.write("proc/self/status", STATUS.replace("ffffffffff\n", "fa80425fb\n"));
    machine.write("/.dockerenv", "");
    let judged = machine.judged();
    assert_eq!(judged.check("drop-caches").now, format!("{} is mounted read-only", kernel::SETTINGS));
    let grants = &judged.check("drop-caches").grants;
    assert_eq!((grants[0].run, grants[1].command.as_str()), (Where::Host, "docker run --privileged IMAGE"));
    assert_eq!(judged.status("root"), Status::Partly);
    assert!(judged.check("surroundings").now.contains("looks like a container"));
}

#[test]
fn root_of_a_user_namespace_is_no_root() {
    let mut machine = Machine::new();
    machine.write("proc/self/uid_map", "0 1000 1\n");
    machine.probes.others_file.as_mut().unwrap().is_own = true;
    let judged = machine.judged();
    assert_eq!((judged.status("root"), judged.status("user-namespace")), (Status::Partly, Status::No));
    assert_eq!(judged.of(Ability::PagecacheOthers), Status::Partly);
}

#[test]
fn an_old_kernel_is_told_from_a_filter() {
    let mut machine = Machine::new();
    machine.probes.cachestat = ENOSYS;
    assert!(machine.judged().check("cachestat").now.contains("a system call filter"));
    machine.write("proc/sys/kernel/osrelease", "5.10.0-30-amd64\n");
    let judged = machine.judged();
    assert_eq!(judged.check("cachestat").now, "Linux 5.10.0-30-amd64 does not have it");
    assert_eq!(judged.of(Ability::PagecacheDevices), Status::No);
    assert_eq!(judged.of(Ability::PagecacheOwn), Status::Partly);
}

#[test]
fn without_watching_no_program_can_be_measured() {
    for (probes, name) in [
        (
            Probes { observer: Answer::Refused(22), names_readable: None, ..Machine::new().probes },
            "watching-file-names",
        ),
        (Probes { pidfd: ENOSYS, ..Machine::new().probes }, "pidfd"),
        (Probes { null_device: Answer::Refused(2), ..Machine::new().probes }, "dev-null"),
    ] {
        let judged = Machine { probes, ..Machine::new() }.judged();
        assert_eq!(judged.status(name), Status::No);
        assert_eq!(impossible_verbs(&judged.standings), [Verb::Measure, Verb::Speedup], "{name}");
        assert_eq!(judged.of(Ability::PrefetchRun), Status::Yes);
    }
}

#[test]
fn yama_3_hides_the_names_until_the_next_boot() {
    let mut machine = Machine::new();
    machine.write("proc/sys/kernel/yama/ptrace_scope", "3\n");
    machine.probes.names_readable = Some(false);
    let judged = machine.judged();
    assert_eq!(judged.status("reading-file-names"), Status::No);
    assert!(judged.command("reading-file-names").contains("reboot"));
    assert_eq!(judged.of(Ability::MeasureSelective), Status::No);
    assert_eq!(judged.of(Ability::MeasureHot), Status::Partly);
    // By its rule alone, where nothing was tried: 1 lets us read what we started.
    machine.probes.names_readable = None;
    for (scope, status) in [("1", Status::Yes), ("2", Status::Yes), ("3", Status::No)] {
        machine.write("proc/sys/kernel/yama/ptrace_scope", scope);
        assert_eq!(machine.judged().status("reading-file-names"), status, "{scope}");
    }
}

#[test]
fn programs_are_followed_where_tracing_is_allowed() {
    let mut machine = Machine::new();
    machine.write("proc/sys/kernel/yama/ptrace_scope", "2\n");
    machine.probes.tracing = EPERM;
    let judged = machine.judged();
    assert_eq!((judged.status("tracing"), judged.of(Ability::VerifyRun)), (Status::No, Status::No));
    assert_eq!((judged.of(Ability::TraceRecord), judged.of(Ability::TraceShow)), (Status::No, Status::Yes));
    assert!(judged.command("tracing").contains("kernel.yama.ptrace_scope=1"), "{}", judged.command("tracing"));
    assert_eq!(judged.of(Ability::Verify), Status::Yes, "nothing is started for a proof");
    assert_eq!(impossible_verbs(&judged.standings), []);
    // By its rule alone, where nothing was tried.
    machine.become_user();
    machine.probes.tracing = Answer::default();
    for (scope, status) in [("1", Status::Unknown), ("2", Status::No), ("3", Status::No)] {
        machine.write("proc/sys/kernel/yama/ptrace_scope", scope);
        assert_eq!(machine.judged().status("tracing"), status, "{scope}");
    }
}

#[test]
fn binding_needs_links_and_their_exchange() {
    let mut machine = Machine::new();
    machine.probes.exchange = ENOSYS;
    assert_eq!(machine.judged().status("exchange-names"), Status::No);
    machine.write("proc/sys/kernel/osrelease", "3.10.0-1160.el7\n");
    assert_eq!(machine.judged().command("exchange-names"), "install a kernel of Linux 3.15 or later");
    machine.probes.links = EPERM;
    let judged = machine.judged();
    assert_eq!((judged.status("symbolic-links"), judged.of(Ability::Bind)), (Status::No, Status::Partly));
    assert_eq!((judged.of(Ability::Unbind), judged.of(Ability::Ldcache)), (Status::Yes, Status::Yes));
}

#[test]
fn debian_s_own_paranoia_refuses_all_events() {
    let mut machine = Machine::new();
    machine.become_user();
    machine.write("proc/sys/kernel/perf_event_paranoid", "4\n");
    (machine.probes.perf_user, machine.probes.perf_kernel) = (EACCES, EACCES);
    let judged = machine.judged();
    assert_eq!(judged.status("perf-events"), Status::No);
    assert!(judged.check("perf-events").now.contains("kernel.perf_event_paranoid = 4"));
    assert_eq!(judged.command("perf-events"), "su -c 'sysctl -w kernel.perf_event_paranoid=1'");
    assert_eq!(judged.of(Ability::TraceRecord), Status::Partly, "phases are left");
    for (paranoid, status) in [("1", Status::Yes), ("2", Status::Partly), ("4", Status::No)] {
        machine.write("proc/sys/kernel/perf_event_paranoid", paranoid);
        (machine.probes.perf_user, machine.probes.perf_kernel) = Default::default();
        assert_eq!(machine.judged().status("perf-events"), status, "{paranoid}");
    }
}

/// What is left of `trace`, and why.
fn traces(machine: &Machine) -> (Status, Vec<String>) {
    let judged = machine.judged();
    let standing = judged.standings.iter().find(|standing| standing.ability == Ability::TraceRecord).unwrap();
    (standing.status, standing.because.clone())
}

#[test]
fn pages_are_seen_one_by_one_from_a_kernel_on() {
    if !Tracer::HAS_BREAKPOINTS {
        return println!("skipped: without breakpoints traces are always partial");
    }
    let around = "pages are seen up to 16 at a time (fault-around)".to_owned();
    let mut machine = Machine::new();
    assert_eq!(traces(&machine), (Status::Yes, Vec::new()));
    machine.write("proc/sys/kernel/osrelease", "6.6.0\n");
    assert_eq!(traces(&machine), (Status::Partly, vec![around]));
    assert!(machine.judged().command("userfaultfd").contains("6.7"));
    // No rights are needed for it.
    machine.write("proc/sys/kernel/osrelease", "6.7.0\n");
    machine.write("proc/sys/vm/unprivileged_userfaultfd", "0\n");
    machine.probes.userfaultfd_device = EACCES;
    assert_eq!(machine.judged().status("userfaultfd"), Status::Yes);
    machine.write("proc/self/status", format!("{STATUS}Seccomp:\t2\nSeccomp_filters:\t1\n"));
    assert_eq!(traces(&machine).0, Status::Unknown, "the filter may refuse it");
    machine.write("proc/self/status", format!("{STATUS}Seccomp:\t0\nSeccomp_filters:\t0\n"));
    assert_eq!(traces(&machine).0, Status::Yes);
    fs::remove_file(machine.path("proc/sys/vm/unprivileged_userfaultfd")).unwrap();
    machine.probes.userfaultfd_device = Answer::Refused(2);
    assert_eq!((machine.judged().status("userfaultfd"), traces(&machine).0), (Status::No, Status::Partly));
}

#[test]
fn what_a_trace_loses_is_told_one_by_one() {
    if !Tracer::HAS_BREAKPOINTS {
        return println!("skipped: without breakpoints traces are always partial");
    }
    let with = |change: &dyn Fn(&mut Probes)| {
        let mut machine = Machine::new();
        change(&mut machine.probes);
        traces(&machine)
    };
    for (found, expected) in [
        (with(&|probes| probes.perf_user = EACCES), "no page touches: phases and files only (perf events)"),
        (with(&|probes| probes.perf_kernel = EACCES), "pages that the kernel touches for the program are not seen"),
        (with(&|probes| probes.tracefs = EPERM), "reads of parts of files, and disk I/O, are not seen"),
        (with(&|probes| probes.observer = EPERM), "only without files: `--layers phases,pages,functions`"),
        (with(&|probes| probes.debug_registers = Answer::Refused(28)), "no loader phases (debug registers)"),
    ] {
        assert_eq!(found, (Status::Partly, vec![expected.to_owned()]));
    }
    assert_eq!(with(&|probes| probes.pidfd = ENOSYS).0, Status::No);
    assert_eq!(with(&|probes| probes.debug_registers = Answer::default()).0, Status::Unknown);
    // It works, and its figures are worth less.
    let machine = Machine::new();
    machine.write("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    assert_eq!(traces(&machine), (Status::Yes, vec!["huge pages of files may hide touches".to_owned()]));
    assert!(machine.judged().command("huge-pages").starts_with("echo madvise"));
    machine.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    assert_eq!(traces(&machine), (Status::Yes, Vec::new()));
}

#[test]
fn hidden_processes_are_told() {
    let mut machine = Machine::new();
    machine.become_user();
    machine.write("proc/self/mountinfo", MOUNTS.replace("proc proc rw", "proc proc rw,hidepid=invisible"));
    let judged = machine.judged();
    assert!(judged.check("other-processes").now.contains("hidepid=invisible"));
    assert_eq!(judged.of(Ability::PagecacheEvict), Status::Partly);
}

#[test]
fn clocks_and_turbo() {
    let machine = Machine::new();
    let directory = "/sys/devices/system/cpu";
    machine.write(&format!("{directory}/online"), "0-7\n");
    machine.write(&format!("{directory}/cpu0/cpufreq/scaling_governor"), "powersave\n");
    machine.write(&format!("{directory}/cpu0/cpufreq/scaling_driver"), "intel_pstate\n");
    machine.write(&format!("{directory}/intel_pstate/no_turbo"), "0\n");
    let judged = machine.judged();
    assert_eq!(judged.check("clock").now, "governor powersave, driver intel_pstate");
    assert_eq!(judged.command("turbo"), "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo");
    assert_eq!(judged.of(Ability::MeasureHot), Status::Yes, "it works; its figures are worth less");
    machine.write(&format!("{directory}/intel_pstate/no_turbo"), "1\n");
    assert_eq!(machine.judged().status("turbo"), Status::Yes);
    fs::remove_dir_all(machine.path("/sys/devices/system/cpu/intel_pstate")).unwrap();
    machine.write(&format!("{directory}/cpufreq/boost"), "1\n");
    assert_eq!(machine.judged().command("turbo"), "echo 0 > /sys/devices/system/cpu/cpufreq/boost");
}

#[test]
fn monitors_that_page_out_are_named() {
    let machine = Machine::new();
    let monitor = "/sys/kernel/mm/damon/admin/kdamonds/0";
    machine.write(&format!("{monitor}/state"), "on\n");
    machine.write(&format!("{monitor}/contexts/0/schemes/0/action"), "stat\n");
    assert_eq!(machine.judged().status("proactive-reclaim"), Status::Yes);
    machine.write(&format!("{monitor}/contexts/0/schemes/1/action"), "pageout\n");
    let judged = machine.judged();
    assert_eq!(judged.command("proactive-reclaim"), format!("echo off > {monitor}/state"));
    assert_eq!(judged.of(Ability::MeasureHot), Status::Partly);
    machine.write(&format!("{monitor}/state"), "off\n");
    machine.write("/sys/module/damon_reclaim/parameters/enabled", "Y\n");
    assert_eq!(machine.judged().command("proactive-reclaim"), "echo N > /sys/module/damon_reclaim/parameters/enabled");
}

#[test]
fn a_small_group_of_version_2() {
    let machine = Machine::new();
    machine.mount("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    machine.write("proc/self/cgroup", "0::/app\n");
    machine.write("proc/meminfo", "MemTotal: 16000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    machine.write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    machine.write("/sys/fs/cgroup/cgroup.subtree_control", "memory\n");
    machine.write("/sys/fs/cgroup/app/cgroup.type", "domain\n");
    machine.write("/sys/fs/cgroup/app/memory.max", "134217728\n");
    let judged = machine.judged();
    assert_eq!(judged.check("memory-limit").now, "128 MiB of the machine's 15625 MiB");
    assert_eq!(judged.of(Ability::PrefetchRun), Status::Partly);
    assert_eq!(judged.check("control-groups").now, "version 2: a group can be created in /sys/fs/cgroup");
    machine.write("/sys/fs/cgroup/app/memory.max", "max\n");
    assert_eq!(machine.judged().status("memory-limit"), Status::Yes);
}

#[test]
fn disks_that_turn_and_servers() {
    let mut machine = Machine::new();
    machine.write("/sys/dev/block/8:1/partition", "1\n");
    // The kernel has links here; a partition's disk is the directory above where they lead.
    fs::create_dir_all(machine.path("/sys/devices/sda")).unwrap();
    fs::rename(machine.path("/sys/dev/block/8:1"), machine.path("/sys/devices/sda/sda1")).unwrap();
    std::os::unix::fs::symlink("../../devices/sda/sda1", machine.path("/sys/dev/block/8:1")).unwrap();
    machine.write("/sys/devices/sda/queue/rotational", "1\n");
    machine.write("/sys/devices/sda/queue/read_ahead_kb", "128\n");
    machine.write("/sys/devices/sda/queue/scheduler", "none [mq-deadline] bfq\n");
    let now = machine.judged().check("file-system-of-usr").now.clone();
    assert_eq!(now, "/usr, ext4, on a disk, relatime, rotational, 128 KiB readahead, scheduler mq-deadline");
    // Links that lead to a server that is gone: what stands in the table for their names says nothing.
    let unanswered = Answer::Untried("no answer in time".to_owned());
    machine.surroundings.working_directory = Some("/links/there".into());
    let probe = PlaceProbe { name: "here", path: "/links/there".into(), fiemap: unanswered, ..PlaceProbe::default() };
    machine.probes.places.push(probe);
    assert_eq!(machine.judged().check("file-system-here").now, "/links/there: no answer in time");
    machine.mount("40 22 0:50 / /home nosuid - nfs4 server:/home rw,hard");
    machine.surroundings.home = Some("/home/somebody".into());
    let judged = machine.judged();
    assert_eq!(judged.status("file-system-of-home"), Status::Partly);
    assert_eq!(judged.of(Ability::MeasureCold), Status::Yes, "programs are in /usr");
    machine.mount("41 22 0:51 / /usr rw - tmpfs tmpfs rw");
    assert_eq!(machine.judged().of(Ability::MeasureCold), Status::Partly);
}

#[test]
fn a_device_that_refuses_root_has_no_remedy() {
    let mut machine = Machine::new();
    machine.probes.places[0].device = Some(("/dev/sda1".into(), EPERM));
    let judged = machine.judged();
    assert_eq!(judged.check("block-devices").now, "/dev/sda1: Operation not permitted (EPERM)");
    assert_eq!(judged.command("block-devices"), "");
    assert_eq!(judged.of(Ability::PrefetchRecord), Status::Partly);
}

#[test]
fn displays() {
    let mut machine = Machine::new();
    assert_eq!(machine.judged().status("display"), Status::No);
    assert_eq!(machine.judged().of(Ability::MeasureWindow), Status::Partly, "a display can be named");
    machine.surroundings.wayland = Some("wayland-0".to_owned());
    assert!(machine.judged().check("display").now.starts_with("Wayland only"));
    machine.surroundings.display = Some(":0".to_owned());
    machine.probes.display = Some(Answer::Works);
    assert_eq!(machine.judged().status("display"), Status::Yes);
    assert_eq!(machine.judged().of(Ability::MeasureWindow), Status::Yes);
}

#[test]
fn hostile_files_are_survived() {
    let machine = Machine::new();
    let noise: Vec<u8> = (0..4096_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let files = [
        "proc/self/status",
        "proc/self/uid_map",
        "proc/self/mountinfo",
        "proc/self/cgroup",
        "proc/meminfo",
        "proc/loadavg",
        "proc/cpuinfo",
        "proc/sys/kernel/osrelease",
        "/sys/devices/system/cpu/online",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/etc/ld.so.cache",
        "/usr/bin/env",
    ];
    for content in [noise.as_slice(), b"", b"\0", b"0 0 0", b" - ", b"4:::::", b"99999999999999999999-1,,--"] {
        for file in files {
            machine.write(file, content);
        }
        assert!(machine.judged().checks.len() > 20);
    }
}

#[test]
fn files_can_be_replaced_in_a_private_view_or_the_reason_is_told() {
    let refusal = |setting| Refusal { reason: "files cannot be replaced: a reason".to_owned(), setting };
    let set = Some((kernel::settings::APPARMOR_RESTRICT_USERNS, "0"));
    for (view, status, command) in [
        (Some(Ok(Method::UserNamespace)), Status::Yes, None),
        (Some(Err(refusal(set))), Status::Partly, Some("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")),
        (Some(Err(refusal(None))), Status::Partly, Some("coldstart speedup -- PROGRAM")),
        (None, Status::Unknown, None),
    ] {
        let mut machine = Machine::new();
        machine.probes.private_view = view;
        let judged = machine.judged();
        let check = judged.check("private-view");
        assert_eq!(check.status, status, "{check:?}");
        let told = check.grants.first().map(|grant| grant.command.as_str());
        assert!(command.is_none_or(|command| told.is_some_and(|told| told.contains(command))), "{check:?}");
    }
}

#[test]
fn start_images_need_root_erofs_and_loop_devices() {
    let mut machine = Machine::new();
    let of = |machine: &Machine| {
        let judged = machine.judged();
        let of = |ability| judged.of(ability);
        let image = [Ability::ImageMake, Ability::ImageShow, Ability::ImageRun, Ability::ImageMount].map(of);
        (judged.status("image-mounts"), image, judged.of(Ability::Speedup))
    };
    use Status::{No, Partly, Unknown, Yes};
    assert_eq!(of(&machine), (Yes, [Yes; 4], Yes));
    let image_make = |machine: &Machine| {
        let judged = machine.judged();
        let standing = judged.standings.iter().find(|standing| standing.ability == Ability::ImageMake).unwrap();
        (standing.status, standing.because.len())
    };
    machine.probes.perf_kernel = EACCES;
    assert_eq!(image_make(&machine), (Yes, 0), "what the program itself touches is enough");
    machine.probes.perf_user = EACCES;
    assert_eq!(image_make(&machine), (Partly, 1));
    (machine.probes.perf_user, machine.probes.perf_kernel) = (Answer::Works, Answer::Works);
    machine.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    let (status, image, _) = of(&machine);
    assert_eq!((status, image[2..].to_vec()), (No, vec![No, No]));
    assert!(machine.judged().command("image-mounts").contains("modprobe loop"));
    machine.write("dev/loop-control", "");
    assert_eq!(of(&machine).0, Yes);
    // As a module that is not loaded: the first mount loads it.
    machine.write("proc/filesystems", "nodev\tproc\n\text4\n");
    assert_eq!(of(&machine).0, No);
    assert_eq!(impossible_verbs(&machine.judged().standings), [], "an image can be made for other machines");
    machine.write("lib/modules/6.1.0-18-amd64/modules.dep", "kernel/fs/erofs/erofs.ko.xz: kernel/lib/lz4.ko\n");
    assert_eq!(of(&machine).0, Yes);
    machine.become_user();
    let (status, image, speedup) = of(&machine);
    assert_eq!((status, image[1..].to_vec(), speedup), (Partly, vec![Yes, Partly, No], Partly));
    fs::remove_file(machine.path("proc/filesystems")).unwrap();
    fs::remove_file(machine.path("lib/modules/6.1.0-18-amd64/modules.dep")).unwrap();
    assert_eq!(of(&machine).0, Unknown);
}

#[test]
fn names_that_cannot_be_read_leave_no_recordings_and_no_index() {
    let mut machine = Machine::new();
    machine.probes.names_readable = Some(false);
    let judged = machine.judged();
    let lost = [Ability::PrefetchRecord, Ability::IndexMake, Ability::InstalledRefresh, Ability::MeasureSelective];
    assert_eq!(lost.map(|ability| judged.of(ability)), [Status::No; 4]);
    let left = [Ability::ImageMake, Ability::Installed, Ability::IndexRun];
    assert_eq!(left.map(|ability| judged.of(ability)), [Status::Yes; 3]);
    let usual = Machine::new().judged().of(Ability::TraceRecord);
    assert_eq!(judged.of(Ability::TraceRecord), usual, "traces are partial on some processors anyway");
}
