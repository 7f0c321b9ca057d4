//! Processors that static programs are built for, and what building them takes on a Debian machine with either.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::tools::{Tool, install_missing, run, tool};

/// A processor, by Rust's and the kernel's name (`uname -m`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Architecture {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

impl Architecture {
    /// This machine's.
    pub(crate) fn native() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => bail!("packages are built for x86_64 and aarch64, and this machine is {other}"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Rust's name of the target with musl.
    pub(crate) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }

    /// The emulator that runs its programs on another processor.
    pub(crate) fn emulator(self) -> Tool {
        match self {
            Self::X86_64 => tool("qemu-x86_64", "qemu-user"),
            Self::Aarch64 => tool("qemu-aarch64", "qemu-user"),
        }
    }

    /// Debian's name of it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The emulator of a whole machine with it.
    pub(crate) fn machine_emulator(self) -> Tool {
        match self {
            Self::X86_64 => tool("qemu-system-x86_64", "qemu-system-x86"),
            Self::Aarch64 => tool("qemu-system-aarch64", "qemu-system-arm"),
        }
    }

    /// Makes cargo build for this processor with glibc, as tests are; the directory below cargo's target directory that it
    /// builds in then.
    ///
    /// # Errors
    ///
    /// The compiler or Rust's library cannot be installed.
    pub(crate) fn build_for_glibc(self, cargo: &mut Command) -> Result<String> {
        if self == Self::native()? {
            return Ok(String::new());
        }
        let compiler = self.cross_compiler().compiler;
        let program = compiler.program;
        install_missing(&[compiler])?;
        let target = format!("{}-unknown-linux-gnu", self.name());
        install_target(&target)?;
        let name = target.replace('-', "_");
        cargo.env("CARGO_BUILD_TARGET", &target);
        cargo.env(format!("CC_{name}"), program).env(format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), program);
        // The library for Python is linked without one, which would have to be of the other processor.
        cargo.env("PYO3_BUILD_EXTENSION_MODULE", "1");
        Ok(target)
    }

    /// The C compiler of another processor's machine, and what makes it compile for musl.
    fn cross_compiler(self) -> Cross {
        match self {
            Self::X86_64 => Cross {
                compiler: tool("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
                archiver: "x86_64-linux-gnu-ar",
                specifications: tool("/usr/lib/x86_64-linux-musl/musl-gcc.specs", "musl-dev:amd64"),
            },
            Self::Aarch64 => Cross {
                compiler: tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                archiver: "aarch64-linux-gnu-ar",
                specifications: tool("/usr/lib/aarch64-linux-musl/musl-gcc.specs", "musl-dev:arm64"),
            },
        }
    }

    /// Makes cargo build with the C compiler and linker for this processor and musl, which are installed when they are missing.
    ///
    /// # Errors
    ///
    /// The compiler cannot be installed, or dpkg does not take packages of the other processor.
    pub(crate) fn compile_for(self, cargo: &mut Command) -> Result<()> {
        if self == Self::native()? {
            return install_missing(&[tool("musl-gcc", "musl-tools")]);
        }
        let Cross { compiler, archiver, specifications } = self.cross_compiler();
        let debian = self.debian();
        ensure!(
            takes_packages_of(debian)?,
            "the C library for {} comes from Debian's packages for {debian}, which dpkg is not set up to take\n\
             hint: dpkg --add-architecture {debian} && apt-get update",
            self.name()
        );
        let program = compiler.program;
        // The specifications are those of Debian's `musl-gcc`, which wraps the native compiler only.
        let flags = format!("-specs {}", specifications.program);
        install_missing(&[compiler, specifications])?;
        let target = self.target().replace('-', "_");
        cargo.env(format!("CC_{target}"), program).env(format!("AR_{target}"), archiver);
        cargo.env(format!("CFLAGS_{target}"), flags);
        cargo.env(format!("CARGO_TARGET_{}_LINKER", target.to_uppercase()), program);
        Ok(())
    }
}

struct Cross {
    compiler: Tool,
    archiver: &'static str,
    specifications: Tool,
}

/// Whether dpkg installs packages of this architecture beside the machine's own.
fn takes_packages_of(architecture: &str) -> Result<bool> {
    let output = Command::new("dpkg").arg("--print-foreign-architectures").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().any(|line| line == architecture))
}

/// Makes sure that Rust's standard library for `target` is installed, by rustup if need be.
///
/// # Errors
///
/// It is missing, and rustup cannot install it.
pub(crate) fn install_target(target: &str) -> Result<()> {
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let is_installed = libraries
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .is_some_and(|directory| Path::new(directory.trim()).is_dir());
    ensure!(
        is_installed || run(Command::new("rustup").args(["target", "add", target])).is_ok(),
        "Rust's library for {target} is missing\nhint: rustup target add {target}"
    );
    Ok(())
}
