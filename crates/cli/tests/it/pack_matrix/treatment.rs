//! What other tools do to a file before or after it was packed.
//!
//! Tools write new files here, and copies are made by links: a file that this process itself has written cannot be
//! started for a moment (ETXTBSY), because children that other threads start hold it open until they become programs.

use std::path::Path;
use std::process::Command;

use super::run::succeed;
use super::toolchain::Machine;

/// A tool's work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Strip,
    LlvmStrip,
    SetRpath,
    AddNeeded,
    /// Debug information goes to a file of its own.
    SplitDebug,
}

impl Treatment {
    pub(crate) const ALL: [Self; 5] = [Self::Strip, Self::LlvmStrip, Self::SetRpath, Self::AddNeeded, Self::SplitDebug];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Strip => "strip",
            Self::LlvmStrip => "llvm-strip",
            Self::SetRpath => "patchelf --set-rpath",
            Self::AddNeeded => "patchelf --add-needed",
            Self::SplitDebug => "objcopy --add-gnu-debuglink",
        }
    }

    /// Its name in the names of folders, which must have no blank: `LD_PRELOAD` divides by it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Strip => "stripped",
            Self::LlvmStrip => "llvm-stripped",
            Self::SetRpath => "rpath-set",
            Self::AddNeeded => "library-added",
            Self::SplitDebug => "debug-split",
        }
    }

    /// Applies it to `input`; `output` is a new file.
    pub(crate) fn apply(self, machine: Machine, input: &Path, output: &Path) -> Result<(), String> {
        // Longer than what was there, so that the string table has to move.
        let search = "$ORIGIN:/usr/i686-linux-gnu/lib:/a/folder/that/is/not/there/and/has/a/long/name";
        let tool = |tool: &str| Command::new(machine.binutils(tool));
        match self {
            Self::Strip => succeed(tool("strip").arg("-o").arg(output).arg(input)),
            Self::LlvmStrip => succeed(Command::new("llvm-strip").arg("-o").arg(output).arg(input)),
            Self::SetRpath => patchelf(&["--set-rpath", search], input, output),
            Self::AddNeeded => patchelf(&["--add-needed", "libm.so.6"], input, output),
            Self::SplitDebug => {
                let folder = output.parent().unwrap();
                let debug = format!("{}.debug", output.file_name().unwrap().to_string_lossy());
                succeed(tool("objcopy").arg("--only-keep-debug").arg(input).arg(folder.join(&debug)))?;
                let link = format!("--add-gnu-debuglink={debug}");
                succeed(tool("objcopy").current_dir(folder).args(["--strip-debug", &link]).arg(input).arg(output))
            }
        }
        .map(drop)
    }
}

fn patchelf(arguments: &[&str], input: &Path, output: &Path) -> Result<String, String> {
    succeed(Command::new("patchelf").args(arguments).arg("--output").arg(output).arg(input))
}
