//! What one traced start did with one object: first calls in order, touched code, touched data.

use std::collections::{BTreeMap, HashSet};

use coldstart_profile::trace::{Event, EventKind, FileId};

/// Bytes of a page, as traces count them.
pub(crate) const PAGE: u64 = 4096;

/// What one start did with one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectCalls {
    /// Addresses of functions, without load bias, in the order of their first calls, each once.
    pub calls: Vec<u64>,
    /// Touched pages with code.
    pub code: TouchedCode,
    /// Other touched pages of the file, in order of first touch.
    pub data: Vec<DataTouch>,
}

/// Pages that were touched by instruction fetches, by any process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedCode {
    /// Page of the file (offset / 4096), and addresses of instructions whose fetch touched it.
    pub pages: BTreeMap<u64, Vec<u64>>,
}

/// A page of data that was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataTouch {
    /// File offset / 4096; of zero-filled memory address / 4096.
    pub page: u64,
    /// Whether it is zero-filled memory.
    pub zero_filled: bool,
}

impl ObjectCalls {
    /// Collects the events of an object.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>, object: FileId) -> Self {
        let mut collected = Self::default();
        let mut called = HashSet::new();
        let mut touched = HashSet::new();
        for event in events {
            collected.add(event, object, &mut called, &mut touched);
        }
        collected
    }

    fn add(&mut self, event: &Event, object: FileId, called: &mut HashSet<u64>, touched: &mut HashSet<DataTouch>) {
        match event.kind {
            EventKind::Function => {
                if let Some(code) = event.code.filter(|code| code.file == object)
                    && called.insert(code.address)
                {
                    self.calls.push(code.address);
                }
            }
            EventKind::Touch(touch) if event.file == Some(object) => {
                let pages = event.page..event.page.saturating_add(event.pages.into());
                if touch.execute {
                    for page in pages {
                        let addresses = self.code.pages.entry(page).or_default();
                        addresses.extend(event.code.filter(|code| code.file == object).map(|code| code.address));
                    }
                } else {
                    let pages = pages.map(|page| DataTouch { page, zero_filled: touch.zero_filled });
                    self.data.extend(pages.filter(|page| touched.insert(*page)));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::{CodeAddress, Moment, ThreadId, Touch};

    use super::*;

    #[test]
    fn first_calls_of_the_object_are_kept_in_order_and_touches_by_kind() {
        let event = |kind, file, page, address| Event {
            at: Moment(0),
            thread: ThreadId(0),
            kind,
            file: Some(FileId(file)),
            page,
            pages: 1,
            code: Some(CodeAddress { file: FileId(1), address }),
        };
        let fetch = EventKind::Touch(Touch { execute: true, ..Touch::default() });
        let read = EventKind::Touch(Touch::default());
        let events = [
            event(EventKind::Function, 1, 3, 0x3010),
            event(fetch, 1, 3, 0x3010),
            event(EventKind::Function, 1, 1, 0x1010),
            event(EventKind::Function, 1, 3, 0x3010),
            event(read, 1, 9, 0x3010),
            event(read, 2, 9, 0x3010),
            event(read, 1, 9, 0x1010),
            event(fetch, 1, 3, 0x3800),
        ];
        let calls = ObjectCalls::of(&events, FileId(1));
        assert_eq!(calls.calls, [0x3010, 0x1010]);
        assert_eq!(calls.code.pages, BTreeMap::from([(3, vec![0x3010, 0x3800])]));
        assert_eq!(calls.data, [DataTouch { page: 9, zero_filled: false }]);
        assert_eq!(ObjectCalls::of(&events, FileId(7)), ObjectCalls::default());
    }
}
