//! The map that GNU ld prints (`-Map=FILE`): which input section lies at which address.
//!
//! A section's line is ` .text.name  0xADDRESS  0xSIZE  FILE`; after a long name the line is broken.

use crate::error::OrderError;
use crate::script::InputSections;
use crate::section_list::is_script;

/// Reads a map: input sections with code or data, by address.
///
/// # Errors
/// If no line describes a section.
pub fn link_map(text: &[u8]) -> Result<InputSections, OrderError> {
    let text = String::from_utf8_lossy(text);
    let mut sections = InputSections::default();
    let mut broken: Option<&str> = None;
    // Before it, removed sections are listed in the same form.
    let body = text.split_once("\nLinker script and memory map").map_or(&*text, |(_, body)| body);
    for line in body.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_section = line.starts_with(" .");
        match (words.as_slice(), broken.take()) {
            ([name], _) if is_section => broken = Some(*name),
            ([name, address, size, _, ..], _) if is_section => sections.add_text(name, address, size),
            ([address, size, _, ..], Some(name)) => sections.add_text(name, address, size),
            _ => {}
        }
    }
    match sections.is_empty() {
        true if is_script(text.as_bytes()) => Err(OrderError::ScriptForMap),
        true => Err(OrderError::NoMap),
        false => Ok(sections),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_address_also_on_broken_lines() {
        let map = b"Discarded input sections\n\n .text.gone     0x0000000000000000        0x5 a.o\n\nLinker script and memory map\n\n\
            .text           0x0000000000001040      0x1b5\n *(.text.unlikely)\n .text          0x0000000000001040       0x26 /usr/lib/Scrt1.o\n\
            \x20                0x0000000000001040                _start\n .text.a_long_name_of_a_function\n\
            \x20                0x0000000000001070        0xb a b.o\n";
        let sections = link_map(map).unwrap();
        assert_eq!(sections.at(0x1075), Some(".text.a_long_name_of_a_function"));
        assert_eq!((sections.at(0x1050), sections.at(0x107b), sections.at(2)), (Some(".text"), None, None));
        assert!(matches!(link_map(b"SECTIONS {\n .text : { *(.text.a) }\n}"), Err(OrderError::ScriptForMap)));
        assert!(link_map(b"VMA LMA Size Align Out In Symbol\n").is_err());
    }
}
