use coldstart_profile::trace::Moment;
use coldstart_profile::trace::figures::Figures;

use super::*;

fn trace() -> Trace {
    Trace {
        run: Run {
            command: vec!["p".into(), "a".into()],
            layers: vec![Layer::Pages, Layer::Files],
            pages: PagesSeen::Each,
            state: StartState::Cold,
            ready_at: Some(Moment(1000)),
            complete: true,
            ..Run::default()
        },
        ..Trace::default()
    }
}

fn of(first: &Trace, second: &Trace) -> Vec<String> {
    let (of_first, of_second) = (Figures::of(first), Figures::of(second));
    let source = |trace, figures| TraceSource { source: "x", trace, figures };
    caveats(&source(first, &of_first), &source(second, &of_second), &[])
}

#[test]
fn like_traces_have_one_caveat() {
    let mut second = trace();
    second.run.started = 5;
    let said = of(&trace(), &second);
    assert!(said.len() == 1 && said[0].contains("single start"), "{said:#?}");
    let same = of(&trace(), &trace());
    assert!(same.len() == 1 && same[0].contains("same start"), "{same:#?}");
}

#[test]
fn a_start_without_root_did_not_read_nothing() {
    use coldstart_profile::trace::{Event, EventKind, FillCause, ThreadId};

    let event = |kind| Event { at: Moment(1), thread: ThreadId(0), kind, file: None, page: 0, pages: 1, code: None };
    let with = |events: Vec<Event>| Trace { events, ..trace() };
    let (read, fill) = (event(EventKind::Read), event(EventKind::Fill(FillCause::Demand)));
    for (events, expected) in [
        (vec![fill, read], "Reads and what came from the disk were recorded in the second start only."),
        (vec![read], "Reads and what came from the disk were recorded in the second start only."),
        (vec![fill], "What came from the disk was recorded in the second start only."),
    ] {
        let said = of(&trace(), &with(events));
        assert!(said.len() == 2 && said[0] == expected, "{said:#?}");
    }
    let said = of(&with(vec![read]), &with(vec![fill]));
    assert_eq!(said[0], "Reads were recorded in the first start only.");
}

#[test]
fn each_difference_is_told() {
    type Change = fn(&mut Run);
    let changes: [(Change, &str); 15] = [
        (|run| run.pages = PagesSeen::FaultAround, "first start was seen page by page"),
        (|run| run.layers.push(Layer::Functions), "Functions were recorded in the second start only"),
        (|run| run.layers.truncate(1), "requests to the disk were recorded in the first start only"),
        (|run| run.lost_events = 5, "Events were lost (0 and 5)"),
        (|run| run.complete = false, "the second start broke off"),
        (|run| run.command.push("b".into()), "The arguments"),
        (|run| run.command = vec!["q".into(), "a".into()], "different programs:"),
        (|run| run.command = vec!["/tmp/p".into(), "a".into()], "different directories"),
        (
            |run| run.command = ["run", "x", "--", "p", "a"].map(OsString::from).into(),
            "second start was begun by \u{201c}run\u{201d}",
        ),
        (|run| run.ready_at = None, "second start never was ready"),
        (|run| run.state = StartState::AsIs, "began with cold caches, the second with the caches as they happened"),
        (|run| run.readiness = "window".to_owned(), "Ready means"),
        (|run| run.end = RunEnd::Exited(3), "exited with code 3"),
        (|run| run.kernel = "6.1".to_owned(), "kernels differ"),
        (|run| run.stopped = 500, "50 % in the second"),
    ];
    for (change, expected) in changes {
        let mut second = trace();
        change(&mut second.run);
        let said = of(&trace(), &second);
        assert!(said.len() == 2 && said[0].contains(expected), "{expected}: {said:#?}");
    }
}
