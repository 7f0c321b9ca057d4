//! How the program is linked when it is made for use: to a fixed address and with one library less
//! (docs/decisions/0014-a-fixed-address.md).

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_native = variable("HOST") == variable("TARGET");
    let is_glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if variable("PROFILE") != "release" || !is_native || !is_glibc {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let folder = variable("OUT_DIR");
    if without_libgcc(Path::new(&folder)).is_some() {
        println!("cargo::rustc-link-search=native={folder}");
    }
}

/// rustc asks for libgcc_s by name. A linker script of that name, found first, leads to the archives with the same functions.
fn without_libgcc(folder: &Path) -> Option<()> {
    let archives = format!("{} {}", archive("libgcc_eh.a")?, archive("libgcc.a")?);
    fs::write(folder.join("libgcc_s.so"), format!("GROUP ( {archives} )\n")).ok()
}

/// Full path of an archive that the compiler knows.
fn archive(name: &str) -> Option<String> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    // A name it does not know comes back as it is.
    (output.status.success() && Path::new(&path).is_absolute()).then_some(path)
}
