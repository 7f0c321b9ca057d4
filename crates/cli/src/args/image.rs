//! Arguments of `coldstart image`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::installing::InstallArgs;
use super::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use super::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) action: ImageAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageAction {
    /// Make an image: what a start needs in front, in the order of the start
    #[command(after_help = MAKE_HELP)]
    Make(Box<MakeArgs>),
    /// Start a program with the image's files in the place of their originals
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Have a program start from an image where people start it, until that is undone
    #[command(after_help = INSTALL_HELP)]
    Install(Box<InstallImageArgs>),
    /// Mount an image for everybody on this machine
    #[command(after_help = MOUNT_HELP)]
    Mount(MountArgs),
    /// Unmount an image
    #[command(after_help = UMOUNT_HELP)]
    Umount(MountArgs),
    /// Check each byte of an image, and compare it with the files it was made of
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Show what an image was made for, and its hot files
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Where to write the image [default: the program's name with .erofs, in the working directory]
    #[arg(long, short, value_name = "IMAGE")]
    pub(crate) output: Option<PathBuf>,

    /// Directory to take whole; may be repeated [default: the files that the starts used]
    #[arg(long, value_name = "DIR")]
    pub(crate) tree: Vec<PathBuf>,

    /// Directory to take whole as the root of the image: a container's root, a debootstrap tree, a mounted disk image
    #[arg(long, value_name = "ROOTFS", conflicts_with = "tree", group = "rooted")]
    pub(crate) root: Option<PathBuf>,

    /// Image of an OCI layout, of which all files become the image
    #[arg(long, value_name = "LAYOUT[:TAG]", conflicts_with_all = ["tree", "words"], group = "rooted")]
    pub(crate) oci: Option<OsString>,

    /// Write a new OCI layout with the image as its one layer, instead of a file
    #[arg(long, value_name = "LAYOUT[:TAG]", conflicts_with_all = ["output", "force"], requires = "rooted")]
    pub(crate) oci_output: Option<OsString>,

    /// Directory that was `/` for the traced starts [default: that of --root]
    #[arg(long, value_name = "DIR", requires_all = ["trace", "rooted"])]
    pub(crate) trace_root: Option<PathBuf>,

    /// Trace of a start (`coldstart trace --cold --layers pages,files`); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Vec<PathBuf>,

    /// File or directory to leave out, with all below it; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) exclude: Vec<PathBuf>,

    /// How to store files with hot pages; zstd needs Linux 6.15 to mount the image
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub(crate) compress: Compress,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Do not drop the caches before the recorded start
    #[arg(long, requires = "words")]
    pub(crate) as_is: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    /// A program to start and record, and its arguments
    #[arg(required_unless_present_any = ["tree", "root", "oci", "trace"], trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

/// How files with hot pages are stored.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compress {
    /// As they are
    None,
    /// Each run of hot pages compressed by itself: a third to read for a start from a slow disk
    Zstd,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Say which originals are used, and why
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// The program to start, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct InstallImageArgs {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    #[command(flatten)]
    pub(crate) installing: InstallArgs,

    /// Index of modules to install with it, of `coldstart index make`
    #[arg(long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,

    /// File or directory to leave out when the image is made again; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) exclude: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Regular file as the program's standard input when the image is made again [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MountArgs {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Compare each file with the one of the same path below this directory, as `/`
    #[arg(long, value_name = "ROOT")]
    pub(crate) against: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// Show at most this many hot files; 0 for all
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) limit: usize,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const MAKE_HELP: &str = "\
The image is an EROFS file system, without compression unless --compress asks for it, which Linux mounts read-only. Its directories and inodes are in front, then come the \
pages that the starts used, in the order of first use, then all others. So a start reads one range of the disk from its front to its end.

Without --tree, --root and --oci, the image has the files that the starts read or looked up, with all directories and links that lead to them. Files that a \
start writes are left out. With --tree, it has exactly these directories; a mount inside is refused. Several starts, of one program or of several, give one order \
that suits all. What an image cannot hold is refused by name.

With --root, ROOTFS becomes the root of the image; with --oci, the layers of a container image do, which are not extracted for that. Traces may be those of `chroot ROOTFS PROGRAM`, or recorded inside. --oci-output writes one layer of the type application/vnd.erofs.layer.v1, which containerd runs with its EROFS snapshotter; other runtimes do not know it.

Owners, modes, times, hard links, holes, extended attributes, capabilities and access lists are kept. The same files and starts give the same bytes.

Exit codes: 0 made; 2 something broke, and nothing was written.

Examples:
  sudo coldstart image make -- blender --background --version
  sudo coldstart image make -o office.erofs --tree /usr/lib/libreoffice -- soffice --headless --terminate_after_init
  coldstart image make -o both.erofs --trace a.coldtrace --trace b.coldtrace
  sudo coldstart image make --root rootfs --trace start.coldtrace
  coldstart image make --oci app:1.2 --trace start.coldtrace --trace-root bundle/rootfs --oci-output fast:1.2";

const RUN_HELP: &str = "\
In a mount namespace of the program's own, each hot file of the image is laid over its original if that is still the file that was copied: same inode, size, times. \
All paths stay what they are, directories are the originals, and what has changed since is used as it is now. A process beside the program reads the hot range from front to back. \
Whatever fails, the program starts: from its own files.

Root mounts the image for the program alone, if nobody else can write to it. Other users need one that root has mounted (`coldstart image mount`), and a kernel that lets them \
make user namespaces; set-user-ID programs then give no rights inside.

The program cannot replace or remove the covered files itself, so do not start package managers and self-updating programs this way. Others can: a file that \
is renamed over an original is what the program opens from then on.

Exit code: the program's; 126 it cannot be started; 127 it is not found.

Examples:
  sudo coldstart image run office.erofs -- soffice --headless --terminate_after_init
  coldstart-run office.erofs -- soffice";

const INSTALL_HELP: &str = "\
The image is copied to the installation's directory, and the places start `coldstart-run IMAGE -- PROGRAM`. As root it is for all users: a unit mounts the image at each boot, \
and it is mounted now, so that users start from it who may not mount it. The program starts without the image if that is gone, and an original that has changed since is used instead of its copy. \
`coldstart installed` says how it is, makes the image again (--refresh) and undoes all of it (--uninstall).

Only root can do that. The program cannot replace or remove files of the image, so do not install programs that update themselves. Programs of other users than root start in a user namespace.

Exit codes: 0 installed; 2 something broke, and nothing was installed.

Examples:
  sudo coldstart image make -o soffice.erofs -- soffice --headless --terminate_after_init
  sudo coldstart image install soffice.erofs -- soffice --headless --terminate_after_init
  sudo coldstart image install --after-upgrades soffice.erofs -- soffice --headless --terminate_after_init";

const MOUNT_HELP: &str = "\
The image is mounted below /run/coldstart/images until it is unmounted or the machine is shut down. No program is affected by that: `coldstart image run` uses it. Pages that one \
start has read stay in memory for the next.

Exit codes: 0 mounted; 2 something broke.

Example:
  sudo coldstart image mount /var/lib/coldstart/office.erofs";

const UMOUNT_HELP: &str = "\
Programs that were started from the image go on with it. Name the directory below /run/coldstart/images if the image itself is gone.

Exit codes: 0 unmounted; 2 something broke.

Example:
  sudo coldstart image umount /var/lib/coldstart/office.erofs";

const VERIFY_HELP: &str = "\
A start image has digests of all its bytes: any change is found. Of an EROFS image that coldstart did not make, only the structure is \
checked.

With --against, each file must have the same kind, owner, mode, times, links, attributes and content as the one below ROOT, and below the \
directories that were taken whole ROOT must not have more. It is read by coldstart's own reader, and as root through a mount by the kernel, too, which nobody else sees.

Exit codes: 0 sound, and the same; 1 damaged, or different; 2 something could not be read.

Examples:
  coldstart image verify office.erofs
  sudo coldstart image verify office.erofs --against /";

const SHOW_HELP: &str = "\
Hot files are in the order of their first page in the image.

Exit codes: 0 shown; 2 something could not be read.

Example:
  coldstart image show office.erofs";
