//! The fix "image": the program started from an image whose blocks lie in the order of its start.

use std::path::Path;

use super::fix::{Fix, Prospect};
use super::prefetch_fix::recorded_inside;
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::image::Compression;
use crate::prefetch::RecordedPlan;
use crate::text::size;

/// Each original is looked at before the start, with so many others at the same time where that helps.
const LOOKS_AT_ONCE: f64 = 16.0;
/// On a disk that seeks, so many looks are answered by one read: inodes of a package lie together.
const LOOKS_OF_A_READ: f64 = 8.0;

/// Below so many bytes a second, unpacking takes less time than reading what it saves (docs/decisions/0031-compressed-start-images.md).
const SLOW: u64 = 400_000_000;
/// What is left of hot pages that are compressed: a third with LibreOffice, clang and gdb, a half with Firefox.
const COMPRESSED: f64 = 0.45;

/// An image as a fix.
pub(super) struct ImageFix<'args> {
    /// Directory on whose file system the image lies.
    pub(super) beside: &'args Path,
}

impl ImageFix<'_> {
    fn recorded<'s>(&self, subject: &'s Subject<'_>) -> &'s RecordedPlan {
        subject.exact.as_ref().unwrap_or(&subject.cached)
    }
}

impl Fix for ImageFix<'_> {
    fn kind(&self) -> FixKind {
        FixKind::Image
    }

    fn name(&self) -> &'static str {
        "image"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Prospect::not(self, "only root can mount an image"));
        }
        let set = &self.recorded(subject).working_set;
        let bytes = set.bytes();
        if bytes == 0 {
            return Ok(Prospect::not(self, "a start reads nothing from a disk"));
        }
        let device = subject.device();
        let looks = set.files.len() as f64 / if device.seeks { LOOKS_OF_A_READ } else { LOOKS_AT_ONCE };
        let looking = looks * device.latency.as_secs_f64();
        let (stored, how) = match compression(device.bandwidth) {
            Compression::Zstd => (bytes as f64 * COMPRESSED, ", compressed"),
            Compression::None => (bytes as f64, ""),
        };
        let reading = if device.bandwidth > 0 { stored / device.bandwidth as f64 } else { 0.0 };
        let hot = subject.cached.plan.summary.hot_start.as_secs_f64();
        let why = format!("{} in one range{how}, beside the program", size(bytes));
        Ok(Prospect::of(self, Some(looking + hot.max(reading)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let inside;
        let used = if setup.overlays().is_empty() && setup.index().is_none() {
            &self.recorded(subject).working_set
        } else {
            inside = recorded_inside(setup, subject, |recorder| recorder.used())?;
            &inside.working_set
        };
        let mut make = |compression| setup.start_from_image(used, compression, subject, self.beside);
        let compression = compression(subject.device().bandwidth);
        match make(compression) {
            // Not every kernel mounts compressed images.
            Err(_) if compression == Compression::Zstd && subject.interrupt.signal().is_none() => {
                make(Compression::None)
            }
            made => made,
        }
    }
}

/// How hot pages are stored on a disk of so many bytes a second; 0 is an unknown disk.
fn compression(bandwidth: u64) -> Compression {
    if (1..SLOW).contains(&bandwidth) { Compression::Zstd } else { Compression::None }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use coldstart_image::start::{Front, take_place_of_own};
    use coldstart_launch::{CommandLine, LaunchOptions};
    use coldstart_sys::image_mount::is_on_image;
    use coldstart_sys::private_mounts::{Overlay, possible};
    use coldstart_testing::{copy_program, is_root, scratch, skip};

    use super::super::launcher::Launcher;
    use super::*;

    #[test]
    fn pages_are_compressed_on_slow_disks_only() {
        assert_eq!([120, 250].map(|megabytes| compression(megabytes * 1_000_000)), [Compression::Zstd; 2]);
        assert_eq!([2_000_000_000, 0].map(compression), [Compression::None; 2]);
    }

    #[test]
    fn an_image_is_made_of_changed_copies_and_lies_over_them() {
        if !is_root() {
            return;
        }
        if let Err(error) = possible() {
            return skip(&format!("no private view: {error}"));
        }
        let directory = scratch();
        let path = |name: &str| -> PathBuf { directory.path().join(name) };
        let (original, replacement) = (path("bin/program"), path("replacement"));
        fs::create_dir(path("bin")).unwrap();
        copy_program("/bin/true", &original);
        copy_program("/bin/true", &replacement);
        let changed = [fs::read(&original).unwrap().as_slice(), b"changed"].concat();
        fs::write(&replacement, &changed).unwrap();
        fs::File::open(&replacement).unwrap().sync_all().unwrap();

        let program = CommandLine { program: original.clone().into(), arguments: Vec::new() };
        let launch = LaunchOptions::default();
        let launcher = Launcher { name: "true".to_owned(), words: Vec::new(), file: "/bin/true".into() };
        let subject = Subject::record(&program, &launch, None, &launcher, None).unwrap();
        let mut setup = Setup::plain(true);
        setup.lay_over([Overlay { original: original.clone(), replacement }]);
        ImageFix { beside: directory.path() }.add_to(&mut setup, &subject).unwrap();

        let image = fs::File::open(setup.image_file().unwrap()).unwrap();
        let front = Front::read(&image).unwrap();
        setup.launch_options(&launch).unwrap();
        let inside = || {
            let placed = take_place_of_own(&image, &front).unwrap();
            (placed, is_on_image(fs::File::open(&original).unwrap()), fs::read(&original).unwrap())
        };
        let (placed, is_covered, content) = setup.mounts().unwrap().inside(inside).unwrap();
        assert!(placed.left.is_empty() && is_covered, "{placed:?}");
        assert_eq!(content, changed);
        assert!(!is_on_image(fs::File::open(&original).unwrap()), "the image left the view");
    }
}
