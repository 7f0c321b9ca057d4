//! `up`: from an image to a mounted file system on a slow disk.
//!
//! Each step is recorded before it is made. When one fails, or on Ctrl-C, all recorded steps are undone.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};

use crate::args::{Up, target};
use crate::bed::{BedKind, Busy, Lock, SCHEMA, State, Step, undo};
use crate::model::Parameters;
use crate::server::DISK;
use crate::sparse;
use crate::system::interrupt::Interrupt;
use crate::system::process::ProcessIdentity;
use crate::system::queue::QueueSettings;
use crate::system::{loop_device, mounts};

/// The kernel's default for most disks, and what the beds' figures are about.
const READ_AHEAD_KB: u64 = 128;
/// How long the server may take to mount its file.
const SERVER_PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Up) -> Result<ExitCode> {
    let parameters = arguments.overrides.parameters(arguments.kind)?;
    let home = arguments.which.home()?;
    let image = std::path::absolute(arguments.image.clone().unwrap_or_else(|| target().join("corpus/debian.ext4")))?;
    let mount_point = std::path::absolute(arguments.at.clone().unwrap_or_else(|| home.join("root")))?;
    check_ground(&image, parameters.is_some())?;
    let lock = Lock::take(&home)?;
    if let Some(state) = State::load(&home)? {
        let what = if state.complete { "is already up" } else { "is incomplete" };
        bail!("{} {what} ({})\nhint: coldstart-testbed down", state.name, state.mount_point.display());
    }
    ensure!(
        mounts::at(&mount_point)?.is_empty(),
        "another file system is already mounted at {}",
        mount_point.display()
    );

    let interrupt = Interrupt::watch()?;
    let state = State {
        schema: SCHEMA.into(),
        name: arguments.which.name.clone(),
        kind: arguments.kind,
        parameters,
        image,
        mount_point,
        complete: false,
        steps: Vec::new(),
    };
    let mut bed = Rising { home, state, interrupt };
    if let Err(error) = bed.rise() {
        eprintln!("undoing the steps made so far");
        return Err(match undo(&bed.home, &mut bed.state, Busy::Refuse) {
            Ok(()) => error,
            Err(left) => error.context(format!("could not undo everything ({left:#}); run `coldstart-testbed down`")),
        });
    }
    drop(lock);
    println!("{}", bed.state.mount_point.display());
    Ok(ExitCode::SUCCESS)
}

/// Checks the requirements before any change.
fn check_ground(image: &Path, needs_fuse: bool) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "a bed needs root: it mounts file systems and attaches loop devices");
    ensure!(
        image.is_file(),
        "there is no image at {}\nhint: `cargo xtask corpus` builds the default one",
        image.display()
    );
    ensure!(
        !needs_fuse || Path::new("/dev/fuse").exists(),
        "/dev/fuse is missing, which hdd and net require\nhint: modprobe fuse"
    );
    Ok(())
}

struct Rising {
    home: PathBuf,
    state: State,
    interrupt: Interrupt,
}

impl Rising {
    fn rise(&mut self) -> Result<()> {
        let copy = self.copy_image()?;
        let backing = match self.state.parameters.clone() {
            Some(parameters) => self.start_server(&copy, &parameters)?,
            None => copy,
        };
        let device = self.attach(&backing)?;
        self.set_queue(&device)?;
        self.mount_all(&device)?;
        self.interrupt.check()?;
        self.state.complete = true;
        self.state.save(&self.home)
    }

    /// Notes a step that is about to be done.
    fn note(&mut self, step: Step) -> Result<()> {
        self.interrupt.check()?;
        self.state.steps.push(step);
        self.state.save(&self.home)
    }

    fn make_directory(&mut self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.note(Step::Directory { path: path.to_owned() })?;
        Ok(fs::create_dir_all(path)?)
    }

    /// A copy to write to. For the models it lies in memory: dropping caches cannot touch it there, and what it costs to
    /// read is the model's alone.
    fn copy_image(&mut self) -> Result<PathBuf> {
        let path = match self.state.kind {
            // Every `up` has a name of its own here: two checkouts share this directory.
            BedKind::Hdd | BedKind::Net => {
                format!("/dev/shm/coldstart-testbed-{}-{}.img", self.state.name, std::process::id()).into()
            }
            BedKind::Disk => self.home.join(DISK),
        };
        self.note(Step::WorkingCopy { path: path.clone() })?;
        sparse::copy(&self.state.image, &path, &self.interrupt)?;
        Ok(path)
    }

