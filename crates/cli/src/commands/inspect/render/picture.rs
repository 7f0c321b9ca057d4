//! `--svg`: the picture of the largest objects.

use std::cmp::Reverse;

use coldstart_app::inspect::{Inspected, Survey};
use coldstart_view::space::{Bar, MOST_BARS, NAME_COLUMNS, svg};

use super::words;
use crate::output::path::fitted;

/// The picture of the largest objects.
pub(in super::super) fn picture(survey: &Survey) -> String {
    let mut objects: Vec<&Inspected> = survey.objects.iter().collect();
    objects.sort_by_key(|object| (Reverse(object.inspection.object.bytes), &object.path));
    let bar = |object: &&Inspected| Bar {
        name: fitted(&object.path, NAME_COLUMNS),
        bytes: object.inspection.object.bytes,
        parts: object.inspection.parts.space.iter().map(|part| (words::purpose(part.purpose), part.bytes)).collect(),
    };
    let bars: Vec<Bar> = objects.iter().take(MOST_BARS).map(bar).collect();
    svg(&bars, objects.len())
}
