//! `coldstart pagecache save` and `restore` as their users meet them. One test drops the page cache of the whole machine;
//! all others add to what is there.

mod help;
mod refusals;
mod rights;
mod round_trip;
mod scene;
