//! `coldstart image mount` and `umount`.

use coldstart_app::image::{mount, unmount};
use serde_json::json;

use crate::args::image::MountArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, json};

pub(super) fn mounted(args: &MountArgs) -> Result<Exit, CliError> {
    let outcome = mount(&args.image)?;
    if args.json {
        json::print("coldstart.image-mount/1", &outcome)?;
    } else {
        let words = if outcome.was_mounted { "is mounted" } else { "mounted" };
        output::print(&format!("{words} at {}\n", printable(&outcome.directory)))?;
    }
    Ok(Exit::Done)
}

pub(super) fn unmounted(args: &MountArgs) -> Result<Exit, CliError> {
    let directory = unmount(&args.image)?;
    if args.json {
        json::print("coldstart.image-umount/1", &json!({ "path": printable(&directory) }))?;
    } else {
        output::print(&format!("unmounted from {}\n", printable(&directory)))?;
    }
    Ok(Exit::Done)
}
