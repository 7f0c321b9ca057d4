//! Requirements of start images: root, EROFS, and on older kernels a loop device.
//!
//! Not obvious: nothing can be tried. The first mount of a kind loads its module, which would change the machine; so the
//! kernel's list and its modules are read. EROFS cannot be mounted by root of a user namespace.

use coldstart_host::kernel::FILE_SYSTEMS;
use coldstart_sys::loop_device;

use crate::ability::Ability::{ImageMount, ImageRun, Speedup};
use crate::check::{Check, Status};
use crate::groups::facts::{Facts, Kernel};
use crate::groups::who::SYS_ADMIN;
use crate::root::{MOST, Root};

/// What this kernel can mount.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    /// Whether EROFS is in the kernel's list of file systems: built in, or loaded.
    is_listed: Result<bool, String>,
    /// Whether there is a module of it.
    is_module: bool,
    has_loop_devices: bool,
}

pub(crate) fn look(root: &Root, kernel: &Kernel) -> Images {
    let of_line = |line: &str| line.split_whitespace().last() == Some("erofs");
    let modules = root.bytes(format!("/lib/modules/{}/modules.dep", kernel.release), MOST).unwrap_or_default();
    Images {
        is_listed: root.text(FILE_SYSTEMS).map(|list| list.lines().any(of_line)),
        is_module: String::from_utf8_lossy(&modules).lines().any(|line| {
            let file = line.split(':').next().and_then(|path| path.rsplit('/').next());
            file.is_some_and(|file| file.starts_with("erofs.ko"))
        }),
        has_loop_devices: root.exists(loop_device::CONTROL),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![mounts(facts)]
}

fn mounts(facts: &Facts) -> Check {
    let source = "fs/erofs/super.c; Documentation/filesystems/erofs.rst; fsopen in fs/namespace.c";
    let name = "image-mounts";
    let images = &facts.images;
    let kernel = facts.kernel.words();
    let needs_loop = facts.kernel.since(6, 12) == Some(false);
    let check = |status, now: String| {
        Check::new(name, status, now)
            .needed("root of the machine, EROFS, and before Linux 6.12 loop devices")
            .cost(
                "Start images can be made and verified, but programs start without them. `speedup` does not try them.",
            )
            .source(source)
    };
    let without =
        |status, now: String| check(status, now).leaves(Status::Partly, &[Speedup], "start images are not tried");
    let lost = "programs start without their image";
    let is_there = images.is_module || images.is_listed == Ok(true);
    match &images.is_listed {
        Err(reason) if !is_there => check(Status::Unknown, reason.clone()).leaves(
            Status::Unknown,
            &[ImageRun, ImageMount],
            "whether the kernel has EROFS is unknown",
        ),
        _ if !is_there => without(Status::No, format!("{kernel} has no EROFS, and no module of it was found")).leaves(
            Status::No,
            &[ImageRun, ImageMount],
            lost,
        ),
        _ if needs_loop && !images.has_loop_devices => {
            let control = loop_device::CONTROL;
            without(Status::No, format!("{kernel} mounts images by loop devices, and {control} does not exist"))
                .grants([facts.who.as_root("modprobe loop")])
                .leaves(Status::No, &[ImageRun, ImageMount], lost)
        }
        _ if facts.who.is_machine_root() && facts.who.has(SYS_ADMIN) => {
            let how = if needs_loop { ", by loop devices" } else { "" };
            Check::new(name, Status::Yes, format!("{kernel} mounts images{how}")).source(source)
        }
        _ => without(Status::Partly, "only root of the machine can mount images".to_owned())
            .grants([facts.who.as_root("coldstart image mount IMAGE")])
            .leaves(
                Status::Partly,
                &[ImageRun],
                "only from images that root has mounted: else programs start without them",
            )
            .leaves(Status::No, &[ImageMount], "only root of the machine can mount an image"),
    }
}
