//! The text report of the gate: the figures, the meaning of the error rate, and the detectable slowdown.

use coldstart_app::measure::{Gate, StateAnswer};

use super::report::verdict;
use crate::output::table::{Align, Table};
use crate::output::wrap::wrapped;

/// The whole report.
pub(super) fn report(gate: &Gate) -> String {
    let mut text = String::from("\n");
    text.push_str(&wrapped(&format!("against {}:", gate.baseline), 0));
    let mut table = match gate.fail_if_slower {
        Some(_) => Table::new(&[
            ("state", Align::Left),
            ("", Align::Left),
            ("ratio", Align::Right),
            ("at least", Align::Right),
            ("allowed", Align::Right),
            ("", Align::Left),
            ("would be found", Align::Right),
        ]),
        None => Table::new(&[
            ("state", Align::Left),
            ("", Align::Left),
            ("ratio", Align::Right),
            ("95 %", Align::Left),
            ("verdict, by 99 %", Align::Left),
        ]),
    };
    for answer in &gate.states {
        table.row(row(answer));
    }
    text.push_str(&table.render());
    for note in &gate.notes {
        text.push_str(&wrapped(&format!("note: {note}"), 0));
    }
    if let (Some(percent), Some(rate)) = (gate.fail_if_slower, gate.error_rate) {
        text.push_str(&wrapped(&conclusion(gate, percent), 0));
        text.push_str(&wrapped(&meaning(gate, rate), 0));
        if gate.states.iter().any(|answer| answer.is_slower == Some(true) && answer.sessions.is_some()) {
            text.push_str(&wrapped(&format!("hint: {CONFIRM}"), 2));
        }
    } else if gate.states.iter().any(|answer| answer.is_allowance) {
        text.push_str(&wrapped(
            &format!("The spread of sessions cannot be estimated from one earlier session. {MORE}."),
            0,
        ));
    }
    text
}

const CONFIRM: &str = "other work on the machine can last a whole session and looks the same; before acting on it, measure \
                       both programs side by side: coldstart measure --compare NEW --fail-if-slower PERCENT -- OLD";
const MORE: &str = "Several baselines (--against last:10) give a much better test";

fn row(answer: &StateAnswer) -> Vec<String> {
    let ratio = |value: f64| format!("{value:.3}");
    let mut cells = vec![answer.state.to_string(), answer.label.clone(), ratio(answer.ratio)];
    match (answer.at_least, answer.limit, answer.detectable) {
        (Some(at_least), Some(limit), Some(detectable)) => {
            cells.extend([ratio(at_least), ratio(limit)]);
            cells.push(if answer.is_slower == Some(true) { "slower" } else { "no slowdown shown" }.to_owned());
            cells.push(format!("{:.1} % slower", (detectable - 1.0) * 100.0));
        }
        _ => {
            let interval = answer.interval.map(|interval| format!("{:.3} to {:.3}", interval.low, interval.high));
            cells.push(interval.unwrap_or_default());
            cells.push(answer.verdict.map_or("", verdict).to_owned());
        }
    }
    cells
}

fn conclusion(gate: &Gate, percent: f64) -> String {
    let slower = gate.states.iter().filter(|answer| answer.is_slower == Some(true));
    let slower: Vec<String> = slower.map(|answer| format!("{} {}", answer.label, answer.state)).collect();
    let by = if percent == 0.0 { "slower".to_owned() } else { format!("more than {percent} % slower") };
    if slower.is_empty() {
        format!("passed: no state is shown to be {by}")
    } else {
        format!("failed: {} is shown to be {by}", slower.join(" and "))
    }
}

/// The meaning of the error rate, and its assumption.
fn meaning(gate: &Gate, rate: f64) -> String {
    let tests = gate.states.len();
    let shared =
        if tests > 1 { format!(" ({:.3} % for each of {tests} tests)", rate / tests as f64) } else { String::new() };
    let widest = |spread: f64, answer: &StateAnswer| answer.session_spread.unwrap_or(0.0).max(spread);
    let spread = gate.states.iter().fold(0.0, widest) * 100.0;
    let assumption = if gate.states.iter().any(|answer| answer.is_allowance) {
        format!(
            "as long as sessions differ by no more than an allowance of {spread:.0} % (standard deviation): {} not tell \
             how much they do. {MORE}",
            if gate.states.iter().any(|answer| answer.sessions == Some(1)) {
                "one earlier session does"
            } else {
                "so few earlier sessions do"
            }
        )
    } else if gate.states.iter().any(|answer| answer.sessions.is_some()) {
        format!(
            "as long as this session differs from the earlier ones as they differ from one another (up to {spread:.1} %, \
             standard deviation) and the machine is not busy in one session of many: that would be taken for a slower program"
        )
    } else {
        "as long as nothing but the commands differs between runs of a round, which take turns".to_owned()
    };
    format!(
        "In {rate} % of such gates{shared} a program that is no slower than allowed would be called slower, {assumption}. \
         What would be found: a slowdown that such a gate finds in 80 % of cases."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_measure::StartState;

    fn gate(is_slower: bool, sessions: Option<usize>, is_allowance: bool) -> Gate {
        let answer = StateAnswer {
            command: 0,
            label: "A".into(),
            state: StartState::Hot,
            ratio: 1.2,
            interval: None,
            verdict: None,
            at_least: Some(1.1),
            limit: Some(1.05),
            detectable: Some(1.3),
            error_rate: Some(1.0),
            is_slower: Some(is_slower),
            sessions,
            pairs: None,
            session_spread: sessions.map(|_| 0.15),
            is_allowance,
        };
        Gate {
            baseline: "b".into(),
            baseline_numbers: Vec::new(),
            fail_if_slower: Some(5.0),
            error_rate: Some(1.0),
            states: vec![answer],
            is_slower: Some(is_slower),
            notes: Vec::new(),
        }
    }

    /// In one line: where lines end does not matter here.
    fn said(gate: &Gate) -> String {
        report(gate).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_basis_is_told_with_what_it_takes_for_granted() {
        for (sessions, is_allowance, words) in [
            (Some(1), true, "an allowance of 15 % (standard deviation): one earlier session does not tell"),
            (Some(2), true, "so few earlier sessions do not tell"),
            (Some(9), false, "and the machine is not busy in one session of many"),
            (None, false, "nothing but the commands differs"),
        ] {
            let text = said(&gate(false, sessions, is_allowance));
            assert!(text.contains(words) && !text.contains("..") && !text.contains("hint:"), "{text}");
        }
    }

    #[test]
    fn a_failed_gate_against_sessions_advises_to_measure_side_by_side() {
        assert!(said(&gate(true, Some(9), false)).contains("hint: other work on the machine"));
        assert!(!said(&gate(true, None, false)).contains("hint:"), "it was measured so");
    }
}
