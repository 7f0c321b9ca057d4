//! Undoing a bed's changes to the system, last step first.
//!
//! Each undone step is removed from the state file, so an interrupted undo can be resumed. It stops at the
//! first step that fails: removing the disk under a mounted file system would be worse.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use fs_err as fs;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::{State, Step};
use crate::system::process::{self, ProcessIdentity};
use crate::system::{fuse_connection, loop_device, mounts, users};

/// What to do when processes still use a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Name them and stop.
    Refuse,
    /// End them.
    Kill,
}

/// How long the kernel and the server may take to release closed files.
const PATIENCE: Duration = Duration::from_secs(5);

/// Polling interval for the server while something waits for it.
const LOOK: Duration = Duration::from_millis(50);

/// Undoes every step of the bed in `home` and removes its state.
///
/// # Errors
/// When something is still in use; what was undone by then stays undone and is noted.
pub(crate) fn undo(home: &Path, state: &mut State, busy: Busy) -> Result<()> {
    let server = state.server().and_then(|(_, process)| process.cloned());
    let broken = AtomicBool::new(false);
    let over = AtomicBool::new(false);
    if let Some(server) = &server {
        end_if_stopped(server, &broken);
    }
    std::thread::scope(|scope| {
        // It may be stopped at any moment, and is not yet when the signal was only just sent. Who unmounts cannot look then.
        if let Some(server) = &server {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) && !broken.load(Ordering::Relaxed) {
                    std::thread::sleep(LOOK);
                    end_if_stopped(server, &broken);
                }
            });
        }
        let undone = undo_steps(home, state, busy, &broken);
        over.store(true, Ordering::Relaxed);
        undone
    })?;
    State::remove(home)
}

/// A server that is dead or stopped answers nothing. Killing it makes the kernel answer every read and write below with an
/// error, and unmounting cannot hang.
fn end_if_stopped(server: &ProcessIdentity, broken: &AtomicBool) {
    if !server.is_running() {
        broken.store(true, Ordering::Relaxed);
        server.kill(PATIENCE);
    }
}

fn undo_steps(home: &Path, state: &mut State, busy: Busy, broken: &AtomicBool) -> Result<()> {
    while let Some(step) = state.steps.last() {
        undo_step(step, busy, broken)?;
        state.steps.pop();
        state.save(home)?;
    }
    Ok(())
}

fn undo_step(step: &Step, busy: Busy, broken: &AtomicBool) -> Result<()> {
    match step {
        Step::Directory { path } => match fs::remove_dir(path) {
            // A directory with something in it is no longer ours alone.
            Err(error) if ![ErrorKind::NotFound, ErrorKind::DirectoryNotEmpty].contains(&error.kind()) => {
                Err(error.into())
            }
            _ => Ok(()),
        },
        Step::WorkingCopy { path } => match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        },
        Step::Server { mount_point, process } => stop_server(mount_point, process.as_ref()),
        Step::Loop { backing, device } => detach(backing, device.as_deref(), broken),
        Step::Queue { device, before } => before.restore(device),
        Step::Mount { target } => unmount_used(target, busy, broken),
    }
}

/// Unmounts `target`. When it is in use and the bed still works, the users are named or ended.
fn unmount_used(target: &Path, busy: Busy, broken: &AtomicBool) -> Result<()> {
    if try_unmount(target)? {
        return Ok(());
    }
    let users = users::of_mount(target)?;
    if busy == Busy::Kill && !users.is_empty() {
        for user in &users {
            eprintln!("ending {user}");
        }
        process::end_all(users.iter().map(|user| &user.process));
        if try_unmount(target)? {
            return Ok(());
        }
    }
    if broken.load(Ordering::Relaxed) {
        // Nobody can do anything useful with it any more: take it out of sight; it goes when its last user goes.
        eprintln!("{} is in use but its server has ended; detaching the mount", target.display());
        for user in users::of_mount(target)? {
            eprintln!("  {user}");
        }
        unmount(target, UnmountFlags::DETACH)?;
        return Ok(());
    }
    let mut message = format!("{} is in use", target.display());
    for user in users::of_mount(target)? {
        message += &format!("\n  {user}");
    }
    for below in mounts::below(target)? {
        message += &format!("\n  another file system is mounted at {}", below.display());
    }
    bail!("{message}\nhint: leave the directory and end these programs, or run `coldstart-testbed down --kill`");
}

/// Whether `target` is no longer mounted; `false` when it is in use.
fn try_unmount(target: &Path) -> Result<bool> {
    match unmount(target, UnmountFlags::NOFOLLOW) {
        // Not a mount point, or not there: never mounted, or unmounted already.
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(true),
        Err(Errno::BUSY) => Ok(false),
        Err(error) => bail!("cannot unmount {}: {error}", target.display()),
    }
}

/// Detaches what is on `backing`. The device of a broken bed may stay until its last user goes: by then the kernel
/// detaches it by itself.
fn detach(backing: &Path, device: Option<&Path>, broken: &AtomicBool) -> Result<()> {
    for device in loop_device::on_file(backing, device)? {
        loop_device::detach(&device)?;
        let patience = if broken.load(Ordering::Relaxed) { Duration::from_secs(1) } else { PATIENCE };
        if process::wait_until(patience, || !loop_device::is_attached(&device)) {
            continue;
        }
        if broken.load(Ordering::Relaxed) {
            eprintln!("{} is released when the last program in the bed ends", device.display());
        } else {
            let mut message = format!("{} is detached but still in use", device.display());
            for user in users::of_device(&device)? {
                message += &format!("\n  {user}");
            }
            bail!("{message}\nhint: end these programs and run `coldstart-testbed down` again");
        }
    }
    Ok(())
}

fn stop_server(mount_point: &Path, process: Option<&ProcessIdentity>) -> Result<()> {
    if !try_unmount(mount_point)? {
        // Without the loop device nothing else has a reason to hold this mount; what does must not keep us.
        fuse_connection::abort(mount_point)?;
        unmount(mount_point, UnmountFlags::DETACH)?;
    }
    // The end of the mount is the end of the session, and the server leaves by itself.
    if let Some(process) = process
        && !process::wait_until(PATIENCE, || !process.exists())
    {
        process.kill(PATIENCE);
    }
    Ok(())
}
