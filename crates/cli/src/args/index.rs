//! Arguments of `coldstart index`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::installing::InstallArgs;
use super::launching::{ProgramArgs, WaitingArgs};

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    pub(crate) action: IndexAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum IndexAction {
    /// Record where a program's interpreter finds its modules, and prove that it finds the same with the index
    #[command(after_help = MAKE_HELP)]
    Make(MakeArgs),
    /// Have a program start with an index where people start it, until that is undone
    #[command(after_help = INSTALL_HELP)]
    Install(Box<InstallIndexArgs>),
    /// Become a program that uses an index
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Print the settings that make a program use an index
    #[command(after_help = ENV_HELP)]
    Env(EnvArgs),
    /// Show what has changed since an index was made
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Show what an index was made for, and what it depends on
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Directory of the index: a new or empty one, or an earlier index
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// For a program in any language: remember which names were absent, in a library that is preloaded
    #[arg(long)]
    pub(crate) shim: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Regular file as the program's standard input, read from its beginning at each start [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InstallIndexArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub(crate) index: PathBuf,

    #[command(flatten)]
    pub(crate) installing: InstallArgs,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Regular file as the program's standard input when the index is made again [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub(crate) index: PathBuf,

    /// The program to become, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub(crate) index: PathBuf,

    /// For whom the settings are written
    #[arg(long, value_enum, value_name = "SYNTAX", default_value = "shell")]
    pub(crate) syntax: SyntaxChoice,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SyntaxChoice {
    /// A POSIX shell
    Shell,
    /// A modulefile of Environment Modules or Lmod
    Modulefile,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub(crate) index: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub(crate) index: PathBuf,

    /// List at most this many directories; 0 for all
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) limit: usize,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const MAKE_HELP: &str = "\
The program is started three times: as it is, recorded, and with the index; twice more if a difference appears. Do not use this with \
programs that must not run several times. The index is kept only if the same modules came from the same files, with the same output and \
exit code. The program and its modules are not changed.

An index never answers for a directory that has changed: new, removed, renamed and edited modules are noticed when the program starts.

Exit codes: 0 made; 1 the program differs with the index, which was not kept; 2 something broke. An earlier index is unchanged unless a new \
one was made.

Examples:
  coldstart index make -o app.index -- python3 app.py
  coldstart index make -o app.index --ready port:8080 -- ./server
  coldstart index make --shim -o app.index -- lua5.4 app.lua";

const INSTALL_HELP: &str = "\
The index is copied to the installation's directory, and the places start `coldstart-run --index DIR -- PROGRAM`. As root it is for all users; then all files of the index must \
be root's. The program starts without the index if that is gone, and what has changed since is searched as without. `coldstart installed` says how it is, makes the index \
again (--refresh) and undoes all of it (--uninstall).

A plan or an image that was recorded with the index in use is installed together with it: `coldstart prefetch install --index DIR`, `coldstart image install --index DIR`.

Exit codes: 0 installed; 2 something broke, and nothing was installed.

Examples:
  coldstart index make -o app.index -- ./app.py
  coldstart index install app.index -- ./app.py
  coldstart prefetch record -o app.prefetch -- coldstart index run app.index -- ./app.py
  coldstart prefetch install --index app.index app.prefetch -- ./app.py";

const RUN_HELP: &str = "\
What the interpreter will check is asked in parallel first, which fills the kernel's caches from network disks. An error in the index costs \
one line on stderr, and the program starts without it.

Exit codes: those of the program; 126 it could not be started, 127 it was not found.

`coldstart-run --index DIR -- PROGRAM` does the same with less to read from a cold disk, and takes a plan or an image as well.

Examples:
  coldstart index run app.index -- python3 app.py
  coldstart-run --index app.index app.prefetch -- python3 app.py";

const ENV_HELP: &str = "\
The settings are for wrappers, modulefiles and service units. Any program may inherit them: an interpreter that the index was not made for \
runs as without.

Exit codes: 0 printed; 2 something broke.

Examples:
  eval \"$(coldstart index env app.index)\"; python3 app.py
  coldstart index env --syntax modulefile app.index >> modulefiles/app";

const CHECK_HELP: &str = "\
Names in changed directories are searched by the interpreter itself, and changed sources are compiled by it: the program is right, and \
slower. Make the index again then.

Exit codes: 0 nothing has changed; 1 something has; 2 the index could not be read.

Example:
  coldstart index check app.index || coldstart index make -o app.index -- python3 app.py";

const SHOW_HELP: &str = "\
Exit codes: 0 shown; 2 the index could not be read.

Example:
  coldstart index show app.index";
