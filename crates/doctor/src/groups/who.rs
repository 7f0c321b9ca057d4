//! The user, capabilities, user namespace, and signs of a container or a chroot.
//!
//! Root in a user namespace is root over what belongs to the namespace, which the machine's settings do not. No call
//! reports "this is a container": signs are only reported as signs, and select the advice that fits.

use coldstart_host::process::{Status as ProcessStatus, own};

use crate::ability::Ability;
use crate::check::{Check, Grant, Status, Where};
use crate::file_system::Kind;
use crate::groups::facts::Facts;
use crate::probes::Probes;
use crate::root::{MOST, Root};
use crate::surroundings::Surroundings;

/// The capabilities that coldstart uses, with their numbers (`include/uapi/linux/capability.h`).
const CAPABILITIES: [(u32, &str); 8] = [
    (1, "dac_override"),
    (2, "dac_read_search"),
    (3, "fowner"),
    (19, "sys_ptrace"),
    (21, "sys_admin"),
    (24, "sys_resource"),
    (38, "perfmon"),
    (40, "checkpoint_restore"),
];

pub(crate) const SYS_PTRACE: u32 = 19;
pub(crate) const SYS_ADMIN: u32 = 21;

/// The user and its environment.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) user: Result<u32, String>,
    pub(crate) capabilities: Result<u64, String>,
    /// Whether the user namespace maps every user to itself, as the initial one does.
    pub(crate) first_namespace: Result<bool, String>,
    uid_map: String,
    /// The most that a set-user-ID root program could get (`CapBnd`).
    bounding_set: Result<u64, String>,
    /// Signs of a container, most certain first.
    pub(crate) container: Vec<String>,
    /// Signs of a chroot.
    chroot: Vec<String>,
    has_sudo: bool,
    has_docker_signs: bool,
}

pub(crate) fn look(root: &Root, surroundings: &Surroundings, probes: &Probes) -> Who {
    let status = root.bytes(own::STATUS, MOST).map(ProcessStatus::new);
    let has_no = |name: &str| format!("{} has no {name}", own::STATUS);
    let user = || -> Result<u32, String> {
        let status = status.as_ref().map_err(Clone::clone)?;
        status.field("Uid").ok_or_else(|| has_no("Uid"))?;
        status.effective_user().ok_or_else(|| format!("{} has no effective user", own::STATUS))
    };
    let set = |name: &str| -> Result<u64, String> {
        let status = status.as_ref().map_err(Clone::clone)?;
        status.field(name).ok_or_else(|| has_no(name))?;
        status.set(name).ok_or_else(|| format!("{name} is not a number"))
    };
    let uid_map = root.text(own::USER_MAP);
    let whole = |map: &String| map.split_whitespace().eq(["0", "0", "4294967295"]);
    let container = container_signs(root, surroundings);
    Who {
        user: probes.user.map_or_else(user, Ok),
        capabilities: probes.capabilities.map_or_else(|| set("CapEff"), Ok),
        bounding_set: set("CapBnd"),
        first_namespace: uid_map.as_ref().map(whole).map_err(Clone::clone),
        uid_map: uid_map.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
        chroot: chroot_signs(surroundings, probes),
        has_sudo: ["/usr/bin/sudo", "/bin/sudo", "/usr/local/bin/sudo"].iter().any(|path| root.exists(path)),
        has_docker_signs: container.iter().any(|sign| sign.contains("docker")),
        container,
    }
}

fn container_signs(root: &Root, surroundings: &Surroundings) -> Vec<String> {
    let mut signs = Vec::new();
    let files = [
        ("/.dockerenv", "docker: /.dockerenv exists"),
        ("/run/.dockerenv", "docker: /run/.dockerenv exists"),
        ("/run/.containerenv", "podman: /run/.containerenv exists"),
        ("/var/run/secrets/kubernetes.io", "kubernetes: /var/run/secrets/kubernetes.io exists"),
    ];
    signs.extend(files.iter().filter(|(path, _)| root.exists(path)).map(|(_, sign)| (*sign).to_owned()));
    if let Some(kind) = &surroundings.container {
        signs.push(format!("the environment says container={kind}"));
    }
    if let Some(kind) = root.text("/run/systemd/container").ok().filter(|kind| !kind.is_empty()) {
        signs.push(format!("/run/systemd/container says {kind}"));
    }
    let group = root.text(own::CONTROL_GROUPS).unwrap_or_default();
    let words = ["docker", "kubepods", "libpod", "lxc", "crio", "containerd", "machine.slice/"];
    if let Some(word) = words.iter().find(|word| group.contains(**word)) {
        signs.push(format!("the control group's name has {}", word.trim_end_matches('/')));
    }
    let is_layered = surroundings
        .mounts
        .all()
        .iter()
        .any(|mount| mount.place.as_os_str() == "/" && Kind::of(mount) == Kind::Layered);
    if is_layered {
        signs.push("the root file system is stacked".to_owned());
    }
    signs
}

fn chroot_signs(surroundings: &Surroundings, probes: &Probes) -> Vec<String> {
    let mut signs = Vec::new();
    if probes.root_of_init == Some(false) {
        signs.push("process 1 has another root directory".to_owned());
    }
    let mounts = surroundings.mounts.all();
    // The table lists mounts reachable from our root; the root of a chroot is usually not a mount.
    if !mounts.is_empty() && !mounts.iter().any(|mount| mount.place.as_os_str() == "/") {
        signs.push("no file system is mounted at /".to_owned());
    }
    signs
}

