//! A session on a display in memory: started, left alone until it has read all it wants, saved, ended.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use serde_json::Value;

use super::super::bed::Bed;
use super::super::runner::{plain_command, words};
use super::super::workshop::{Workshop, text};

/// Reading nothing for so long counts as settled.
const SETTLED_AFTER: Duration = Duration::from_secs(8);
const LOOK_EVERY: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(90);
/// A session that read less has not come up.
const AT_LEAST_BYTES: u64 = 30 << 20;

/// A session by its programs.
pub(super) struct Desktop {
    pub(super) name: &'static str,
    /// Programs of the image; the first is the window manager.
    pub(super) programs: &'static [&'static str],
}

/// A display without a screen.
pub(super) struct Display {
    /// As in `DISPLAY`.
    pub(super) name: String,
    _server: Ended,
}

/// A program that is ended when we are done with it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Display {
    /// Starts a server of this machine, not of the image: it is no part of what is measured.
    pub(super) fn open(workshop: &Workshop) -> Result<Self> {
        let number = workshop.directory.join("display");
        let output = fs::File::create(&number)?.into_parts().0;
        let command = words([
            "setpriv",
            "--pdeathsig",
            "TERM",
            "--",
            "Xvfb",
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1280x1024x24",
            "-noreset",
        ]);
        let server = plain_command(&command)?.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).spawn();
        let mut server = Ended(server.context("cannot start Xvfb")?);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let written = fs::read_to_string(&number)?;
            if written.ends_with('\n') {
                return Ok(Self { name: format!(":{}", written.trim()), _server: server });
            }
            if let Some(status) = server.0.try_wait()? {
                bail!("Xvfb ended with {status}");
            }
            ensure!(Instant::now() < deadline, "Xvfb names no display");
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Desktop {
    /// Starts the session from a cold cache, and saves to `file` what it has brought into memory. What `pagecache save` says is
    /// returned.
    ///
    /// # Errors
    /// When the session ends by itself, reads next to nothing or never settles.
    pub(super) fn save(&self, workshop: &Workshop, bed: &Bed<'_>, display: &Display, file: &Path) -> Result<Value> {
        bed.flush()?;
        workshop.runner.run(&words(["sysctl", "-q", "vm.drop_caches=3"]))?;
        let variable = format!("DISPLAY={}", display.name);
        // Qt draws without a graphics card. Everything ends with the first process of the namespace, and that with us.
        let mut command =
            words(["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--pid", "--fork", "--kill-child", "--"]);
        let inside =
            ["env", &variable, "QT_QUICK_BACKEND=software", "dbus-run-session", "--", "sh", "/root/session.sh"];
        command.extend(bed.inside(&[&inside[..], self.programs].concat()));
        let session = plain_command(&command)?.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut session = Ended(session.with_context(|| format!("cannot start the {} session", self.name))?);
        self.settle(workshop, bed, &mut session)?;
        let save = workshop.coldstart(["pagecache", "save", "--json", "--force", &text(file), &text(&bed.root)]);
        workshop.runner.json(&save, &[0])
    }

    fn settle(&self, workshop: &Workshop, bed: &Bed<'_>, session: &mut Ended) -> Result<()> {
        let begun = Instant::now();
        let first = served(bed)?;
        let (mut bytes, mut since) = (first, begun);
        loop {
            std::thread::sleep(LOOK_EVERY);
            if let Some(status) = session.0.try_wait()? {
                bail!("the {} session ended with {status}", self.name);
            }
            ensure!(!workshop.runner.is_interrupted(), "interrupted");
            let now = served(bed)?;
            if now != bytes {
                (bytes, since) = (now, Instant::now());
            } else if since.elapsed() >= SETTLED_AFTER {
                let read = bytes.saturating_sub(first);
                ensure!(read >= AT_LEAST_BYTES, "the {} session read {read} bytes only", self.name);
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "the {} session does not settle", self.name);
        }
    }
}

/// Bytes that the bed has served.
fn served(bed: &Bed<'_>) -> Result<u64> {
    bed.status_now()?["served"]["bytes"].as_u64().context("the bed counts no bytes")
}