    /// Starts the server and waits until its file is there.
    fn start_server(&mut self, copy: &Path, parameters: &Parameters) -> Result<PathBuf> {
        let mount_point = self.home.join("fuse");
        self.make_directory(&mount_point)?;
        self.note(Step::Server { mount_point: mount_point.clone(), process: None })?;
        let log = self.home.join("server.log");
        let output = fs::File::create(&log)?.into_parts().0;
        let mut server = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg("--image")
            .arg(copy)
            .arg("--at")
            .arg(&mount_point)
            .arg("--parameters")
            .arg(serde_json::to_string(parameters)?)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("cannot start the server")?;
        if let Some(Step::Server { process, .. }) = self.state.steps.last_mut() {
            *process = ProcessIdentity::of(server.id().cast_signed());
        }
        self.state.save(&self.home)?;
        let disk = mount_point.join(DISK);
        self.await_server(&mut server, &disk, &log)?;
        Ok(disk)
    }

    fn await_server(&self, server: &mut Child, disk: &Path, log: &Path) -> Result<()> {
        let deadline = Instant::now() + SERVER_PATIENCE;
        while !disk.exists() {
            self.interrupt.check()?;
            if let Some(status) = server.try_wait()? {
                bail!("the server ended ({status}): {}", fs::read_to_string(log).unwrap_or_default().trim());
            }
            ensure!(Instant::now() < deadline, "the server does not answer\nhint: its log is {}", log.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn attach(&mut self, backing: &Path) -> Result<PathBuf> {
        self.note(Step::Loop { backing: backing.to_owned(), device: None })?;
        let attached = loop_device::attach(backing)?;
        if let Some(Step::Loop { device, .. }) = self.state.steps.last_mut() {
            *device = Some(attached.clone());
        }
        self.state.save(&self.home)?;
        Ok(attached)
    }

    fn set_queue(&mut self, device: &Path) -> Result<()> {
        self.note(Step::Queue { device: device.to_owned(), before: QueueSettings::read(device)? })?;
        let rotational = self.state.kind == BedKind::Hdd;
        QueueSettings { scheduler: "none".into(), rotational, read_ahead_kb: READ_AHEAD_KB }.apply(device)
    }

    /// The image, and in it what a program expects of a running system.
    fn mount_all(&mut self, device: &Path) -> Result<()> {
        let root = self.state.mount_point.clone();
        self.make_directory(&root)?;
        // No access times: which file was read when must not change what the next run finds on the disk.
        self.mount(&root, |target| mount(device, target, "ext4", MountFlags::NOATIME, c"noinit_itable"))?;
        for system in ["proc", "sys", "dev"] {
            let source = Path::new("/").join(system);
            self.mount_inside(&root.join(system), |target| mount_bind(&source, target))?;
        }
        self.mount_inside(&root.join("tmp"), |target| {
            mount("tmpfs", target, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777" as &CStr)
        })
    }

    /// Mounts at `target` if the image has that directory.
    fn mount_inside(&mut self, target: &Path, how: impl FnOnce(&Path) -> rustix::io::Result<()>) -> Result<()> {
        // A link would lead out of the image.
        if fs::symlink_metadata(target).is_ok_and(|metadata| metadata.is_dir()) {
            return self.mount(target, how);
        }
        eprintln!("the image has no directory for {}; skipping it", target.display());
        Ok(())
    }

    fn mount(&mut self, target: &Path, how: impl FnOnce(&Path) -> rustix::io::Result<()>) -> Result<()> {
        self.note(Step::Mount { target: target.to_owned() })?;
        how(target).with_context(|| format!("cannot mount {}", target.display()))?;
        // What is mounted below it later must not show up at the source of a bind mount.
        mount_change(target, MountPropagationFlags::PRIVATE)
            .with_context(|| format!("cannot make {} private", target.display()))
    }
}
