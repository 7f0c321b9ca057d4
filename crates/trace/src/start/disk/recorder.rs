//! Records reads and page-cache fills of one start, with two tracefs instances.
//!
//! One follows the program's threads and records all their events; the other records the fills of the whole system, because others may
//! fill pages for the program, or before it. Not obvious: the fills of the program are in both, as only then
//! their order among the program's other events is certain, and one buffer may have what the other lost.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use coldstart_host::block_device::BlockDevice;
use coldstart_host::process::ProcessFiles;

use super::causes::explain;
use super::log::{DiskLog, FileKey};
use super::tracepoints::{FAULTS, READAHEAD, READS, Step};
use crate::PageFill;
use crate::page_fills::FILL;
use crate::page_fills::instance::Instance;

/// A running recording.
#[derive(Debug)]
pub struct DiskRecorder {
    instances: Option<Instances>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Instances {
    own: Instance,
    all: Instance,
    reads_are_told: bool,
    causes_are_told: bool,
}

impl DiskRecorder {
    /// Starts recording. If that is not possible, nothing is recorded, and the notes give the reason.
    pub fn start() -> Self {
        let mut notes = Vec::new();
        let instances = Instances::make(&mut notes)
            .map_err(|error| {
                let cause = if error.kind() == io::ErrorKind::PermissionDenied {
                    "this requires root (CAP_SYS_ADMIN)".to_owned()
                } else {
                    error.to_string()
                };
                notes.push(format!(
                    "Which parts of files were read, and what came from the disk and why, is not recorded: tracefs: {cause}."
                ));
            })
            .ok();
        Self { instances, notes }
    }

    /// Whether reads and fills are recorded at all.
    pub fn is_recording(&self) -> bool {
        self.instances.is_some()
    }

    /// What is not recorded and why, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Counts a process, with all processes and threads that it makes from now on, as the program's. To be called before the
    /// process executes the program; a process of ours that makes the program's process will do as well.
    pub fn follow(&mut self, process: u32) {
        let Some(instances) = &self.instances else { return };
        if let Err(error) = instances.own.follow(process) {
            self.notes.push(format!("Reads of process {process} are not recorded: tracefs: {error}."));
        }
    }

    /// Stops, and returns the events.
    pub fn finish(self) -> DiskLog {
        let mut notes = self.notes;
        let mut log = match self.instances.map(|instances| instances.finish(&mut notes)).transpose() {
            Ok(log) => log.unwrap_or_default(),
            Err(error) => {
                notes.push(format!("Reads and disk I/O are unknown: tracefs: {error}."));
                DiskLog::default()
            }
        };
        if log.lost > 0 {
            let lost = log.lost;
            notes.push(format!("{lost} reads or fills were lost, because the kernel's buffers were full."));
        }
        log.notes = notes;
        log
    }
}

impl Instances {
    fn make(notes: &mut Vec<String>) -> io::Result<Self> {
        let (own, all) = (Instance::make()?, Instance::make()?);
        // Off until a process is registered: an empty list would mean all processes.
        own.stop()?;
        let mut is_there = |event: &str, loss: &str| match own.enable(event) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                notes.push(format!("{loss}: this kernel has no tracepoint {}.", event.replace('/', ":")));
                Ok(false)
            }
            Err(error) => Err(error),
        };
        let mut causes_are_told = is_there(FAULTS, "Why pages came from the disk is not recorded")?;
        if causes_are_told {
            causes_are_told = is_there(READAHEAD[0], "Why pages came from the disk is not recorded")?;
        }
        if causes_are_told {
            READAHEAD[1..].iter().try_for_each(|event| own.enable(event))?;
        }
        let reads_are_told = is_there(READS, "Which parts of files were read is not recorded")?;
        own.enable(FILL.1)?;
        all.enable(FILL.1)?;
        Ok(Self { own, all, reads_are_told, causes_are_told })
    }

    fn finish(self, notes: &mut Vec<String>) -> io::Result<DiskLog> {
        self.own.stop()?;
        self.all.stop()?;
        let (mut steps, mut fills) = (Vec::new(), Vec::new());
        self.own.read(&mut |line| steps.extend(Step::parse(line)))?;
        self.all.read(&mut |line| fills.extend(PageFill::parse(line)))?;
        if self.reads_are_told && steps.is_empty() && !has_the_kernels_numbers() {
            notes.push(
                "None of the program's own reads were seen: PIDs in this container differ from the kernel's."
                    .to_owned(),
            );
        }
        let devices = block_devices();
        let is_block_device = |file: FileKey| file.device >> 20 == 0 && devices.contains_key(&file.inode);
        let mut log = explain(&steps, &fills, self.causes_are_told, &is_block_device);
        log.lost = self.own.lost().saturating_add(self.all.lost());
        Ok(log)
    }
}

/// Whether PIDs here are those of the initial PID namespace, which has a fixed number (`PROC_PID_INIT_INO` in
/// `include/linux/proc_ns.h`).
fn has_the_kernels_numbers() -> bool {
    ProcessFiles::own().namespace("pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]")
}

/// Block devices by number, `major << 20 | minor`.
///
/// Pages of a block device itself belong to a pseudo file system (major number 0), under the device's number for an inode number
/// (`bdev_add` in `block/bdev.c`).
pub(super) fn block_devices() -> HashMap<u64, PathBuf> {
    BlockDevice::all().filter_map(|device| Some((device.number().to_kernel(), device.node()?))).collect()
}
