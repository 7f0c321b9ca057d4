//! The container of the records: its header, the recorded events, sections with facts about the machine.
//!
//! The layout is documented in `tools/perf/Documentation/perf.data-file-format.txt` of the Linux source. What a
//! newcomer would not guess: perf writes the header last. In a recording of a killed perf, the stated length of the
//! records is 0, facts are missing, and the records extend to the end of the file.
//!
//! The crate that decodes the records has a reader for the container, too. It trusts the stated lengths and does not
//! support truncated recordings, so this part is our own.

use std::collections::BTreeMap;

use super::bytes::{Bytes, Order};
use super::error::Damage;

/// Bytes of the header of version 2.
const HEADER: u64 = 104;
/// Bytes of the header when perf writes into a pipe.
const PIPE_HEADER: u64 = 16;
/// The attributes of an event, without the place of its numbers: 64 bytes in the first kernel that had them.
const SMALLEST_ATTRIBUTE: u64 = 64;
/// A place: offset and size.
const SECTION: u64 = 16;

/// The kind of file, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With this order of bytes.
    Perf(Order),
    /// Another kind, in words.
    Other(&'static str),
}

/// The parts of the file.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub(super) order: Order,
    /// An event each: its attributes and its numbers. Empty when perf wrote into a pipe: then records tell them.
    pub(super) events: Vec<RawEvent<'a>>,
    /// Facts by their number (`HEADER_*` in perf's `header.h`), where they are whole.
    pub(super) facts: BTreeMap<u32, &'a [u8]>,
    /// All records.
    pub(super) records: Bytes<'a>,
    /// Whether perf wrote to a pipe.
    pub(super) piped: bool,
    /// Why the records are incomplete, if they are.
    pub(super) cut: Option<&'static str>,
}

/// An event as the file has it.
#[derive(Clone, Debug)]
pub(super) struct RawEvent<'a> {
    pub(super) attribute: &'a [u8],
    pub(super) numbers: Vec<u64>,
    /// Its place in the file.
    pub(super) at: u64,
}

/// What a file is by its first eight bytes.
pub(super) fn kind(bytes: &[u8]) -> Kind {
    match bytes.get(..8) {
        Some(b"PERFILE2") => Kind::Perf(Order::Little),
        Some(b"2ELIFREP") => Kind::Perf(Order::Big),
        Some(b"PERFFILE") => Kind::Other("it has the perf format from before Linux 3.0"),
        None if bytes.is_empty() => Kind::Other("empty"),
        Some(b"SQLite f") => Kind::Other("it is a database; a finished trace needs no import"),
        Some(_) | None => Kind::Other("missing magic number `PERFILE2`"),
    }
}

impl<'a> Container<'a> {
    /// Takes a file apart.
    pub(super) fn parse(bytes: &'a [u8], order: Order) -> Result<Self, Damage> {
        let mut header = Bytes::new(bytes, 0, order);
        let short = |header: &Bytes<'_>| header.damage("truncated header");
        header.take(8).ok_or(short(&header))?;
        let size = header.u64().ok_or(short(&header))?;
        if size == PIPE_HEADER {
            let records = part(bytes, PIPE_HEADER, u64::MAX, order);
            return Ok(Self { order, events: Vec::new(), facts: BTreeMap::new(), records, piped: true, cut: None });
        }
        if size < HEADER {
            return Err(Damage { offset: 8, what: "the stated header size is too small" });
        }
        let mut number = || header.u64().ok_or(short(&header));
        let attribute_size = number()?;
        let attributes = (number()?, number()?);
        let records = (number()?, number()?);
        let _event_types = (number()?, number()?);
        let features = [number()?, number()?, number()?, number()?];
        let events = events(bytes, attributes, attribute_size, order)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if records.0 < HEADER || records.0 > length {
            return Err(Damage { offset: 40, what: "the records are outside the file" });
        }
        let (until, cut) = match records.1 {
            0 => (u64::MAX, Some("perf did not finish it")),
            size if size > length.saturating_sub(records.0) => (u64::MAX, Some("the file is truncated")),
            size => (size, None),
        };
        let facts = match cut {
            None => facts(bytes, records.0.saturating_add(records.1), features, order),
            Some(_) => BTreeMap::new(),
        };
        Ok(Self { order, events, facts, records: part(bytes, records.0, until, order), piped: false, cut })
    }
}

/// A part of the file, as far as it is there.
fn part(bytes: &[u8], from: u64, size: u64, order: Order) -> Bytes<'_> {
    let from_here = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(from_here.len());
    Bytes::new(from_here.get(..size).unwrap_or_default(), from, order)
}

/// A part that has to be whole.
fn whole(bytes: &[u8], (from, size): (u64, u64), order: Order) -> Option<Bytes<'_>> {
    let found = part(bytes, from, size, order);
    (u64::try_from(found.left()).ok()? == size).then_some(found)
}

fn events(bytes: &[u8], section: (u64, u64), each: u64, order: Order) -> Result<Vec<RawEvent<'_>>, Damage> {
    let Some(size) = each.checked_sub(SECTION).filter(|&size| size >= SMALLEST_ATTRIBUTE) else {
        return Err(Damage { offset: 16, what: "the stated size of an event attribute is too small" });
    };
    let Some(mut all) = whole(bytes, section, order) else {
        return Err(Damage { offset: 24, what: "the event attributes are outside the file" });
    };
    let mut events = Vec::new();
    // Lists do not overlap. If many events named the same one, a small file could ask for much memory.
    let mut allowed = bytes.len() / 8;
    while let Ok(left) = u64::try_from(all.left())
        && left >= each
    {
        let at = all.at;
        let outside = Damage { offset: at, what: "the ids of an event are outside the file" };
        let attribute = all.take_wide(size).ok_or(outside)?;
        let place = (all.u64().ok_or(outside)?, all.u64().ok_or(outside)?);
        let mut list = whole(bytes, place, order).ok_or(outside)?;
        allowed = allowed.checked_sub(list.left() / 8).ok_or(outside)?;
        let numbers = std::iter::from_fn(|| list.u64()).collect();
        events.push(RawEvent { attribute, numbers, at });
    }
    Ok(events)
}

/// The facts: after the records, a table with a place for each bit that is set, ascending.
fn facts(bytes: &[u8], table: u64, features: [u64; 4], order: Order) -> BTreeMap<u32, &[u8]> {
    let mut places = part(bytes, table, u64::MAX, order);
    let mut facts = BTreeMap::new();
    for (word, first) in features.into_iter().zip([0u32, 64, 128, 192]) {
        for bit in (0..64u32).filter(|bit| word >> bit & 1 != 0) {
            let (Some(from), Some(size)) = (places.u64(), places.u64()) else { return facts };
            if let Some(mut found) = whole(bytes, (from, size), order)
                && let Some(fact) = found.take_wide(size)
            {
                facts.insert(first.saturating_add(bit), fact);
            }
        }
    }
    facts
}
