//! A slow disk with the corpus, up while the value lives.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::program::Program;
use super::runner::words;
use super::workshop::{Workshop, text};
use crate::corpus::Collection;

/// How often it is tried to take a bed down.
const ATTEMPTS: u32 = 5;
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);

/// Room in an image beside what is put into it, in bytes.
const ROOM: u64 = 512 << 20;

/// Which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BedKind {
    /// One moving head.
    Hdd,
    /// Behind a network.
    Net,
    /// This machine's own.
    Disk,
}

impl BedKind {
    /// As `coldstart-testbed up` names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hdd => "hdd",
            Self::Net => "net",
            Self::Disk => "disk",
        }
    }
}

/// A bed that is up. Dropping it takes it down; [`Bed::close`] does and tells whether that worked.
pub(super) struct Bed<'a> {
    workshop: &'a Workshop,
    /// The mounted image.
    pub(super) root: PathBuf,
    /// What the bed says of itself: kind, model figures, queue settings.
    pub(super) status: Value,
    up: bool,
}

impl<'a> Bed<'a> {
    /// Brings a bed up with an image of the corpus.
    ///
    /// # Errors
    /// When the corpus cannot be built or the bed not be brought up; nothing is left of it then.
    pub(super) fn raise(workshop: &'a Workshop, kind: BedKind, collection: Collection) -> Result<Self> {
        let image = workshop.image(collection)?;
        Self::raise_image(workshop, kind, &image)
    }

    /// Brings a bed up with any ext4 image.
    ///
    /// # Errors
    /// When it cannot be brought up; nothing is left of it then.
    pub(super) fn raise_image(workshop: &'a Workshop, kind: BedKind, image: &Path) -> Result<Self> {
        let root = workshop.bed_home().join("root");
        // From here on there may be something to take down, even if bringing it up fails.
        let mut bed = Self { workshop, root, status: Value::Null, up: true };
        workshop.runner.run(&[
            text(&workshop.testbed),
            "up".into(),
            kind.name().into(),
            "--image".into(),
            text(image),
            "--at".into(),
            text(&bed.root),
            "--home".into(),
            text(&workshop.bed_home()),
        ])?;
        bed.status = bed.status_now().context("the bed came up broken")?;
        Ok(bed)
    }

    /// What the bed says of itself now, with the reads it has served (`served`; a disk of the machine's own counts none).
    pub(super) fn status_now(&self) -> Result<Value> {
        let home = text(&self.workshop.bed_home());
        let status = [text(&self.workshop.testbed), "status".into(), "--json".into(), "--home".into(), home];
        self.workshop.runner.json(&status, &[0])
    }

    /// Takes it down.
    ///
    /// # Errors
    /// When something of it is left.
    pub(super) fn close(mut self) -> Result<()> {
        self.up = false;
        Self::take_down(&self.workshop.testbed, &self.workshop.bed_home())
    }

