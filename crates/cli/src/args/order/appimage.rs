//! Arguments of `coldstart order appimage`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct AppImageArgs {
    /// The AppImage, of type 2 with a squashfs image
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Where to write the new one [default: nothing is written, and what FILE costs the starts is shown]
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Trace of a start from FILE, with pages and files; may be given several times
    #[arg(long = "trace", required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,

    /// Where the image's files were for the traced starts [default: the directory in which the runtime mounted it]
    #[arg(long, value_name = "DIR")]
    pub(crate) trace_root: Option<PathBuf>,

    /// The new image's compression, which the runtime must know [default: as in FILE]
    #[arg(long, value_enum, value_name = "NAME", requires = "output")]
    pub(crate) compression: Option<CompressionChoice>,

    /// The new image's block size in bytes, a power of two from 4096 to 1048576 [default: as in FILE]
    #[arg(long, value_name = "BYTES", value_parser = block_size, requires = "output")]
    pub(crate) block_size: Option<u32>,

    /// Clear a signature instead of refusing FILE
    #[arg(long, requires = "output")]
    pub(crate) drop_signature: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionChoice {
    Gzip,
    Lzo,
    Lz4,
    Xz,
    Zstd,
}

fn block_size(text: &str) -> Result<u32, String> {
    let size: u32 = text.parse().map_err(|_| "not a number of bytes".to_owned())?;
    match size.is_power_of_two() && (4096..=1 << 20).contains(&size) {
        true => Ok(size),
        false => Err("not a power of two from 4096 to 1048576".to_owned()),
    }
}

pub(crate) const HELP: &str = "\
The image is extracted and made anew by squashfs-tools, with the files that the starts used first, in the order of their first use. The runtime \
and its update information stay. Both images are extracted and compared before the new file gets its name: names, modes, owners, times, \
extended attributes, links and contents. $TMPDIR needs room for the extracted files twice. Images with devices, several owners, or attributes \
other than `user.` need root.

Without --output, nothing is written: how the image is compressed, and what the starts decompress with blocks of each size.

Exit codes: 0 written or shown; 2 refused, wrong usage, or something broke. FILE is never changed.

Examples:
  coldstart order appimage App.AppImage --trace start.coldtrace
  coldstart order appimage App.AppImage -o New.AppImage --trace start.coldtrace --block-size 131072";
