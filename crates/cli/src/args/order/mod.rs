//! Arguments of `coldstart order`.

pub(crate) mod appimage;
pub(crate) mod check;
pub(crate) mod files;
pub(crate) mod functions;
pub(crate) mod zip;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    #[command(subcommand)]
    pub(crate) action: OrderAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrderAction {
    /// Put the files of an AppImage into the order of a start
    #[command(after_help = appimage::HELP)]
    Appimage(appimage::AppImageArgs),
    /// Compare a build in a new order of functions with the one before
    #[command(after_help = check::HELP)]
    Check(Box<check::CheckArgs>),
    /// Make a list of a program's functions for a linker, in the order in which starts call them
    #[command(after_help = functions::HELP)]
    Functions(functions::FunctionsArgs),
    /// List the files of a start in the order of their first use, for tools that make images and archives
    #[command(after_help = files::HELP)]
    Files(files::FilesArgs),
    /// Put the entries of a zip file, a jar or a zipapp into the order of a start
    #[command(after_help = zip::HELP)]
    Zip(zip::ZipArgs),
}
