//! `coldstart image run`: become a program whose files come from an image.
//!
//! Failures must never affect the user's program: they cost one line on stderr, and it starts from its own files.

use coldstart_image::start::{Placed, start_from};

use crate::args::image::RunArgs;
use crate::commands::starting::become_the_program;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, style};

pub(super) fn run(args: &RunArgs) -> Exit {
    match start_from(&args.image, &args.words) {
        Ok(placed) if args.verbose => tell(&placed),
        Ok(_) => {}
        Err(reason) => output::complain(&style::NOTE, "coldstart", &format!("started without the image: {reason}")),
    }
    become_the_program(&args.words)
}

fn tell(placed: &Placed) {
    let taken = plain(&counted(placed.taken as u64, "file"));
    output::complain(&style::NOTE, "coldstart", &format!("{taken} of the image in place"));
    for (path, left) in &placed.left {
        output::complain(&style::NOTE, "coldstart", &format!("`{}` {}", printable(path), left.words()));
    }
}
