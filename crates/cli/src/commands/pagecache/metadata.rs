//! `pagecache evict --metadata`: evicting metadata.

use std::path::Path;

use coldstart_app::pagecache::MetadataWay;

use crate::output::path::printable;
use crate::output::size::grouped;
use crate::output::wrap::wrapped;

pub(super) fn report(ways: &[MetadataWay]) -> String {
    let mut text = String::from("\nmetadata\n");
    for way in ways {
        let name = printable(Path::new(&way.way));
        let what = if way.way == "entries" { "unused directory entries and inodes".to_owned() } else { name };
        text.push_str(&wrapped(
            &match (way.before, way.after, &way.refused) {
                (Some(before), Some(after), _) => {
                    format!("{what}: {} {} before, {} after", grouped(before), way.unit, grouped(after))
                }
                (.., refused) => format!("{what}: not evicted: {}", refused.as_deref().unwrap_or("unknown")),
            },
            2,
        ));
    }
    text
}
