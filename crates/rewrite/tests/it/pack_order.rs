//! Tables of relocations that are not in ascending order: they are packed, and come back in their own order.

use crate::rewritten_scene::{packed, restored};
use crate::scene::Elf;
use coldstart_elf::ElfFile;
use coldstart_rewrite::{ChangedFile, PackDecision, PackOptions, WayBack, plan_pack};

/// `DT_RELA`, `DT_RELACOUNT`.
const RELA: u64 = 7;
const RELACOUNT: u64 = 0x6fff_fff9;

fn program() -> Elf {
    crate::scene::build_program("bfd", "-pie")
}

/// The relative relocations of a program in another order, by numbers.
fn reordered(order: impl Fn(usize, usize) -> usize) -> Elf {
    let mut elf = program();
    let (at, count) = (elf.offset(elf.tag(RELA).unwrap()), elf.tag(RELACOUNT).unwrap() as usize);
    let records = elf.0[at..at + 24 * count].to_vec();
    for number in 0..count {
        let from = 24 * order(number, count);
        elf.0[at + 24 * number..at + 24 * number + 24].copy_from_slice(&records[from..from + 24]);
    }
    elf
}

fn way_back(elf: &Elf) -> WayBack {
    match plan_pack(&ElfFile::parse(&elf.0).unwrap(), &PackOptions::default()).unwrap() {
        PackDecision::Pack(plan) => plan.summary.way_back,
        PackDecision::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

#[test]
fn any_order_comes_back() {
    let orders: [fn(usize, usize) -> usize; 4] = [
        |number, count| count - 1 - number,
        |number, count| (number + count / 3) % count,
        // A prime that does not divide the count: as good as random.
        |number, count| number * 7919 % count,
        |number, count| {
            if number % 100 == 7 && number + 1 < count {
                number + 1
            } else if number % 100 == 8 {
                number - 1
            } else {
                number
            }
        },
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let elf = reordered(order);
        assert!(elf.0 != program().0 && (0..3000).all(|number| order(number, 3001) < 3001), "order {number}");
        assert_eq!(way_back(&elf), WayBack::Kept, "order {number}");
        let packed = packed(&elf.0, &PackOptions::default());
        assert!(restored(&packed.bytes, ChangedFile::Refuse).unwrap() == elf.0, "order {number}");
    }
}

#[test]
fn what_would_take_too_much_room_is_left_out_and_says_so() {
    // Words that hold what nobody could foresee, where their relocations have addends anyway.
    let mut elf = program();
    let (at, count) = (elf.offset(elf.tag(RELA).unwrap()), elf.tag(RELACOUNT).unwrap() as usize);
    for number in 0..count {
        let word = elf.offset(elf.word(at + 24 * number));
        let noise = blake3::hash(&number.to_le_bytes());
        elf.0[word..word + 8].copy_from_slice(&noise.as_bytes()[..8]);
    }
    assert_eq!(way_back(&elf), WayBack::TooLong);
    let refused = |options: PackOptions| {
        let packed = packed(&elf.0, &options);
        restored(&packed.bytes, ChangedFile::Refuse).unwrap_err()
    };
    let too_long = refused(PackOptions::default());
    assert_eq!(too_long.code(), "no-way-back");
    assert!(too_long.to_string().contains("quarter") && !too_long.to_string().contains("--no-undo"), "{too_long}");
    let declined = refused(PackOptions { undo: false, ..PackOptions::default() });
    assert_eq!(declined.code(), "no-way-back");
    assert!(declined.to_string().contains("--no-undo"), "{declined}");
}
