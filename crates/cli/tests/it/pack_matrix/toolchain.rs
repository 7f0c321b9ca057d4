//! Linkers and machines: which compiler, which options, how to run what comes out.

use std::path::Path;
use std::process::Command;

/// A linker that gcc is told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linker {
    Bfd,
    Gold,
    Lld,
    Mold,
}

impl Linker {
    pub(crate) const ALL: [Self; 4] = [Self::Bfd, Self::Gold, Self::Lld, Self::Mold];

    /// Its name in `-fuse-ld`, and in our table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfd => "bfd",
            Self::Gold => "gold",
            Self::Lld => "lld",
            Self::Mold => "mold",
        }
    }
}

/// A machine that objects are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// x86-64, as the tests themselves.
    Native,
    /// Runs on the same processor. Built by the cross compiler: Debian's gcc-multilib cannot stand beside other ones.
    I386,
    /// Runs in qemu. Its pages may have 64 KiB.
    Aarch64,
}

impl Machine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "x86-64",
            Self::I386 => "i386",
            Self::Aarch64 => "aarch64",
        }
    }

    pub(crate) fn compiler(self, cxx: bool) -> &'static str {
        match (self, cxx) {
            (Self::Native, true) => "g++",
            (Self::Native, false) => "gcc",
            (Self::I386, _) => "i686-linux-gnu-gcc",
            (Self::Aarch64, _) => "aarch64-linux-gnu-gcc",
        }
    }

    /// GNU strip, patchelf and others know all machines; binutils of Debian know their own.
    pub(crate) fn binutils(self, tool: &str) -> String {
        match self {
            Self::Native => tool.to_owned(),
            Self::I386 => format!("i686-linux-gnu-{tool}"),
            Self::Aarch64 => format!("aarch64-linux-gnu-{tool}"),
        }
    }

    /// Options for every program, so that it finds its C library.
    pub(crate) fn link_program(self) -> &'static [&'static str] {
        match self {
            Self::Native | Self::Aarch64 => &[],
            Self::I386 => {
                &["-Wl,--dynamic-linker=/usr/i686-linux-gnu/lib/ld-linux.so.2", "-Wl,-rpath,/usr/i686-linux-gnu/lib"]
            }
        }
    }

    /// Runs a program, with nothing in its environment but what is given. It may take a minute.
    pub(crate) fn run(self, program: &Path, environment: &[(&str, String)]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("60").env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C");
        if self == Self::Aarch64 {
            command.args(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]);
            for (name, value) in environment {
                command.arg("-E").arg(format!("{name}={value}"));
            }
        } else {
            // Not by our environment: LD_PRELOAD and its kin are for the program alone.
            command.arg("env").args(environment.iter().map(|(name, value)| format!("{name}={value}")));
        }
        command.arg(program);
        command
    }
}
