//! An X server of our own, for programs that do nothing without one.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A display that is there as long as the value lives.
pub(super) struct Display {
    server: Child,
    number: String,
}

impl Display {
    pub(super) fn open() -> Result<Self> {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-screen", "0", "1024x768x24"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Xvfb\nhint: apt-get install xvfb")?;
        let stdout = server.stdout.take();
        let mut display = Self { server, number: String::new() };
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut display.number)?;
        }
        ensure!(!display.number.trim().is_empty(), "Xvfb named no display");
        Ok(display)
    }

    /// The environment of its clients.
    pub(super) fn variable(&self) -> String {
        format!("DISPLAY=:{}", self.number.trim())
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // It is ours, and there is nobody to tell.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
