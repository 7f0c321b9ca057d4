//! The verbs as their users meet them: the program is started, and what it says and does is looked at.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ascii;
mod bind;
mod cached;
mod cold;
mod doctor;
mod every_argument;
mod filtered;
mod guide;
#[cfg(feature = "hard-use")]
mod hard_use;
mod image;
mod image_oci;
mod image_root;
mod image_run;
mod index;
mod inputs;
mod inspect;
mod inspect_search;
mod installed;
mod json_errors;
mod killed;
mod ldcache;
mod ldcache_foreign;
mod ldcache_note;
mod ldcache_odd;
mod manual;
mod measure;
mod measure_history;
mod order;
mod outputs;
mod pack;
mod pack_matrix;
mod pack_usr_lib;
mod pagecache;
mod pagecache_saved;
mod prefetch;
mod prefetch_exact;
mod prefetch_fleet;
mod prefetch_merge;
mod prefetch_process;
mod report_page;
mod resolve;
mod speedup;
mod speedup_advice;
mod speedup_hard;
mod speedup_index;
mod speedup_install;
mod survey;
mod threads;
mod trace_record;
mod trace_show;
mod view;

/// What a program printed.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
