//! The gate's answer as people read it: the figures, what the rate means, and what would have been missed.

use coldstart_profile::measurement::Verdict;

use super::gate::{Gate, StateAnswer};
use crate::output::table::{Align, Table};
use crate::output::wrap::wrapped;

/// The whole answer.
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
            ("", Align::Left),
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
        text.push_str(&wrapped(&format!("One earlier session does not tell how much sessions differ. {MORE}"), 0));
    }
    text
}

const CONFIRM: &str = "other work on the machine can last a whole session and looks the same; before acting on it, measure \
                       both programs side by side: coldstart measure --compare NEW --fail-if-slower PERCENT -- OLD";
const MORE: &str = "Several baselines (--against last:10) are told apart from chance far better.";

fn row(answer: &StateAnswer) -> Vec<String> {
    let ratio = |value: f64| format!("{value:.3}");
    let mut cells = vec![answer.state.to_string(), answer.label.clone(), ratio(answer.ratio)];
    match (answer.at_least, answer.limit, answer.detectable) {
        (Some(at_least), Some(limit), Some(detectable)) => {
            cells.extend([ratio(at_least), ratio(limit)]);
            cells.push(if answer.is_slower == Some(true) { "slower" } else { "not shown to be slower" }.to_owned());
            cells.push(format!("{:.1} % slower", (detectable - 1.0) * 100.0));
        }
        _ => {
            let interval = answer.interval.map(|interval| format!("{:.3} to {:.3}", interval.low, interval.high));
            cells.push(interval.unwrap_or_default());
            cells.push(answer.verdict.map_or("", word).to_owned());
        }
    }
    cells
}

/// A verdict in words.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NotShown => "no difference shown",
        Verdict::TooFew => "too few runs to say",
    }
}

fn conclusion(gate: &Gate, percent: f64) -> String {
    let slower = gate.states.iter().filter(|answer| answer.is_slower == Some(true));
    let slower: Vec<String> = slower.map(|answer| format!("{} {}", answer.label, answer.state)).collect();
    let by = if percent == 0.0 { "slower".to_owned() } else { format!("more than {percent} % slower") };
    if slower.is_empty() {
        format!("passed: nothing is shown to be {by}")
    } else {
        format!("failed: {} is shown to be {by}", slower.join(" and "))
    }
}

/// What the error rate means, and on which assumption.
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
