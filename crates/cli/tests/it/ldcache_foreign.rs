//! Caches for other machines against those machines' own `ldconfig`, under emulation.
//!
//! It needs what no package for this machine has, and is therefore run by hand. For each machine: its package `libc-bin`
//! unpacked into `$COLDSTART_FOREIGN/ARCH/` (`apt-get download libc-bin:arm64` with that architecture's lists, then
//! `dpkg-deb -x`), Debian's cross compiler, and qemu-user; and root. Then
//! `COLDSTART_FOREIGN=DIR cargo test -p coldstart --test it ldcache_foreign -- --ignored`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Debian's name, the emulator, the compiler's triplet, our name, and levels that have folders.
const MACHINES: [(&str, &str, &str, &str, &[&str]); 6] = [
    ("arm64", "qemu-aarch64", "aarch64-linux-gnu", "aarch64", &[]),
    ("armhf", "qemu-arm", "arm-linux-gnueabihf", "arm", &[]),
    ("i386", "qemu-i386", "i686-linux-gnu", "i386", &[]),
    ("riscv64", "qemu-riscv64", "riscv64-linux-gnu", "riscv64", &[]),
    ("ppc64el", "qemu-ppc64le", "powerpc64le-linux-gnu", "ppc64le", &["power9", "power10"]),
    ("s390x", "qemu-s390x", "s390x-linux-gnu", "s390x", &["z13", "z15"]),
];

/// Names whose order depends on the sign of `char`, and on what counts as a number.
const NAMES: [&[u8]; 8] = [
    b"liba.so.1",
    b"libz.so.1",
    b"lib~.so.1",
    b"libA.so.9",
    b"lib_.so.12",
    b"lib\xc3\xa4.so.1",
    b"lib\xffz.so.1",
    b"lib\x80.so.1",
];

fn run(command: &mut Command) -> Output {
    command.env("LC_ALL", "C").output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn ldcache(arguments: &[&OsStr]) -> Output {
    run(Command::new(env!("CARGO_BIN_EXE_coldstart")).arg("ldcache").args(arguments))
}

#[test]
#[ignore = "needs other machines' libc-bin packages, unpacked by hand"]
fn foreign_ldconfigs_write_the_same_bytes() {
    let packages = PathBuf::from(std::env::var_os("COLDSTART_FOREIGN").expect("COLDSTART_FOREIGN names the packages"));
    let mut compared = 0;
    for (debian, emulator, triplet, machine, levels) in MACHINES {
        let ldconfig = packages.join(debian).join("sbin/ldconfig");
        if !ldconfig.exists() {
            eprintln!("{debian}: not there");
            continue;
        }
        println!("{debian}");
        compare(&ldconfig, emulator, triplet, machine, levels);
        compared += 1;
    }
    assert_ne!(compared, 0, "nothing was compared");
}

fn compare(ldconfig: &Path, emulator: &str, triplet: &str, machine: &str, levels: &[&str]) {
    // A root of its own, or this machine's libraries in /lib were entered as well: `ldconfig` does not ask for whom they are.
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    let (folder, own) = (root.join("opt/names"), root.join("opt/own"));
    for made in [&folder, &own, &root.join("etc")] {
        fs::create_dir_all(made).unwrap();
    }
    fs::write(root.join("etc/ld.so.conf"), "/opt/names\n/opt/own\n").unwrap();
    let compiled = scratch.path().join("plain.so");
    let has_compiler = Command::new(format!("{triplet}-gcc")).arg("--version").output().is_ok();
    if !has_compiler {
        eprintln!("{triplet}-gcc is not there: the C library's own files alone are compared");
    }
    for name in NAMES.iter().filter(|_| has_compiler) {
        let mut soname = b"-Wl,-soname,".to_vec();
        soname.extend(*name);
        let mut command = Command::new(format!("{triplet}-gcc"));
        command.args(["-shared", "-nostdlib", "-fPIC", "-x", "c", "/dev/null", "-x", "none"]);
        let output = run(command.arg(OsStr::from_bytes(&soname)).arg("-o").arg(&compiled));
        assert!(output.status.success(), "{machine}: {output:?}");
        fs::copy(&compiled, folder.join(OsStr::from_bytes(name))).unwrap();
        for level in levels {
            let below = folder.join("glibc-hwcaps").join(level);
            fs::create_dir_all(&below).unwrap();
            fs::copy(&compiled, below.join(OsStr::from_bytes(name))).unwrap();
        }
    }
    // Those of the C library itself.
    for entry in fs::read_dir(format!("/usr/{triplet}/lib")).unwrap().map(Result::unwrap) {
        if entry.file_name().as_bytes().windows(3).any(|part| part == b".so") && entry.path().is_file() {
            fs::copy(entry.path(), own.join(entry.file_name())).unwrap();
        }
    }
    let (theirs, ours) = (root.join("theirs"), scratch.path().join("ours"));
    let output = run(Command::new(emulator).arg(ldconfig).args(["-X", "-C", "/theirs", "-r"]).arg(&root));
    assert!(output.status.success(), "{machine}: {output:?}");
    let shown = ldcache(&["show".as_ref(), "--json".as_ref(), theirs.as_ref()]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let generator = shown["generator"].as_str().unwrap();
    let words = ["write", "--arch", machine, "--glibc", "2.36", "--generator", generator].map(OsStr::new);
    let places = ["-o".as_ref(), ours.as_os_str(), "--sysroot".as_ref(), root.as_os_str()];
    let written = ldcache(&[&words[..], &places].concat());
    assert_eq!(written.status.code(), Some(0), "{machine}: {}", String::from_utf8_lossy(&written.stderr));
    let text = |cache: &Path| {
        let output = ldcache(&["show".as_ref(), "--ldconfig".as_ref(), cache.as_ref()]);
        String::from_utf8_lossy(&output.stdout).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (left, right) = (text(&ours), text(&theirs));
    let only =
        |one: &[String], other: &[String]| one.iter().filter(|line| !other.contains(line)).cloned().collect::<Vec<_>>();
    assert_eq!((only(&left, &right), only(&right, &left)), (Vec::new(), Vec::new()), "{machine}: ours, theirs");
    assert_eq!(left, right, "{machine}");
    assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(), "{machine}: the same entries and other bytes");
    println!("{machine}: {} entries, the same bytes", left.len() - 1);
}
