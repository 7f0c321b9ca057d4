//! The ELF header: the type of the object and its entry point.

use crate::image::Image;
use crate::verdict::{NotProven, broken, differs, same};

const WHAT: &str = "ELF header";

/// The whole header except for its two tables' offsets and counts, which are followed instead.
pub(crate) fn check(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    let (from, to) = (&original.header, &output.header);
    if from.ident != to.ident {
        return Err(differs(WHAT, "e_ident", format!("{:02x?}", from.ident), format!("{:02x?}", to.ident)));
    }
    same(WHAT, "e_type", from.kind.0, to.kind.0)?;
    same(WHAT, "e_machine", from.machine.0, to.machine.0)?;
    same(WHAT, "e_version", from.version, to.version)?;
    same(WHAT, "e_entry", from.entry, to.entry)?;
    same(WHAT, "e_flags", from.flags, to.flags)?;
    same(WHAT, "e_ehsize", from.header_size, to.header_size)?;
    same(WHAT, "e_phentsize", from.program_header_size, to.program_header_size)?;
    same(WHAT, "e_shentsize", from.section_header_size, to.section_header_size)?;
    same(WHAT, "e_shstrndx", from.section_names, to.section_names)?;
    let table = |image: &Image<'_>| {
        let size = u64::from(image.header.section_header_size).checked_mul(image.sections.len() as u64)?;
        image.file(image.header.section_headers_at, size).map(<[u8]>::len)
    };
    match table(output) {
        Some(_) => Ok(()),
        None => Err(broken(output.which, WHAT, "e_shoff", "the section header table is not in the file")),
    }
}
