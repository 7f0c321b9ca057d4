//! Running a shell script inside the tree, with the file systems a program expects.
//!
//! Mounts and processes live in namespaces of their own: when the script ends, or we are killed, the kernel removes the
//! mounts and ends what the script left running (package scripts like to leave daemons behind).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A system's tree and the directory its downloaded packages are kept in.
pub(super) struct Chroot {
    /// The root of the system.
    pub(super) tree: PathBuf,
    /// Where `.deb` files stay between builds; seen inside as `/var/cache/apt/archives`.
    pub(super) archives: PathBuf,
}

/// Runs in the new namespaces, before the chroot. `$1` is the tree, `$2` the archives, `$3` the script.
const ENTER: &str = r#"
mount -t proc proc "$1/proc"
mount --bind /sys "$1/sys"
mount --bind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mkdir -p "$1/var/cache/apt/archives"
mount --bind "$2" "$1/var/cache/apt/archives"
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$1" /bin/sh -euc "$3"
"#;

impl Chroot {
    /// Runs `script` with `sh -eu` as root inside, with its output on our stderr.
    pub(super) fn run(&self, script: &str) -> Result<()> {
        super::run(&mut self.command(script))
    }

    /// Like [`Chroot::run`], and returns what the script printed on stdout.
    pub(super) fn output(&self, script: &str) -> Result<String> {
        let output = self.command(script).output().context("cannot start unshare")?;
        ensure!(
            output.status.success(),
            "`{script}` failed in {}: {}",
            self.tree.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--", "sh", "-euc"]);
        command.args([ENTER, "sh"]).arg(&self.tree).arg(&self.archives).arg(script);
        command
    }
}
