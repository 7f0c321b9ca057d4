//! Links the launcher statically where this machine can.
//!
//! On a cold disk the loader and libc would be read for the launcher before the plan can sweep them in with the rest:
//! 0.25 s of seeks on a disk of 7,200 turns a minute. Cargo's own way (`+crt-static`) holds for whole builds and breaks
//! procedural macros, so the linker is asked directly. A machine without a static libc gets a dynamic launcher, which does
//! the same a little later.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Behind `-Bdynamic` the linker would leave undefined weak symbols (`__gmon_start__`) to a loader that is not there.
const STATIC: [&str; 2] = ["-static-pie", "-Wl,-z,nodynamic-undefined-weak"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=COLDSTART_DYNAMIC_LAUNCHER");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_native = variable("HOST") == variable("TARGET");
    let is_glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !(is_native && is_glibc) || env::var_os("COLDSTART_DYNAMIC_LAUNCHER").is_some() {
        return;
    }
    let directory = variable("OUT_DIR");
    if links_statically(Path::new(&directory)).is_some() {
        // Of the launcher alone: a test that found the archive by the shared library's name would be half of each, and crash.
        println!("cargo::rustc-link-arg-bins=-L{directory}");
        for argument in STATIC {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Prepares the directory for a static link and tries one.
///
/// rustc asks for shared libraries by name (`-Bdynamic -lc`), which `-static` does not overrule. A linker script of that
/// name, found first, leads to the archive instead; libgcc_s has its static half under another name.
fn links_statically(directory: &Path) -> Option<()> {
    let libc = archive("libc.a")?;
    let libgcc = format!("{} {}", archive("libgcc.a")?, archive("libgcc_eh.a")?);
    fs::write(directory.join("libc.so"), format!("GROUP ( {libc} {libgcc} )\n")).ok()?;
    fs::write(directory.join("libgcc_s.so"), format!("GROUP ( {libgcc} {libc} )\n")).ok()?;
    let source = directory.join("probe.c");
    fs::write(&source, "#include <pthread.h>\nint main(void) { return pthread_self() == 0; }\n").ok()?;
    let probe = directory.join("probe");
    let linked = Command::new("cc")
        .args(STATIC)
        .arg("-o")
        .args([&probe, &source])
        .arg("-L")
        .arg(directory)
        .args(["-Wl,-Bdynamic", "-lgcc_s", "-lc"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    // A program that the linker made and the machine cannot start would be worse than a dynamic one.
    let started = linked.success() && Command::new(&probe).status().ok()?.success();
    started.then_some(())
}

/// Full path of an archive that the compiler knows.
fn archive(name: &str) -> Option<String> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    // A name it does not know comes back as it is.
    (output.status.success() && Path::new(&path).is_absolute()).then_some(path)
}
