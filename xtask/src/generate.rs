//! `gen`: the machine code that coldstart ships as files, built from its sources in `stubs/`.
//!
//! The built files are checked in, so that coldstart builds without cross compilers. Another compiler gives other bytes
//! for the same source, so `--check` compares only where the very compiler and linker are there that built them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::tools::{is_there, run};

/// A library of machine code.
struct Stub {
    /// Its directory in `stubs/`; the source has the same name.
    name: &'static str,
    /// Flags beside [`FLAGS`].
    flags: &'static [&'static str],
    /// The machines it is built for, by the names of [`TARGETS`]. Empty: all.
    machines: &'static [&'static str],
}

const STUBS: &[Stub] = &[
    Stub {
        name: "audit",
        flags: &["-fno-asynchronous-unwind-tables", "-Wl,-soname,libcoldstart-audit.so,-z,defs"],
        machines: &[],
    },
    // A thread may be cancelled in one of its functions, which unwinds the stack. The C library's functions are found by the
    // loader when it is there.
    Stub {
        name: "preload",
        flags: &["-fasynchronous-unwind-tables", "-fno-plt", "-Wl,-soname,libcoldstart-absent.so,--eh-frame-hdr"],
        machines: &["x86-64", "aarch64", "riscv64"],
    },
];

/// A machine that libraries are built for.
struct Target {
    /// The file's name without `.so`, and, for the audit library, `coldstart_bind::audit::Architecture`'s.
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// Whether the compiler marks its code as fit for branch protection (`PT_GNU_PROPERTY`).
    property: bool,
}

const TARGETS: &[Target] = &[
    target("x86-64", "x86_64-linux-gnu-gcc", &["-fcf-protection=full"], true),
    target("i386", "i686-linux-gnu-gcc", &["-fcf-protection=full"], true),
    // Atomic operations without a function of libgcc.
    target("aarch64", "aarch64-linux-gnu-gcc", &["-mbranch-protection=standard", "-mno-outline-atomics"], true),
    // The system call's number goes into r7, which is Thumb code's frame pointer.
    target("arm", "arm-linux-gnueabihf-gcc", &["-marm", "-march=armv7-a+fp"], false),
    target("riscv64", "riscv64-linux-gnu-gcc", &["-march=rv64gc", "-mabi=lp64d"], false),
    target("s390x", "s390x-linux-gnu-gcc", &[], false),
];

const fn target(name: &'static str, compiler: &'static str, flags: &'static [&'static str], property: bool) -> Target {
    Target { name, compiler, flags, property }
}

/// No libc, no start-up code; nothing that makes the compiler call `memcpy`, and an error if it calls
/// anything else.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-tree-loop-distribute-patterns",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wl,-s,--hash-style=gnu,-z,norelro,-z,noexecstack,--build-id=none,--fatal-warnings",
];

/// Builds what there are compilers for; with `check` says whether the same came out, and leaves all as it is.
pub(crate) fn generate(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for stub in STUBS {
        let is_for = |target: &&Target| stub.machines.is_empty() || stub.machines.contains(&target.name);
        for target in TARGETS.iter().filter(is_for) {
            if !generate_one(stub, target, check)? {
                stale.push(format!("stubs/{}/{}", stub.name, target.name));
            }
        }
    }
    for target in TARGETS.iter().filter(|target| RELOCATORS.contains(&target.name)) {
        if !generate_relocator(target, check)? {
            stale.push(format!("stubs/relocate/{}", target.name));
        }
    }
    ensure!(
        stale.is_empty(),
        "not what the source gives: {}\nhint: cargo xtask gen, and commit what it writes",
        stale.join(", ")
    );
    Ok(())
}

/// The machines of `stubs/relocate/`, whose code becomes part of libraries. It is in assembly, so every assembler gives the same bytes.
const RELOCATORS: &[&str] = &["x86-64", "i386", "arm", "aarch64"];

