//! Every failed probe, in the order of the start.

use std::path::Path;

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;

use super::words;
use crate::output::path::printable;
use crate::output::text::{counted, plain};

/// One line for each failed probe, below a line for the name it is tried for. Lines are as long as their paths.
pub(super) fn list(answer: &Resolution) -> String {
    let failed = &answer.closure.failed_probes;
    let program = printable(&answer.start.program);
    let mut text = format!("{program}: {}\n", plain(&counted(failed.len() as u64, "failed probe")));
    let mut asked: Option<(usize, &[u8])> = None;
    for probe in failed {
        let now = (probe.requester, probe.needed.as_slice());
        if asked != Some(now) {
            asked = Some(now);
            let name = harmless(&probe.needed);
            text.push_str(&format!(
                "\n{name}, requested by {}{}\n",
                answer.file_name(probe.requester),
                outcome(answer, now)
            ));
        }
        let rule = words::rule(answer, probe.rule, Some(probe.requester));
        text.push_str(&format!("  {}  {rule}: {}\n", printable(&probe.path), words::failure(&probe.failure)));
    }
    text
}

/// Where a name was found in the end.
fn outcome(answer: &Resolution, (requester, needed): (usize, &[u8])) -> String {
    let mut requests = answer.closure.requests.iter();
    let request = requests.find(|request| request.requester == requester && request.needed == needed);
    match request.map(|request| request.object) {
        Some(Some(object)) => format!(", finally {}", printable(answer.path(object))),
        Some(None) => ", not found".to_owned(),
        None => match &answer.closure.stopped {
            Some(stopped) => format!(", and the start fails at {}", printable(Path::new(&stopped.path))),
            None => String::new(),
        },
    }
}
