//! Arguments of `coldstart order files`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// Traces of starts, with pages and files
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,

    /// The tool that reads the list
    #[arg(long = "for", value_enum, value_name = "TOOL", default_value = "list")]
    pub(crate) tool: ToolChoice,

    /// Directory that becomes the root of the image; only files below it are listed [default: /]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// What was / for the traced starts, if it was not --root
    #[arg(long, value_name = "DIR", requires = "root")]
    pub(crate) trace_root: Option<PathBuf>,

    /// Where to write the list [default: standard output]
    #[arg(long, short, value_name = "LIST")]
    pub(crate) output: Option<PathBuf>,

    /// Print one JSON object instead of the list
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolChoice {
    /// A path a line
    List,
    /// mksquashfs -sort LIST
    Squashfs,
    /// mkdwarfs --order=explicit:file=LIST
    Dwarfs,
    /// tar -T LIST, for mkfs.erofs --tar
    Erofs,
    /// nydusify optimize --prefetch-files LIST, with ranges of bytes
    Nydus,
    /// nerdctl image convert --estargz-record-in LIST
    Estargz,
    /// soci create --prefetch-files-json LIST
    Soci,
    /// asar pack --ordering LIST
    Asar,
    /// jlink --order-resources=@LIST, with the classes that were read from lib/modules
    Jlink,
}

pub(crate) const HELP: &str = "\
Files of several starts come in the order of their smallest rank in any of them. Names are those of the image: of a container, they are looked \
up below --root, through its links; files that are not there, or have changed since the recording, are left out. Names that a tool's list \
cannot hold are left out, with a note.

Exit codes: 0 listed; 2 wrong usage, or something broke.

Examples:
  coldstart order files app.coldtrace --root AppDir --for squashfs -o sort.txt && mksquashfs AppDir app.squashfs -sort sort.txt
  coldstart order files start.coldtrace --root bundle/rootfs --for nydus -o prefetch.json";
