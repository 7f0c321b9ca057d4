//! Who points to a dynamic table that moves: words, symbols, entries, and the table's own first word elsewhere.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use crate::scene::*;
use crate::search_scene::*;
use coldstart_prove::SearchEdit;

const MOVES: Shape = Shape { moves: true, split: false, grows: false, follows: false };
const STAYS: Shape = Shape { moves: false, split: false, grows: false, follows: false };

/// Programs that keep a pointer to their dynamic table.
const POINTING: &str = "#include <link.h>\n#include <stdio.h>\n extern ElfW(Dyn) _DYNAMIC[];\n\
    ElfW(Dyn) *table = _DYNAMIC + 1; int main(void) { return printf(\"%p\", (void *)table) < 0; }\n";

fn what(original: &Elf, output: &Elf, edit: &SearchEdit) -> String {
    match proof(original, output, edit) {
        Ok(_) => "proven".to_owned(),
        Err(error) => error.what().to_owned(),
    }
}

#[test]
fn a_word_that_points_to_the_table_keeps_it_where_it_is() {
    for linker in linkers() {
        for kind in ["-pie", "-no-pie"] {
            let original = link(POINTING, linker, &[kind]);
            let edit = edit(&original, 1);
            let stays = write(&original, &edit, STAYS);
            if stays.tag_place() == original.tag_place() {
                assert_eq!(what(&original, &stays, &edit), "proven", "{linker} {kind}");
            }
            for shape in [MOVES, Shape { follows: true, ..MOVES }] {
                let output = write(&original, &edit, shape);
                assert_eq!(what(&original, &output, &edit), "pointer to a moved table", "{linker} {kind}");
            }
        }
    }
}

#[test]
fn the_first_word_of_the_global_offset_table_is_old_or_new() {
    for kind in ["-pie", "-no-pie"] {
        let original = program("bfd", &[kind, "-Wl,-z,lazy"]);
        let edit = edit(&original, 1);
        for shape in [MOVES, Shape { follows: true, ..MOVES }] {
            let mut output = write(&original, &edit, shape);
            assert_eq!(what(&original, &output, &edit), "proven");
            let at = output.content(".got.plt").start;
            let expected = if shape.follows { output.tag_place() } else { original.tag_place() };
            assert_eq!(output.word(at), expected);
            for wrong in [0, expected + 16, u64::MAX] {
                output.put(at, 8, wrong);
                assert_eq!(what(&original, &output, &edit), "memory", "{wrong:#x}");
            }
        }
        // A table that stays has one address.
        let mut output = write(&original, &edit, STAYS);
        let at = output.content(".got.plt").start;
        output.put(at, 8, output.word(at) + 16);
        assert_eq!(what(&original, &output, &edit), "memory");
    }
}

#[test]
fn a_dynamic_symbol_of_the_table_keeps_it_where_it_is() {
    let mut original = program("bfd", &["-pie", "-rdynamic"]);
    let edit = edit(&original, 1);
    assert_eq!(what(&original, &write(&original, &edit, MOVES), &edit), "proven");
    let table = original.tag_place();
    let symbols = original.content(".dynsym");
    let main = symbols.step_by(24).find(|at| original.number(at + 4, 1) & 15 == 1 && original.number(at + 6, 2) != 0);
    original.put(main.unwrap() + 8, 8, table);
    assert_eq!(what(&original, &write(&original, &edit, MOVES), &edit), "pointer to a moved table");
}

#[test]
fn entries_that_count_from_their_own_place_keep_it() {
    let mut original = program("bfd", &["-pie"]);
    original.edit_entries(|all| all.push((0x7000_0035, 0x100)));
    let edit = edit(&original, 1);
    assert_eq!(what(&original, &write(&original, &edit, MOVES), &edit), "dynamic table");
    // Entries that nobody knows may be addresses.
    let mut original = program("bfd", &["-pie"]);
    let table = original.tag_place();
    original.edit_entries(|all| all.push((0x6000_0020, table + 8)));
    assert_eq!(what(&original, &write(&original, &edit, MOVES), &edit), "pointer to a moved table");
}

#[test]
fn a_file_that_relocates_itself_keeps_its_table() {
    let original = program("bfd", &["-pie"]);
    let edit = edit(&original, 1);
    let mut output = write(&original, &edit, MOVES);
    // Both lose their loader's path, as static programs have none.
    let mut alone = original.clone();
    for elf in [&mut alone, &mut output] {
        let header = elf.segments(3)[0];
        elf.put(header, 4, 0x6474_e554);
    }
    assert_ne!(what(&alone, &output, &edit), "proven");
}

#[test]
fn a_symbol_of_the_table_follows_it_whatever_its_section() {
    for linker in linkers() {
        let mut original = program(linker, &["-pie"]);
        let old = original.tag_place();
        let symbols = original.content(".symtab");
        let symbol =
            symbols.step_by(24).find(|at| original.word(at + 8) == old && original.number(at + 4, 1) & 15 != 3);
        let symbol = symbol.unwrap_or_else(|| panic!("{linker} has no _DYNAMIC"));
        original.put(symbol + 6, 2, 0xfff1);
        let edit = edit(&original, 1);
        let mut output = write(&original, &edit, MOVES);
        assert_eq!(what(&original, &output, &edit), "section contents", "{linker}");
        output.put(symbol + 8, 8, output.tag_place());
        assert_eq!(what(&original, &output, &edit), "proven", "{linker}");
    }
}

#[test]
fn needed_libraries_keep_their_places_beside_filters() {
    let mut original = program("bfd", &["-pie"]);
    let name = original.entries().iter().find(|entry| entry.0 == 1).unwrap().1;
    original.edit_entries(|all| all.push((0x7fff_ffff, name)));
    for (count, expected) in [(0, "proven"), (1, "dynamic table")] {
        let edit = edit(&original, count);
        assert_eq!(what(&original, &write(&original, &edit, MOVES), &edit), expected);
    }
}
