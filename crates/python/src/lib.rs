//! The Python package `coldstart`: analyses as functions, results as Arrow tables, errors as exceptions.
//!
//! | step | file |
//! |---|---|
//! | a table, handed over without a copy | `table.rs` |
//! | errors with place and hint | `error.rs` |
//! | inspect, resolve, survey, read a trace | `inspect.rs`, `resolve.rs`, `survey.rs`, `trace.rs` |
//! | what packing would do, kept measurements | `pack.rs`, `history.rs` |
//! | what users import, its types | `python/coldstart/` |
//!
//! Not obvious: Python's lock is given up during all work, so threads of Python run side by side.

mod error;
mod history;
mod inspect;
mod pack;
mod resolve;
mod survey;
mod table;
mod trace;

/// The part of the package that is compiled.
#[pyo3::pymodule]
mod _coldstart {
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::history::read;
    #[pymodule_export]
    use crate::inspect::{Inspection, inspect};
    #[pymodule_export]
    use crate::pack::plan_pack;
    #[pymodule_export]
    use crate::resolve::{Resolution, resolve};
    #[pymodule_export]
    use crate::survey::survey;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::{TraceTables, read_trace};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
