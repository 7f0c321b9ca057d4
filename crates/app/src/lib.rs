//! coldstart's verbs as functions: typed options in, a typed and serialisable outcome out.
//!
//! This is the Rust API of coldstart. The command line turns arguments into options and outcomes into text; other front ends
//! call the same functions. They never print. Progress and notes (for example that a slower method is used) go to an
//! [`observer::Observer`].

pub mod bind;
pub mod command;
pub mod doctor;
pub mod error;
pub mod fix_kind;
pub mod hanging;
pub mod image;
pub mod index;
pub mod inspect;
pub mod install;
pub mod kinds;
pub mod launching;
pub mod ldcache;
pub mod measure;
pub mod observer;
pub mod order;
pub mod pack;
pub mod pagecache;
pub mod prefetch;
pub mod reading;
pub mod resolve;
pub mod restoring;
pub mod rewriting;
pub mod speedup;
pub mod starting;
pub mod status;
pub mod survey;
pub mod text;
pub mod threads;
pub mod trace;
pub mod unbind;
pub mod unpack;
pub mod upkeep;
pub mod verify;
pub mod view;
pub mod writing;
