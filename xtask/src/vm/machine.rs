//! Starting a virtual machine, and hearing how its tests went.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::checkout::Checkout;
use crate::architecture::Architecture;

/// What the machine says last, followed by the exit status of the tests.
pub(super) const LAST_WORD: &str = "coldstart-tests ended with ";

/// A virtual machine that runs the tests of a checkout.
pub(super) struct Machine<'a> {
    pub(super) architecture: Architecture,
    pub(super) kernel: &'a Path,
    pub(super) initial: &'a Path,
    /// What it writes there is forgotten when it ends.
    pub(super) system: &'a Path,
    pub(super) checkout: &'a Checkout,
}

impl Machine<'_> {
    /// Whether all tests passed; shows all that the machine says.
    ///
    /// # Errors
    ///
    /// When it does not start, or does not end in this time.
    pub(super) fn run(&self, longest: Duration) -> Result<bool> {
        // It ends the machine when the time is over, and when we are gone.
        let mut command = Command::new("timeout");
        command.arg(longest.as_secs().to_string()).arg(self.architecture.machine_emulator().program);
        command.args(["-m", "4096", "-smp", "2", "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"]);
        let console = match self.architecture {
            Architecture::X86_64 => "ttyS0",
            Architecture::Aarch64 => "ttyAMA0",
        };
        match self.architecture {
            // One thread for both processors: with two of them Linux 6.12 panics now and then (emulated memory order of x86-64).
            Architecture::X86_64 => command.args(["-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max"]),
            // Of pauth-impdef: the architecture's own algorithm costs the emulator half of its time (qemu's cpu-features.rst).
            Architecture::Aarch64 => {
                command.args(["-machine", "virt", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on"])
            }
        };
        command.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initial);
        for (file, snapshot) in [(self.system, "on"), (self.checkout.disk.as_path(), "off")] {
            command
                .arg("-drive")
                .arg(format!("if=virtio,format=raw,cache=unsafe,snapshot={snapshot},file={}", file.display()));
        }
        command.arg("-append").arg(format!(
            "console={console} quiet loglevel=3 panic=-1 coldstart_place={}",
            self.checkout.place.display()
        ));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let said = child.stdout.take().context("the virtual machine has no console")?;
        let mut status = None;
        for line in BufReader::new(said).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end();
            match line.strip_prefix(LAST_WORD) {
                Some(end) => status = end.parse::<i32>().ok(),
                None => println!("{line}"),
            }
        }
        let ended = child.wait()?;
        let status = status.with_context(|| format!("the virtual machine ended with {ended} before its tests did"))?;
        ensure!(ended.success(), "the virtual machine ended with {ended}");
        Ok(status == 0)
    }
}
