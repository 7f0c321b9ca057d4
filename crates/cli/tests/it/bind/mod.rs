//! `coldstart bind`, `unbind`, `status` and `verify` as their users meet them: real programs, bound in every mode, started
//! in every circumstance that a search path can meet, and all that can be wrong with what is given.
//!
//! The table of modes in docs/bind.md is held here: each of its rows is a test of the same name that runs programs and
//! compares what it saw with what the row says.

mod audit_library;
mod damaged;
mod edited_by_others;
mod endless;
mod farms;
mod killed;
mod kinds;
mod linkers;
mod modes;
mod modes_secure;
mod moved;
mod odd_libraries;
mod places;
mod rooms;
mod scene;
mod status;
mod table;
mod unfinished;
mod verify;
