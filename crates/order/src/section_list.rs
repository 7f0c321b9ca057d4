//! Orders as names of input sections: GNU ld's scripts and their fragments, and lists with a section on each line.
//!
//! What a newcomer would not guess: only a section that stands by itself tells an order. Of a pattern with wildcards the linker
//! takes the sections in the order of its input files.

use std::collections::HashSet;

use crate::script::can_be_named;

/// Whether this is a linker script, or a fragment of one.
pub(crate) fn is_script(text: &[u8]) -> bool {
    let text = without_comments(&String::from_utf8_lossy(text));
    has_sections_command(&text) || (text.contains('{') && text.contains("(."))
}

/// Whether a script, without its comments, has the command `SECTIONS`, without which it is a fragment.
pub(crate) fn has_sections_command(text: &str) -> bool {
    let behind = text.match_indices("SECTIONS").filter_map(|(at, word)| text.get(at.saturating_add(word.len())..));
    behind.into_iter().any(|rest| rest.trim_start().starts_with('{'))
}

pub(crate) fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        kept.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
    }
    kept.push_str(rest);
    kept
}

/// The sections that a script names one by one and that hold one function each, in order, each once.
pub(crate) fn sections_in_script(text: &[u8]) -> Vec<Vec<u8>> {
    let text = without_comments(&String::from_utf8_lossy(text));
    let mut listed = HashSet::new();
    text.split(|character: char| character.is_whitespace() || "(){},;".contains(character))
        .filter(|word| can_be_named(word) && listed.insert(*word))
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

/// The function of a section. GCC and Clang name `.text.f` after `f`, and put what runs rarely, often or only once into
/// `.text.unlikely.f` and the like; the cold part of `f` is `f.cold` there.
pub(crate) fn function_of_section(section: &[u8], is_function: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let name = section.strip_prefix(b".text.")?;
    if is_function(name) {
        return Some(name.to_vec());
    }
    let kinds: [&[u8]; 5] = [b"unlikely.", b"hot.", b"startup.", b"exit.", b"unknown."];
    let (kind, inner) = kinds.iter().find_map(|kind| Some((*kind, name.strip_prefix(*kind)?)))?;
    let cold = [inner, b".cold"].concat();
    Some(if kind == b"unlikely." && is_function(&cold) { cold } else { inner.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_by_themselves_are_found_in_scripts() {
        let script = b"/* .text.no (.x) { */ SECTIONS\n{\n .text : {\n *(.text.b)\n  x.o(.text.a .text.hot.c)\n *(.text.unlikely .text.*_unlikely)\n\
            *(SORT(.text.sorted.*)) *(.text.b .text)\n } }";
        assert!(is_script(script));
        assert_eq!(sections_in_script(script), [&b".text.b"[..], b".text.a", b".text.hot.c"]);
        for other in [&b"main\noperator()(.x)\n"[..], b"# SECTIONS\n.text.a\n", b"f<{lambda()#1}>(int)\n"] {
            assert!(!is_script(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn sections_are_named_after_functions() {
        let functions: [&[u8]; 4] = [b"a", b"b.cold", b"b", b"hot.c"];
        let name = |section: &[u8]| function_of_section(section, &|name| functions.contains(&name));
        let named = |section: &[u8], function: &[u8]| assert_eq!(name(section).as_deref(), Some(function));
        named(b".text.a", b"a");
        named(b".text.unlikely.b", b"b.cold");
        named(b".text.startup.b", b"b");
        named(b".text.unlikely.a", b"a");
        named(b".text.hot.c", b"hot.c");
        assert_eq!((name(b".text.gone"), name(b".data.a")), (None, None));
    }
}
