//! One line below a report: comparison with earlier measurements of the same program file.

use coldstart_app::measure::Earlier;

use super::report::verdict;
use crate::output::text::{counted, plain};
use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// A line for each state with earlier measurements.
pub(super) fn lines(all: &[Earlier]) -> String {
    let line = |earlier: &Earlier| {
        let count = plain(&counted(earlier.count as u64, "measurement"));
        let (median, verdict) = (seconds(earlier.median), verdict(earlier.verdict));
        wrapped(&format!("earlier {}: {count}, median {median}; this one: {verdict}", earlier.state), 0)
    };
    all.iter().map(line).collect()
}
