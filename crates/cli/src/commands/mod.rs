//! The verbs: each calls the library and prints the result.

mod bind;
mod doctor;
mod image;
mod index;
mod inspect;
mod installed;
mod installing;
mod launching;
mod ldcache;
mod measure;
mod observer;
mod order;
mod pack;
mod pagecache;
mod prefetch;
mod progress;
mod resolve;
mod restoring;
mod rewriting;
mod speedup;
mod starting;
mod status;
pub(crate) mod survey;
mod trace;
mod unbind;
mod unpack;
mod verify;
mod view;

use crate::args::Verb;
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use prefetch::run_launcher;

/// Runs a verb.
pub(crate) fn run(verb: &Verb) -> Result<Exit, CliError> {
    match verb {
        Verb::Bind(args) => bind::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Image(args) => image::run(args),
        Verb::Index(args) => index::run(args),
        Verb::Inspect(args) => inspect::run(args),
        Verb::Installed(args) => installed::run(args),
        Verb::Ldcache(args) => ldcache::run(args),
        Verb::Measure(args) => measure::run(args),
        Verb::Order(args) => order::run(args),
        Verb::Pack(args) => pack::run(args),
        Verb::Pagecache(args) => pagecache::run(args),
        Verb::Prefetch(args) => prefetch::run(args),
        Verb::Resolve(args) => resolve::run(args),
        Verb::Speedup(args) => speedup::run(args),
        Verb::Status(args) => status::run(args),
        Verb::Survey(args) => survey::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Unbind(args) => unbind::run(args),
        Verb::Unpack(args) => unpack::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::View(args) => view::run(args),
    }
}