/// Whether the code of `pack --passes stub` is what its source gives, or could not be assembled here.
fn generate_relocator(target: &Target, check: bool) -> Result<bool> {
    let workspace = crate::cargo::workspace();
    let built = workspace.join("crates/prove/stub").join(format!("{}.bin", target.name));
    if !is_there(target.compiler) {
        println!("skipped: {}: there is no {}", built.display(), target.compiler);
        return Ok(true);
    }
    let scratch = crate::cargo::target_directory()?.join("stubs").join("relocate");
    fs::create_dir_all(&scratch)?;
    let at = |ending: &str| scratch.join(format!("{}.{ending}", target.name));
    let source = workspace.join("stubs/relocate").join(format!("{}.S", target.name));
    run(Command::new(target.compiler).arg("-c").arg(&source).arg("-o").arg(at("o")))?;
    let objcopy = target.compiler.replace("gcc", "objcopy");
    run(Command::new(objcopy).args(["-O", "binary", "-j", ".text"]).arg(at("o")).arg(at("bin")))?;
    settle(&built, &at("bin"), check)
}

/// Puts a fresh file into its place; with `check` says whether it is the same as what is there.
fn settle(built: &Path, fresh: &Path, check: bool) -> Result<bool> {
    let fresh = fs::read(fresh)?;
    if !check {
        fs::write(built, fresh)?;
        println!("built {}", built.display());
        return Ok(true);
    }
    let is_same = fresh == fs::read(built).unwrap_or_default();
    if is_same {
        println!("{} is what its source gives", built.display());
    }
    Ok(is_same)
}

/// Whether the library is what its source gives, or could not be built here.
fn generate_one(stub: &Stub, target: &Target, check: bool) -> Result<bool> {
    let directory = crate::cargo::workspace().join("stubs").join(stub.name);
    let (built, recorded) = (directory.join(format!("{}.so", target.name)), recorded_version(&directory, target));
    if !is_there(target.compiler) {
        println!("skipped: {}: there is no {}", built.display(), target.compiler);
        return Ok(true);
    }
    let version = version(target)?;
    if check && fs::read_to_string(&recorded).unwrap_or_default() != version {
        println!("skipped: {}: it was built by another compiler than the one here", built.display());
        return Ok(true);
    }
    let scratch = crate::cargo::target_directory()?.join("stubs").join(stub.name);
    fs::create_dir_all(&scratch)?;
    let fresh = build(stub, target, &directory, &scratch)?;
    if !check {
        fs::write(&recorded, version)?;
    }
    settle(&built, &fresh, check)
}

fn build(stub: &Stub, target: &Target, directory: &Path, scratch: &Path) -> Result<PathBuf> {
    let script = scratch.join(format!("{}.ld", target.name));
    let text = fs::read_to_string(directory.join("link.ld"))?;
    fs::write(&script, if target.property { text } else { without_property(&text) })?;
    let output = scratch.join(format!("{}.so", target.name));
    run(Command::new(target.compiler)
        .args(FLAGS)
        .args(stub.flags)
        .args(target.flags)
        .arg(format!("-Wl,-T,{}", script.display()))
        // A relative name: the compiler may write the path it was given into the file.
        .arg(format!("{}.c", stub.name))
        .arg("-o")
        .arg(&output)
        .current_dir(directory))?;
    Ok(output)
}

/// The linker script for machines without such marks: an empty segment would be left of it.
fn without_property(script: &str) -> String {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with("property "));
    lines.map(|line| line.replace(" :property", "") + "\n").collect()
}

fn recorded_version(directory: &Path, target: &Target) -> PathBuf {
    directory.join(format!("{}.built-by", target.name))
}

/// The compiler and its linker, a line each.
fn version(target: &Target) -> Result<String> {
    let first_line = |program: &str| -> Result<String> {
        let output =
            Command::new(program).arg("--version").output().with_context(|| format!("cannot run {program}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned() + "\n")
    };
    let linker = Command::new(target.compiler).arg("-print-prog-name=ld").output()?;
    Ok(first_line(target.compiler)? + &first_line(String::from_utf8_lossy(&linker.stdout).trim())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_leave_no_trace_where_there_are_none() {
        for stub in STUBS {
            let script = crate::cargo::workspace().join("stubs").join(stub.name).join("link.ld");
            let script = fs::read_to_string(script).unwrap();
            let without = without_property(&script);
            assert!(script.contains(":property") && script.contains("property 0x6474e553"));
            assert!(!without.contains(":property") && !without.contains("0x6474e553"));
            assert!(without.contains(".note.gnu.property : { *(.note.gnu.property) } :text"));
        }
    }
}