    /// Takes down whatever is up in `home`, ending what still runs there. Not through the runner: an interrupt must not
    /// keep us from it, and `down` itself does not stop half-way.
    pub(super) fn take_down(testbed: &Path, home: &Path) -> Result<()> {
        let down = || {
            Command::new(testbed)
                .args(["down", "--kill", "--home"])
                .arg(home)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .with_context(|| format!("cannot start {}", testbed.display()))
        };
        let mut status = down()?;
        // A killed series leaves a program behind that starts others: some begin and end while `down` looks for them.
        for _ in 1..ATTEMPTS {
            if status.success() {
                break;
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
            status = down()?;
        }
        ensure!(
            status.success(),
            "the bed in {home} could not be taken down ({status})\nhint: {} down --kill --home {home}",
            testbed.display(),
            home = home.display()
        );
        Ok(())
    }

    /// A command inside the image.
    pub(super) fn inside(&self, command: &[&str]) -> Vec<String> {
        let mut inside = vec!["chroot".to_owned(), text(&self.root)];
        inside.extend(command.iter().map(|&word| word.to_owned()));
        inside
    }

    /// The path outside of a file inside.
    pub(super) fn outside(&self, inside: &str) -> PathBuf {
        self.root.join(inside.trim_start_matches('/'))
    }

    /// Puts a program on the slow disk, so that it is read from there as well.
    pub(super) fn install(&self, program: &[u8], inside: &str) -> Result<()> {
        let target = self.outside(inside);
        fs::write(&target, program)?;
        Ok(fs::set_permissions(&target, std::fs::Permissions::from_mode(0o755))?)
    }

    /// Has everything written so far reach the disk: later it would be written beside what is measured.
    pub(super) fn flush(&self) -> Result<()> {
        self.workshop.runner.run(&[words(["sync", "--file-system"]), vec![text(&self.root)]].concat())
    }

    /// Starts a program once, plainly, and checks that it did its work.
    pub(super) fn start(&self, program: &Program) -> Result<()> {
        self.start_as(&self.inside(program.words), program)
    }

    /// Starts a program once by `command` and checks that it did its work.
    pub(super) fn start_as(&self, command: &[String], program: &Program) -> Result<()> {
        self.forget_output(program)?;
        self.workshop.runner.run(command)?;
        self.check_output(program)
    }

    /// Removes what an earlier start made.
    pub(super) fn forget_output(&self, program: &Program) -> Result<()> {
        match fs::remove_file(self.outside(program.output)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// That a start since [`Bed::forget_output`] did its work: some programs fail with code 0.
    pub(super) fn check_output(&self, program: &Program) -> Result<()> {
        let output = self.outside(program.output);
        let made = fs::metadata(&output).is_ok_and(|metadata| metadata.len() > 0);
        ensure!(made, "`{}` left no {}", program.words.join(" "), program.output);
        Ok(())
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        if self.up
            && let Err(error) = Self::take_down(&self.workshop.testbed, &self.workshop.bed_home())
        {
            eprintln!("bench: {error:#}");
        }
    }
}

/// An ext4 image of what lies in `staging`, beside it. Its tables are initialised now: the kernel would do it later, beside what is measured.
///
/// # Errors
/// When there is no room for it.
pub(super) fn image_of(workshop: &Workshop, staging: &Path) -> Result<PathBuf> {
    let image = staging.with_extension("ext4");
    let mut bytes = ROOM;
    for entry in walkdir::WalkDir::new(staging) {
        bytes = bytes.saturating_add(entry?.metadata()?.len().next_multiple_of(4096));
    }
    fs::File::create(&image)?.set_len(bytes)?;
    let options = words(["mkfs.ext4", "-q", "-F", "-i", "8192", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-d"]);
    workshop.runner.run(&[options, vec![text(staging), text(&image)]].concat())?;
    Ok(image)
}

/// Does `work` on a bed with LibreOffice and Firefox. The bed is down afterwards, whatever happened.
pub(super) fn with_bed<T>(workshop: &Workshop, kind: BedKind, work: impl FnOnce(&Bed<'_>) -> Result<T>) -> Result<T> {
    with_collection(workshop, kind, Collection::Office, work)
}

/// Does `work` on a bed with a collection of the corpus. The bed is down afterwards, whatever happened.
pub(super) fn with_collection<T>(
    workshop: &Workshop,
    kind: BedKind,
    collection: Collection,
    work: impl FnOnce(&Bed<'_>) -> Result<T>,
) -> Result<T> {
    finish(Bed::raise(workshop, kind, collection)?, work)
}

/// Does `work` on a bed with any ext4 image. The bed is down afterwards, whatever happened.
pub(super) fn with_image<T>(
    workshop: &Workshop,
    kind: BedKind,
    image: &Path,
    work: impl FnOnce(&Bed<'_>) -> Result<T>,
) -> Result<T> {
    finish(Bed::raise_image(workshop, kind, image)?, work)
}

fn finish<T>(bed: Bed<'_>, work: impl FnOnce(&Bed<'_>) -> Result<T>) -> Result<T> {
    let done = work(&bed);
    match (done, bed.close()) {
        (Ok(value), Ok(())) => Ok(value),
        (Err(error), Ok(())) | (Ok(_), Err(error)) => Err(error),
        (Err(error), Err(left)) => Err(error.context(format!("{left:#}"))),
    }
}
