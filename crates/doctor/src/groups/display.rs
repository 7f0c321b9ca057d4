//! Whether there is a display for windows.

use crate::ability::Ability;
use crate::answer::Answer;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::surroundings::Surroundings;

/// The displays in the environment.
#[derive(Clone, Debug)]
pub(crate) struct Display {
    x: Option<String>,
    wayland: Option<String>,
}

pub(crate) fn look(surroundings: &Surroundings) -> Display {
    Display { x: surroundings.display.clone(), wayland: surroundings.wayland.clone() }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    let source = "X(7), DISPLAY; the server's Unix socket is connected to";
    let (status, now) = match (&facts.display.x, &facts.probes.display, &facts.display.wayland) {
        (Some(x), Some(Answer::Works), _) => (Status::Yes, format!("the X server at DISPLAY={x} answers")),
        (Some(_), Some(Answer::Untried(reason)), _) => (Status::Unknown, reason.clone()),
        (Some(x), None, _) => (Status::Unknown, format!("DISPLAY={x}, not tried")),
        (Some(x), Some(answer), None) => (Status::No, format!("DISPLAY={x} does not answer: {}", answer.words())),
        (_, _, Some(wayland)) => (Status::No, format!("Wayland only (WAYLAND_DISPLAY={wayland})")),
        (None, _, None) => (Status::No, "no display (DISPLAY is not set)".to_owned()),
    };
    let check = Check::new("display", status, now).source(source);
    if status == Status::Yes {
        return vec![check];
    }
    let command = "xvfb-run -a coldstart measure --ready window -- PROGRAM".to_owned();
    // Another display can be named after `window:`; existing ones are not searched for.
    let left = if status == Status::No { Status::Partly } else { status };
    let because = match (&facts.display.x, &facts.display.wayland) {
        (None, None) => "only on a display that is named (window:DISPLAY): DISPLAY is not set",
        (None, Some(_)) => {
            "only on an X display that is named (window:DISPLAY): Wayland does not show other clients' windows"
        }
        _ => "the X server at DISPLAY does not answer; another can be named (window:DISPLAY)",
    };
    let check = check
        .needed("an X server on this machine (XWayland is one)")
        .cost("Graphical programs do not start here at all, or only without windows.")
        .grants([Grant { command, run: Where::Here }])
        .leaves(left, &[Ability::MeasureWindow], because);
    // A browser also works on Wayland.
    if facts.display.wayland.is_some() {
        return vec![check];
    }
    vec![check.leaves(left, &[Ability::ViewOpen], "prints the page's address, without a display for a browser")]
}
