//! The file system that a kernel begins with: a shell, and the drivers of the disk with the system.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use crate::clean_system::said;
use crate::tools::{emptied, run, write_program};

/// What has to be there before the system's disk can be mounted.
const DRIVERS: [&str; 3] = ["virtio_pci", "virtio_blk", "ext4"];
/// The system's disk appears a moment after its driver.
pub(super) const MOUNT: &str = "\
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    busybox mount -t ext4 /dev/vda /system && break
    busybox sleep 1
done
busybox mount --move /dev /system/dev
exec busybox switch_root /system /sbin/coldstart-init
";

/// Writes it to a file, for one of the kernels in a system's tree.
///
/// # Errors
///
/// When the kernel lacks one of the drivers.
pub(super) fn make(tree: &Path, version: &str, initial: &Path) -> Result<()> {
    // Drivers name others by what `depmod` found out.
    run(Command::new("depmod").arg("--basedir").arg(tree).arg(version))?;
    let root = emptied(initial.with_extension("tree"))?;
    for directory in ["bin", "dev", "system"] {
        fs::create_dir(root.join(directory))?;
    }
    fs::copy(tree.join("bin/busybox"), root.join("bin/busybox"))?;
    let mut script = "#!/bin/busybox sh\nexport PATH=/bin\nbusybox mount -t devtmpfs devtmpfs /dev\n".to_owned();
    for (number, module) in modules(tree, version)?.iter().enumerate() {
        let file = root.join(format!("{number}.ko"));
        if module.ends_with(".xz") {
            // Not every kernel with such modules decompresses them itself.
            run(Command::new("xz")
                .args(["--decompress", "--stdout", module])
                .stdout(fs::File::create(file)?.into_parts().0))?;
        } else {
            fs::copy(module, file)?;
        }
        script += &format!("busybox insmod /{number}.ko\n");
    }
    write_program(&root.join("init"), &(script + MOUNT))?;
    let pack = "cd \"$1\" && find . | cpio --quiet --create --format=newc > \"$2\"";
    run(Command::new("sh").args(["-ec", pack, "sh"]).arg(&root).arg(initial))?;
    Ok(fs::remove_dir_all(root)?)
}

/// The files of the drivers, each after those that it needs. What is part of the kernel has none.
fn modules(tree: &Path, version: &str) -> Result<Vec<String>> {
    let mut files: Vec<String> = Vec::new();
    for driver in DRIVERS {
        let mut command = Command::new("modprobe");
        command.arg("--dirname").arg(tree).args(["--config", "/dev/null", "--set-version", version]);
        for line in said(command.args(["--show-depends", driver]))?.lines() {
            // `insmod FILE OPTIONS`
            if let Some(file) = line.strip_prefix("insmod ").and_then(|rest| rest.split(' ').next())
                && !files.iter().any(|known| known == file)
            {
                files.push(file.to_owned());
            }
        }
    }
    Ok(files)
}
