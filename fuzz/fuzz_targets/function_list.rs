//! Any bytes as a list of functions, a linker's script, its map, an archive of object files: refused or read; what is read and written
//! again says the same.

#![no_main]

use coldstart_order::{ReadList, insert_into_script, link_map, object_sections, read_list, section_fragment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(list) = read_list(bytes) {
        let functions = list.functions(|name| name.len() % 2 == 0);
        match &list {
            ReadList::Symbols(names) => {
                assert_eq!(&functions, names);
                assert!(names.iter().all(|name| !name.is_empty() && !name.contains(&b'\n')));
            }
            ReadList::Sections(names) => {
                assert_eq!(functions.len(), names.len());
                let sections = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
                let (fragment, count) = section_fragment(sections);
                if count > 0 {
                    let again = read_list(fragment.as_bytes()).expect("what is written can be read");
                    assert!(matches!(again, ReadList::Sections(names) if names.len() as u64 == count));
                }
                if let Ok(script) = insert_into_script(bytes, &fragment) {
                    assert!(
                        script.len() >= fragment.lines().filter(|line| line.starts_with("  *(")).map(str::len).sum()
                    );
                }
            }
        }
    }
    let _ = insert_into_script(bytes, "");
    if let Ok(sections) = link_map(bytes) {
        assert!(!sections.is_empty());
        let _ = (sections.at(0x1000), sections.of_symbol(b"a"));
    }
    let _ = object_sections(&[b"!<arch>\n", bytes].concat());
});
