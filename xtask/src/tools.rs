//! What the tests and benchmarks need from Debian, installed when it is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

/// A program, or another file that is needed, and the package that brings it.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// The program's name, or the whole path of what is looked for in one place only.
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

pub(crate) const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

/// What the tests compare with and build their fixtures with, on every processor.
pub(crate) const FOR_TESTS: &[Tool] = &[
    tool("cc", "gcc"),
    tool("gcc", "gcc"),
    tool("g++", "g++"),
    // gcc only recommends it, and we install no recommendations.
    tool("/usr/include/stdio.h", "libc6-dev"),
    tool("ld", "binutils"),
    tool("ld.lld", "lld"),
    // ThinLTO's names of functions.
    tool("clang", "clang"),
    tool("nm", "binutils"),
    tool("objcopy", "binutils"),
    tool("objdump", "binutils"),
    tool("readelf", "binutils"),
    tool("strip", "binutils"),
    tool("ld.gold", "binutils"),
    tool("mold", "mold"),
    // Names of functions come from a server.
    tool("debuginfod", "debuginfod"),
    // Programs are linked with such lists.
    tool("cmake", "cmake"),
    tool("meson", "meson"),
    tool("ninja", "ninja-build"),
    tool("autoreconf", "autoconf"),
    tool("automake", "automake"),
    tool("make", "make"),
    tool("llvm-strip", "llvm"),
    tool("llvm-readelf", "llvm"),
    tool("eu-elflint", "elfutils"),
    tool("eu-readelf", "elfutils"),
    tool("patchelf", "patchelf"),
    tool("gdb", "gdb"),
    tool("xz", "xz-utils"),
    tool("ldconfig", "libc-bin"),
    tool("dpkg-shlibdeps", "dpkg-dev"),
    // What programs look for, told by an independent tool.
    tool("strace", "strace"),
    // Recordings of it become traces.
    tool("perf", "linux-perf"),
    // A program with a large library, traced; its functions, and those of a library in assembly, are looked for.
    tool("/usr/bin/llvm-objdump-14", "llvm-14"),
    tool("ldd", "libc-bin"),
    tool("fincore", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("unshare", "util-linux"),
    tool("filefrag", "e2fsprogs"),
    tool("losetup", "mount"),
    tool("mount", "mount"),
    tool("mkfs.ext4", "e2fsprogs"),
    tool("mkfs.btrfs", "btrfs-progs"),
    // Start images are judged by another reader, and hold access lists.
    tool("fsck.erofs", "erofs-utils"),
    tool("mksquashfs", "squashfs-tools"),
    tool("unsquashfs", "squashfs-tools"),
    tool("squashfuse", "squashfuse"),
    // Archives of other makers are put into order.
    tool("zip", "zip"),
    tool("unzip", "unzip"),
    tool("java", "openjdk-17-jre-headless"),
    tool("javac", "openjdk-17-jdk-headless"),
    tool("setfacl", "acl"),
    tool("setfattr", "attr"),
    // Layouts of container images are made and unpacked by others.
    tool("umoci", "umoci"),
    tool("skopeo", "skopeo"),
    tool("zstd", "zstd"),
    // Packages of both kinds are surveyed.
    tool("rpmbuild", "rpm"),
    tool("fusermount3", "fuse3"),
    // Surveys are made by a cluster of one node. Where daemons may be started, munge's is; Slurm's are not without a configuration.
    tool("munged", "munge"),
    tool("slurmctld", "slurmctld"),
    tool("slurmd", "slurmd"),
    tool("sbatch", "slurm-client"),
    // Spark's workers are found by it, to be killed.
    tool("ps", "procps"),
    // Installed plans are judged by those who read them.
    tool("desktop-file-validate", "desktop-file-utils"),
    tool("systemd-analyze", "systemd"),
    tool("systemctl", "systemd"),
    tool("tclsh", "tcl"),
    tool("lua5.4", "lua5.4"),
    tool("php", "php-cli"),
    tool("Rscript", "r-base-core"),
    tool("python3", "python3"),
    // Programs with an index of their modules, beside those in Python.
    tool("perl", "perl"),
    tool("guile", "guile-3.0"),
    tool("ruby", "ruby"),
    tool("bundle", "ruby-bundler"),
    tool("/usr/lib/ruby/vendor_ruby/bootsnap.rb", "ruby-bootsnap"),
    tool("script", "bsdutils"),
    tool("sqlite3", "sqlite3"),
    tool("bwrap", "bubblewrap"),
    // Programs whose readiness is waited for.
    tool("redis-server", "redis-server"),
    tool("systemd-notify", "systemd"),
    tool("Xvfb", "xvfb"),
    tool("twm", "twm"),
    tool("zenity", "zenity"),
    tool("firefox-esr", "firefox-esr"),
    tool("chromium", "chromium"),
    tool("ip", "iproute2"),
    // Pages are tested in a browser; the other viewers' own code, from npm and PyPI, loads what is written for them.
    tool("node", "nodejs"),
    tool("npm", "npm"),
    tool("pip3", "python3-pip"),
];

/// What they need on x86-64 besides.
const FOR_TESTS_ON_X86_64: &[Tool] = &[
    // Lists of functions are taken by those who read them.
    tool("llvm-bolt-19", "bolt-19"),
    // musl's loader is no program of PATH. The tests that run it know x86-64 only.
    tool("/lib/ld-musl-x86_64.so.1", "musl"),
    // Packed programs of other machines are built and run there, too. gcc-multilib cannot stand beside cross compilers.
    tool("musl-gcc", "musl-tools"),
    tool("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"),
    tool("/usr/i686-linux-gnu/include/stdio.h", "libc6-dev-i386-cross"),
    tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    tool("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
    tool("qemu-aarch64", "qemu-user"),
    tool("qemu-i386", "qemu-user"),
    // Bound programs besides.
    tool("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    tool("/usr/arm-linux-gnueabihf/include/stdio.h", "libc6-dev-armhf-cross"),
    tool("qemu-arm", "qemu-user"),
    tool("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    tool("/usr/riscv64-linux-gnu/include/stdio.h", "libc6-dev-riscv64-cross"),
    tool("qemu-riscv64", "qemu-user"),
    tool("/usr/lib/x86_64-linux-gnu/libasound.so.2", "libasound2"),
    tool("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "libssl3"),
];

/// What the tests need on this machine.
pub(crate) fn for_tests() -> Vec<Tool> {
    let besides = if cfg!(target_arch = "x86_64") { FOR_TESTS_ON_X86_64 } else { &[] };
    [FOR_TESTS, besides].concat()
}

/// What the benchmarks of starts and of measuring need besides.
pub(crate) const FOR_BENCHMARKS: &[Tool] = &[
    tool("hyperfine", "hyperfine"),
    tool("vmtouch", "vmtouch"),
    tool("debootstrap", "debootstrap"),
    tool("fio", "fio"),
    tool("sysctl", "procps"),
];

/// What a sweep builds a system with, and shuts its programs in.
pub(crate) const FOR_SWEEPS: &[Tool] = &[
    tool("debootstrap", "debootstrap"),
    tool("mount", "mount"),
    tool("setpriv", "util-linux"),
    tool("unshare", "util-linux"),
    tool("mkfs.ext4", "e2fsprogs"),
];

/// Installs the packages of tools that are missing, as root on Debian and its kin; elsewhere names them.
pub(crate) fn install_missing(tools: &[Tool]) -> Result<()> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    ensure!(
        rustix::process::geteuid().is_root() && is_there("apt-get"),
        "missing on this machine: {0}\nhint: apt-get install {0}, as root",
        missing.join(" ")
    );
    eprintln!("installing {}", missing.join(" "));
    run(Command::new("apt-get").args(["-qq", "update"]))?;
    run(Command::new("apt-get")
        .args(["-qq", "install", "--yes", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

/// The packages of those that are not there, each once.
fn missing(tools: &[Tool]) -> Vec<&'static str> {
    let absent = tools.iter().filter(|tool| !is_there(tool.program));
    let mut packages: Vec<&str> = absent.map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Whether a program stands in a directory of PATH, or in those of the administrator's; of a whole path, whether there
/// is such a file.
pub(crate) fn is_there(program: &str) -> bool {
    find(program).is_some()
}

/// The first place of a program in the directories of PATH, or in those of the administrator's. A whole path is its own
/// place.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let whole = PathBuf::from(program);
    if whole.is_absolute() {
        return whole.is_file().then_some(whole);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(administrators).map(|directory| directory.join(program));
    places.find(|place| place.is_file())
}

/// Runs a command and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// A directory that is empty at the beginning.
pub(crate) fn emptied(directory: PathBuf) -> Result<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Writes a script that can be started.
pub(crate) fn write_program(file: &Path, script: &str) -> Result<()> {
    fs::write(file, script)?;
    Ok(fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_path_is_looked_for_in_its_own_place_only() {
        let directory = tempfile::tempdir().unwrap();
        let loader = directory.path().join("ld-musl.so.1");
        assert_eq!(find(loader.to_str().unwrap()), None);
        std::fs::write(&loader, "").unwrap();
        assert_eq!(find(loader.to_str().unwrap()), Some(loader));
        assert!(find("sh").is_some_and(|place| place.ends_with("sh")));
        assert!(!is_there(directory.path().to_str().unwrap()));
    }

    #[test]
    fn each_missing_package_is_named_once() {
        let tools =
            [tool("sh", "dash"), tool("/no/such/b", "two"), tool("no-such-a", "one"), tool("/no/such/c", "two")];
        assert_eq!(missing(&tools), ["one", "two"]);
    }
}
