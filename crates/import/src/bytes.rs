//! A reader for untrusted bytes.

use super::error::Damage;

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// The unread bytes, with their file offset. Every method returns `None` at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    /// Place of the first byte that is left, in the file.
    pub(super) at: u64,
    pub(super) order: Order,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(rest: &'a [u8], at: u64, order: Order) -> Self {
        Self { rest, at, order }
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        self.at = self.at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        Some(taken)
    }

    pub(super) fn take_wide(&mut self, length: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(length).ok()?)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(match self.order {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(match self.order {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        })
    }

    /// A string as headers of perf have it: its length with padding, then its bytes up to a NUL (`perf_header_string`).
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        Some(until_nul(self.take(length)?))
    }

    /// What is wrong here.
    pub(super) fn damage(&self, what: &'static str) -> Damage {
        Damage { offset: self.at, what }
    }
}

/// All up to a NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}
