//! Which loader loads an object that names none, and where musl's has its list of directories.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_loader::{Class, ObjectFacts};

use super::Files;

/// glibc's loaders (its `shlib-versions` files and the machines' ABI documents) and musl's, by machine and width.
const LOADERS: &[(u16, Class, &str, &str)] = &[
    (62, Class::Bits64, "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"),
    (62, Class::Bits32, "/libx32/ld-linux-x32.so.2", "/lib/ld-musl-x32.so.1"),
    (3, Class::Bits32, "/lib/ld-linux.so.2", "/lib/ld-musl-i386.so.1"),
    (183, Class::Bits64, "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"),
    (40, Class::Bits32, "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armhf.so.1"),
    (243, Class::Bits64, "/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-riscv64.so.1"),
    (21, Class::Bits64, "/lib64/ld64.so.2", "/lib/ld-musl-powerpc64le.so.1"),
    (22, Class::Bits64, "/lib/ld64.so.1", "/lib/ld-musl-s390x.so.1"),
    (258, Class::Bits64, "/lib64/ld-linux-loongarch-lp64d.so.1", "/lib/ld-musl-loongarch64.so.1"),
    (8, Class::Bits64, "/lib64/ld.so.1", "/lib/ld-musl-mips64el.so.1"),
];

/// The loader that an object names, or the one that loads libraries like it here.
pub(super) fn of(facts: &ObjectFacts, files: &Files) -> Option<PathBuf> {
    if let Some(named) = &facts.interpreter {
        return Some(PathBuf::from(OsStr::from_bytes(named)));
    }
    let (_, _, glibc, musl) =
        LOADERS.iter().find(|(machine, class, ..)| (*machine, *class) == (facts.machine, facts.class))?;
    // musl's C library is `libc.so`, or `libc.musl-x86_64.so.1`; glibc's is `libc.so.6`.
    let is_for_musl = facts.needed.iter().any(|needed| needed == b"libc.so" || needed.starts_with(b"libc.musl-"));
    let (first, second) = if is_for_musl { (musl, glibc) } else { (glibc, musl) };
    let is_there = |path: &str| files.on_disk(Path::new(path)).is_ok_and(|place| place.is_file());
    let found = if !is_there(first) && is_there(second) { second } else { first };
    Some(PathBuf::from(found))
}

/// What stands in /etc/ld-musl-ARCH.path. ARCH is compiled into the loader, and a loader that is not in /lib has its own /etc
/// beside its directory (ldso/dynlink.c, `load_library`).
pub(super) fn musl_path_file(loader: &[u8], interpreter: Option<&Path>, files: &Files) -> Option<Vec<u8>> {
    const BEFORE: &[u8] = b"/etc/ld-musl-";
    let texts = loader.split(|&byte| byte == 0).filter(|text| text.ends_with(b".path"));
    let name = texts.filter_map(|text| {
        let place = text.windows(BEFORE.len()).position(|window| window == BEFORE)?;
        text.get(place..)
    });
    let name = name.map(<[u8]>::to_vec).next()?;
    let above = interpreter.filter(|path| path.is_absolute()).and_then(|path| path.parent()?.parent());
    let prefix = above.map(|above| above.as_os_str().as_bytes()).filter(|prefix| *prefix != b"/").unwrap_or_default();
    let path = PathBuf::from(std::ffi::OsString::from_vec([prefix, name.as_slice()].concat()));
    match files.content(&path) {
        Ok(content) => Some(content),
        // One that is there and cannot be read leaves no directory at all.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}
