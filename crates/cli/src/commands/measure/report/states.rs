//! How each state was prepared and checked, one sentence each.

use coldstart_profile::measurement::{EvictionWay, Measurement, SavedStateFacts, StateFacts};
use coldstart_view::dates;

use crate::output::size;
use crate::output::text::counted;

/// How each state was prepared and checked; commands with the same facts share a sentence.
pub(super) fn state_sentences(measurement: &Measurement) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for summary in &measurement.summaries {
        let sentence = state_sentence(summary.state.name(), &summary.state_facts);
        if !sentence.is_empty() && !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

fn state_sentence(state: &str, facts: &StateFacts) -> String {
    if facts.method.is_empty() {
        return String::new();
    }
    let resident = match (facts.resident_pages, facts.file_pages) {
        (Some((low, high)), Some(pages)) if low == high => {
            format!("; {} of {} pages resident before launch", size::grouped(high), size::grouped(pages))
        }
        (Some((low, high)), Some(pages)) => format!(
            "; {} to {} of {} pages resident before launch",
            size::grouped(low),
            size::grouped(high),
            size::grouped(pages)
        ),
        _ => String::new(),
    };
    let stayed = match facts.stayed.first() {
        Some(first) => format!(
            "; {} not fully evicted, mapped by running programs or not yet written: {} ({}){}",
            counted(facts.stayed.len() as u64, "file"),
            first.path,
            counted(first.pages, "page"),
            if facts.stayed.len() > 1 { ", ..." } else { "" }
        ),
        None => String::new(),
    };
    let saved = facts.saved_state.as_ref().map(saved_state).unwrap_or_default();
    format!("{state}: {}{saved}{resident}{stayed}{}", facts.method, ways(&facts.ways))
}

/// How close each start was to the saved state.
fn saved_state(facts: &SavedStateFacts) -> String {
    let lost = match &facts.lost_example {
        Some(first) => format!(
            "; {} of its pages are of {} missing or changed since: {first}{}",
            size::grouped(facts.lost_pages),
            counted(facts.lost_files, "file"),
            if facts.lost_files > 1 { ", ..." } else { "" }
        ),
        None => String::new(),
    };
    format!(
        " (`{}`, saved {}): at least {} of {} pages back, at most {} more of the same files{lost}",
        facts.file,
        dates::minute(facts.saved_at),
        size::grouped(facts.least_back),
        size::grouped(facts.asked),
        size::grouped(facts.most_extra)
    )
}

/// The evicted share of metadata, by method.
fn ways(ways: &[EvictionWay]) -> String {
    let took: Vec<String> = ways.iter().filter(|way| way.times > 0).map(took).collect();
    let refused = ways.iter().filter_map(|way| Some(format!("{} not: {}", way.way, way.refused.as_ref()?)));
    let told: Vec<String> = took.into_iter().chain(refused).collect();
    if told.is_empty() { String::new() } else { format!("; metadata: {}", told.join("; ")) }
}

fn took(way: &EvictionWay) -> String {
    let found = match way.unit.as_str() {
        "bytes" => size::bytes(way.before),
        unit => format!("{} {unit}", size::grouped(way.before)),
    };
    let times = if way.times > 1 { format!(" in {} times", way.times) } else { String::new() };
    format!("{} gave {} of {found}{times}", way.way, size::percent(way.before.saturating_sub(way.after), way.before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &str, unit: &str, times: u32, before: u64, after: u64, refused: Option<&str>) -> EvictionWay {
        let refused = refused.map(str::to_owned);
        EvictionWay { way: name.to_owned(), unit: unit.to_owned(), times, before, after, refused }
    }

    #[test]
    fn each_way_tells_what_it_took_or_why_it_was_not_gone() {
        let told = ways(&[
            way("control group", "bytes", 4, 2_000_000, 200_000, None),
            way("/dev/loop0", "pages", 1, 1000, 20, None),
            way("/dev/vda", "pages", 0, 0, 0, Some("cannot open `/dev/vda`")),
        ]);
        assert_eq!(
            told,
            "; metadata: control group gave 90 % of 2.0 MB in 4 times; /dev/loop0 gave 98 % of 1 000 pages; \
             /dev/vda not: cannot open `/dev/vda`"
        );
        assert_eq!(ways(&[]), "");
    }

    #[test]
    fn a_saved_state_tells_how_near_it_was_and_what_is_lost() {
        let facts = SavedStateFacts {
            file: "boot".to_owned(),
            saved_at: 0,
            asked: 1000,
            least_back: 990,
            most_extra: 3,
            lost_files: 2,
            lost_pages: 10,
            lost_example: Some("/gone".to_owned()),
        };
        assert_eq!(
            saved_state(&facts),
            " (`boot`, saved 1970-01-01 00:00): at least 990 of 1 000 pages back, at most 3 more of the same files; \
             10 of its pages are of 2\u{a0}files missing or changed since: /gone, ..."
        );
    }
}
