//! Audit libraries whose table is damaged: the program runs, whatever the table says.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;

use coldstart_bind::audit::{Found, Place, read};

use crate::audit_scene::Scene;

/// Size of the header in bytes, and where its checksum is: docs/formats/audit-table.md.
const HEADER: usize = 64;
const CHECKSUM: usize = 8;

struct Damaged {
    scene: Scene,
    library: Vec<u8>,
    /// Where the table begins.
    table: usize,
}

impl Damaged {
    fn new() -> Self {
        let scene = Scene::new(&["path"]);
        scene.number("path/libone.so", 1);
        scene.number("table/libone.so", 2);
        scene.number("table/librelative.so", 3);
        scene.plugin("table/plugin.so", "path");
        let mut table = scene.table(&[("libone.so", "table/libone.so"), ("plugin.so", "table/plugin.so")]);
        let relative = |path: &str| Place::FromProgram(path.into());
        let found = Found { place: relative("table/librelative.so"), before_library_path: false };
        table.for_all.insert("librelative.so".into(), found);
        let group = scene.group(&[scene.library_at("table/plugin.so")], &[("libone.so", "table/libone.so")]);
        table.groups.push(group);
        let others = scene.group(
            &[coldstart_bind::audit::Requester::Library(relative("table/librelative.so"))],
            &[("libone.so", "table/libone.so")],
        );
        table.groups.push(others);
        let library = std::fs::read(scene.audit(&table)).unwrap();
        let magic = b"COLDTBL1";
        let start = library.windows(8).rposition(|window| window == magic).unwrap();
        Self { scene, library, table: start }
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = &self.library[self.table + at..];
        u32::from_ne_bytes(*bytes.first_chunk().unwrap())
    }

    /// Runs the program with some bytes of the table changed, and gives what it printed. It must not be killed, and must
    /// get to its end.
    fn run(&self, at: usize, bytes: &[u8], honest_checksum: bool) -> String {
        let mut library = self.library.clone();
        library[self.table + at..self.table + at + bytes.len()].copy_from_slice(bytes);
        if honest_checksum {
            let table = &mut library[self.table..];
            table[CHECKSUM..CHECKSUM + 4].fill(0);
            let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            let sum = table[..HEADER].iter().fold(0x811c_9dc5, hash);
            table[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_ne_bytes());
        }
        // Whatever it is, our own reader takes or refuses it.
        let _ = read(&library);
        let path = self.scene.path("damaged.so");
        std::fs::write(&path, library).unwrap();
        let words = ["libone.so", "plugin.so", "through:libone.so", "librelative.so", "libmissing.so"];
        let output = self.scene.start(&path, &words, &[]);
        assert_eq!(output.status.signal(), None, "{at:#x} {bytes:x?} {honest_checksum}");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.ends_with("end\n"), "{at:#x} {bytes:x?} {honest_checksum}: {output:?}");
        told
    }
}

#[test]
fn no_field_of_the_header_can_crash_the_program() {
    let damaged = Damaged::new();
    let plain = damaged.run(0, b"X", false);
    assert!(plain.starts_with("libone.so 1\nplugin.so not there\n"), "{plain}");
    let right = damaged.run(0, b"C", false);
    assert!(right.starts_with("libone.so 2\nplugin.so 0\n"), "{right}");
    for at in (0..HEADER).step_by(4) {
        let now = damaged.number(at);
        let values = BTreeSet::from([
            0,
            1,
            4,
            8,
            HEADER as u32,
            now ^ 1,
            now.wrapping_add(4),
            now.wrapping_mul(2),
            damaged.number(12),
            0x10_0000,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_fffc,
            0xffff_ffff,
        ]);
        for value in values.into_iter().filter(|&value| value != now) {
            let bytes = value.to_ne_bytes();
            assert_eq!(damaged.run(at, &bytes, false), plain, "a wrong checksum switches the table off");
            damaged.run(at, &bytes, true);
        }
    }
}

#[test]
fn no_record_of_the_table_can_crash_the_program() {
    let damaged = Damaged::new();
    let size = damaged.number(12) as usize;
    let strings = damaged.number(44) as usize;
    for at in (HEADER..strings).step_by(4) {
        for value in [0_u32, 1, 0x0fff_ffff, 0x8000_0001, 0xffff_ffff] {
            damaged.run(at, &value.to_ne_bytes(), false);
        }
    }
    // Strings that do not end, up to the end of the table and of what is mapped.
    damaged.run(strings, &vec![b'x'; damaged.number(48) as usize], false);
    damaged.run(strings, &vec![b'x'; size - strings], false);
    damaged.run(strings, &vec![b'/'; size - strings], false);
    damaged.run(HEADER, &vec![0xff; size - HEADER], false);
    damaged.run(HEADER, &vec![0; size - HEADER], false);
}