impl Who {
    /// Whether we have a capability, in any namespace.
    pub(crate) fn has(&self, capability: u32) -> bool {
        self.capabilities.as_ref().is_ok_and(|set| set & (1 << capability) != 0)
    }

    fn is_root(&self) -> bool {
        self.user == Ok(0)
    }

    /// Root over the machine, as far as known.
    pub(crate) fn is_machine_root(&self) -> bool {
        self.is_root() && self.first_namespace != Ok(false)
    }

    /// Whether the machine's settings can only be changed from outside: an apparent container may have all privileges,
    /// and an apparent host may lack them.
    pub(crate) fn is_confined(&self) -> bool {
        let in_reach = self.bounding_set.as_ref().map(|set| set & (1 << SYS_ADMIN) != 0);
        self.first_namespace == Ok(false) || !in_reach.unwrap_or(self.container.is_empty())
    }

    /// The command line for running a command as the machine's root.
    pub(crate) fn as_root(&self, command: &str) -> Grant {
        if self.is_confined() {
            return Grant { command: command.to_owned(), run: Where::Host };
        }
        let command = match (self.is_root(), self.has_sudo) {
            (true, _) => command.to_owned(),
            (false, true) if !command.contains(['>', ';', '|', '*']) => format!("sudo {command}"),
            // A redirection or a pipe needs root, too.
            (false, true) => format!("sudo sh -c '{command}'"),
            (false, false) => format!("su -c '{command}'"),
        };
        Grant { command, run: Where::Here }
    }

    /// The command that sets a kernel setting.
    pub(crate) fn sysctl(&self, name: &str, value: &str) -> Grant {
        self.as_root(&format!("sysctl -w {name}={value}"))
    }

    /// The command that writes a value into a file of the kernel.
    pub(crate) fn write(&self, value: &str, path: &str) -> Grant {
        self.as_root(&format!("echo {value} > {path}"))
    }

    /// The command that starts such a container with all privileges, if it looks like one of Docker's.
    pub(crate) fn privileged_container(&self) -> Option<Grant> {
        let command = "docker run --privileged IMAGE".to_owned();
        (self.has_docker_signs && self.is_confined()).then_some(Grant { command, run: Where::Host })
    }

    fn capability_names(&self) -> String {
        let names: Vec<&str> =
            CAPABILITIES.iter().filter(|(number, _)| self.has(*number)).map(|(_, name)| *name).collect();
        if names.is_empty() { "none that matter here".to_owned() } else { names.join(", ") }
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![user(facts), namespace(facts), surroundings(facts)]
}

fn user(facts: &Facts) -> Check {
    let who = &facts.who;
    let (status, now) = match &who.user {
        Ok(0) if who.first_namespace == Ok(false) => (Status::Partly, "root of a user namespace".to_owned()),
        Ok(0) if who.has(SYS_ADMIN) => (Status::Yes, "root".to_owned()),
        Ok(0) => (Status::Partly, "root without CAP_SYS_ADMIN".to_owned()),
        Ok(user) => (Status::No, format!("user {user}")),
        Err(reason) => (Status::Unknown, reason.clone()),
    };
    let capabilities = match &who.capabilities {
        Ok(_) => who.capability_names(),
        Err(reason) => format!("unknown: {reason}"),
    };
    let check = Check::new("root", status, format!("{now}; capabilities: {capabilities}"))
        .source("capabilities(7); fs/drop_caches.c; kernel/trace/trace.c");
    if status == Status::Yes {
        return check;
    }
    // The losses are listed by the individual checks.
    check
        .needed("root")
        .cost(
            "Nothing by itself: everything that requires root is tried and listed below. That includes dropping all caches, recording \
             pages in their order, and seeing other users' pages.",
        )
        .grants([who.as_root("coldstart doctor")])
}

fn namespace(facts: &Facts) -> Check {
    let who = &facts.who;
    let source = "user_namespaces(7)";
    match &who.first_namespace {
        Ok(true) => Check::new("user-namespace", Status::Yes, "the machine's own").source(source),
        Err(reason) => Check::new("user-namespace", Status::Unknown, reason.clone())
            .cost("If this is a user namespace, root here is not root of the machine.")
            .source(source),
        Ok(false) => Check::new("user-namespace", Status::No, format!("a user namespace ({})", who.uid_map))
            .needed("the machine's own")
            .cost(
                "Root here is root over what belongs to the namespace only: the machine's caches, its tracing and its \
                 settings do not, and files of unmapped users count as other users' files.",
            )
            .grants([Grant { command: "coldstart doctor".to_owned(), run: Where::Host }])
            .source(source),
    }
}

fn surroundings(facts: &Facts) -> Check {
    let who = &facts.who;
    let signs = [("a container", &who.container), ("a chroot", &who.chroot)];
    let looks: Vec<String> = signs
        .iter()
        .filter(|(_, signs)| !signs.is_empty())
        .map(|(what, signs)| format!("looks like {what} ({})", signs.join("; ")))
        .collect();
    let now = if looks.is_empty() { "no sign of a container or chroot".to_owned() } else { looks.join("; ") };
    // No cost by itself: its effects are tried.
    Check::new("surroundings", Status::Yes, now).source("container_env(7), proc_pid_mountinfo(5); signs, not proof")
}

/// What decides about access to other processes: used by several groups.
pub(crate) fn may_trace_others(facts: &Facts) -> bool {
    facts.who.has(SYS_PTRACE) && facts.who.first_namespace != Ok(false)
}

/// The ability that a recording without root loses.
pub(crate) const RECORDING: [Ability; 2] = [Ability::PrefetchRecord, Ability::Speedup];
