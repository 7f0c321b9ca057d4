//! Consecutive raw records of the file, not decoded yet.

use linux_perf_data::UserRecordType;
use linux_perf_data::linux_perf_event_reader::RecordType;

use super::bytes::Bytes;
use super::error::Damage;

/// Bytes of a record's header: kind, `misc`, size of all.
const HEADER: usize = 8;

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// With its header.
    pub(super) whole: &'a [u8],
    /// Behind its header.
    pub(super) body: Bytes<'a>,
}

/// Goes through records until they end, or until one makes no sense: what comes after that cannot be found.
#[derive(Clone, Debug)]
pub(super) struct Frames<'a> {
    left: Bytes<'a>,
    /// Where and why it ended too early.
    pub(super) stopped: Option<Damage>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(records: Bytes<'a>) -> Self {
        Self { left: records, stopped: None }
    }

    fn frame(&mut self) -> Result<Frame<'a>, &'static str> {
        let mut header = self.left;
        let (Some(kind), Some(misc), Some(size)) = (header.u32(), header.u16(), header.u16()) else {
            return Err("truncated record header");
        };
        let size = usize::from(size);
        let length = size.checked_sub(HEADER).ok_or("the stated size of a record is smaller than its header")?;
        let missing = "a record extends past the end of the file";
        let mut whole = self.left;
        let whole = whole.take(size).ok_or(missing)?;
        let body = header.take(length).ok_or(missing)?;
        let at = header.at.saturating_sub(u64::try_from(length).unwrap_or(0));
        let body = Bytes::new(body, at, header.order);
        header.take_wide(appended(kind, body)).ok_or(missing)?;
        self.left = header;
        Ok(Frame { kind, misc, whole, body })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.left.left() == 0 || self.stopped.is_some() {
            return None;
        }
        match self.frame() {
            Ok(frame) => Some(frame),
            Err(what) => {
                self.stopped = Some(self.left.damage(what));
                None
            }
        }
    }
}

/// Bytes after a record that its size does not count, because a size has 16 bits only.
fn appended(kind: u32, mut body: Bytes<'_>) -> u64 {
    match UserRecordType::try_from(RecordType(kind)) {
        Some(UserRecordType::PERF_AUXTRACE) => body.u64().unwrap_or(0),
        Some(UserRecordType::PERF_HEADER_TRACING_DATA) => body.u32().map_or(0, u64::from),
        _ => 0,
    }
}
