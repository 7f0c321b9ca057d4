//! What GNU ld takes: names of input sections in a linker script.
//!
//! Since binutils 2.43 `--section-ordering-file` takes a fragment of a script, whose sections come first in their output section.
//! Older ones need a whole script (`-T`): the linker's own with these names in front.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crate::error::OrderError;
use crate::list::MARK_OF_SCRIPTS;
use crate::section_list::{has_sections_command, without_comments};

/// Input sections, by address in a linked file or by the symbols that they define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputSections {
    by_address: BTreeMap<u64, (u64, String)>,
    by_symbol: HashMap<Vec<u8>, String>,
}

impl InputSections {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty() && self.by_symbol.is_empty()
    }

    pub(crate) fn add_text(&mut self, name: &str, address: &str, size: &str) {
        let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        if let (Some(address), Some(size)) = (number(address), number(size))
            && address > 0
            && size > 0
        {
            self.by_address.insert(address, (size, name.to_owned()));
        }
    }

    pub(crate) fn add_symbol(&mut self, symbol: &[u8], section: &str) {
        self.by_symbol.entry(symbol.to_vec()).or_insert_with(|| section.to_owned());
    }

    /// Takes over those of another file.
    pub fn extend(&mut self, other: Self) {
        self.by_address.extend(other.by_address);
        for (symbol, section) in other.by_symbol {
            self.by_symbol.entry(symbol).or_insert(section);
        }
    }

    /// The section at an address of the linked file.
    pub fn at(&self, address: u64) -> Option<&str> {
        let (start, (size, name)) = self.by_address.range(..=address).next_back()?;
        (address.saturating_sub(*start) < *size).then_some(name)
    }

    /// The section that defines a symbol.
    pub fn of_symbol(&self, name: &[u8]) -> Option<&str> {
        self.by_symbol.get(name).map(String::as_str)
    }
}

/// Whether an input section can be moved by its name: it holds one function, and the name has no character with a meaning in
/// scripts.
pub(crate) fn can_be_named(section: &str) -> bool {
    let is_own = section
        .strip_prefix(".text.")
        .is_some_and(|rest| !["unlikely", "startup", "hot", "exit", "unknown"].contains(&rest.trim_end_matches('.')));
    is_own && section.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._$-+".contains(&byte))
}

/// A fragment of a script with these input sections of `.text`, each once, in order; and how many there are. Those that hold
/// more than one function are left out.
pub fn section_fragment<'a>(sections: impl IntoIterator<Item = &'a str>) -> (String, u64) {
    let mut text = format!("{MARK_OF_SCRIPTS}\n.text : {{\n");
    let mut listed = std::collections::HashSet::new();
    for section in sections.into_iter().filter(|section| can_be_named(section)) {
        if listed.insert(section) {
            text.push_str(&format!("  *({section})\n"));
        }
    }
    text.push_str("}\n");
    (text, listed.len() as u64)
}

/// A linker's own script (`ld --verbose` prints it between lines of `=`) with the sections of a fragment first in `.text`.
///
/// # Errors
/// If it is only a fragment of a script, or has no output section `.text`.
pub fn insert_into_script(script: &[u8], fragment: &str) -> Result<String, OrderError> {
    let script = String::from_utf8_lossy(script);
    let body = match script.split("==================================================\n").nth(1) {
        Some(between) => between,
        None => &*script,
    };
    if !has_sections_command(&without_comments(body)) {
        return Err(OrderError::NoScript);
    }
    let at = body.match_indices(".text").map(|(at, _)| at).find(|at| {
        let before = body.get(..*at).is_some_and(|before| before.ends_with(char::is_whitespace) || before.is_empty());
        let after = body.get(at.saturating_add(5)..).unwrap_or_default().trim_start();
        before && after.starts_with(':')
    });
    let at = at.and_then(|at| Some(at.saturating_add(body.get(at..)?.find('{')?).saturating_add(1)));
    let (before, after) = at.and_then(|at| body.split_at_checked(at)).ok_or(OrderError::NoText)?;
    let inner: String =
        fragment.lines().filter(|line| line.starts_with("  *(")).map(|line| format!("{line}\n")).collect();
    Ok(format!("{MARK_OF_SCRIPTS}\n{before}\n{inner}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_one_function_are_put_in_front() {
        let names = [".text.b", ".text", ".text.unlikely.a", ".text.b", ".text.hot", ".text.a*"];
        let (fragment, count) = section_fragment(names);
        assert_eq!(fragment, format!("{MARK_OF_SCRIPTS}\n.text : {{\n  *(.text.b)\n  *(.text.unlikely.a)\n}}\n"));
        assert_eq!(count, 2);
        let own = "GNU ld\n==================================================\nSECTIONS {\n  .rela.text : { *(.rela.text) }\n  .text           :\n  {\n    *(.text)\n  }\n}\n==================================================\n";
        let script = insert_into_script(own.as_bytes(), &fragment).unwrap();
        assert!(
            script.ends_with(".text           :\n  {\n  *(.text.b)\n  *(.text.unlikely.a)\n\n    *(.text)\n  }\n}\n"),
            "{script}"
        );
        assert!(matches!(insert_into_script(b"SECTIONS { .data : { *(.data) } }", &fragment), Err(OrderError::NoText)));
        assert!(matches!(insert_into_script(fragment.as_bytes(), &fragment), Err(OrderError::NoScript)));
    }
}
