//! The tracepoints of x86 page faults: their numbers, and the offsets of their fields.
//!
//! Both come from tracefs and differ between kernels. It need not be mounted: with the right to use tracepoints a process can
//! usually mount it detached (`fsmount`), which needs no unmount. Source: `Documentation/trace/events.rst`.

use std::fs;
use std::path::Path;

use crate::tracefs::mount_detached;

/// A field of a tracepoint's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    /// 1, 2, 4 or 8 bytes.
    size: usize,
}

impl Field {
    /// Its value in a record, if the record is long enough.
    pub(super) fn read(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        match self.size {
            1 => bytes.first().copied().map(u64::from),
            2 => Some(u16::from_ne_bytes(bytes.try_into().ok()?).into()),
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }
}

/// The offsets of a fault's three fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FaultFields {
    pub(super) address: Field,
    pub(super) instruction: Field,
    /// The processor's error code: bit 1 for a write, bit 4 for a fetch (Intel SDM volume 3, 4.7).
    pub(super) error_code: Field,
}

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    pub(super) number: u64,
    pub(super) fields: FaultFields,
}

/// `exceptions:page_fault_user` and `exceptions:page_fault_kernel`; `None` where they are missing or not accessible.
/// Only those of x86: others have other error codes.
pub(super) fn find() -> Option<(Tracepoint, Tracepoint)> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let both = |events: &Path| {
        Some((read(&events.join("exceptions/page_fault_user"))?, read(&events.join("exceptions/page_fault_kernel"))?))
    };
    both(Path::new("/sys/kernel/tracing/events")).or_else(|| {
        let mount = mount_detached().ok()?;
        both(&coldstart_host::descriptor::path(&mount).join("events"))
    })
}

fn read(event: &Path) -> Option<Tracepoint> {
    let number = fs::read_to_string(event.join("id")).ok()?.trim().parse().ok()?;
    Some(Tracepoint { number, fields: parse(&fs::read_to_string(event.join("format")).ok()?)? })
}

fn parse(format: &str) -> Option<FaultFields> {
    let field = |name| format.lines().find_map(|line| parse_field(line, name));
    Some(FaultFields { address: field("address")?, instruction: field("ip")?, error_code: field("error_code")? })
}

/// Parses `field:unsigned long address; offset:8; size:8; signed:0;`, with tabs for the spaces, if it is the field of that name.
fn parse_field(line: &str, name: &str) -> Option<Field> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    if declaration.rsplit(' ').next()? != name {
        return None;
    }
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    let size = size.filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
    Some(Field { offset: offset?, size })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn fields() -> FaultFields {
        let field = |offset| Field { offset, size: 8 };
        FaultFields { address: field(8), instruction: field(16), error_code: field(24) }
    }

    const FORMAT: &str = "name: page_fault_user\nID: 190\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:unsigned long address;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned long error_code;\toffset:24;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"address=%ps ip=%ps error_code=0x%lx\", (void *)REC->address, (void *)REC->ip, REC->error_code\n";

    #[test]
    fn fields_stand_where_the_format_says() {
        assert_eq!(parse(FORMAT), Some(fields()));
        let moved = FORMAT.replace("address;\toffset:8;\tsize:8", "address;\toffset:32;\tsize:4");
        assert_eq!(parse(&moved).map(|fields| fields.address), Some(Field { offset: 32, size: 4 }));
        assert_eq!(parse(&FORMAT.replace("address;\toffset:8;\tsize:8", "address;\toffset:8;\tsize:3")), None);
        assert_eq!(parse(&FORMAT.replace("error_code", "code")), None);
    }

    #[test]
    fn a_field_beyond_the_record_has_no_value() {
        let record: Vec<u8> = (0..12).collect();
        assert_eq!(Field { offset: 4, size: 8 }.read(&record), Some(u64::from_ne_bytes([4, 5, 6, 7, 8, 9, 10, 11])));
        assert_eq!(Field { offset: 11, size: 1 }.read(&record), Some(11));
        assert_eq!(Field { offset: 5, size: 8 }.read(&record), None);
        assert_eq!(Field { offset: usize::MAX, size: 2 }.read(&record), None);
    }
}
