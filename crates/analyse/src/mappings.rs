//! Applies a mapping record: files, placements and the address space.

use coldstart_profile::trace::{FileId, Moment, ProcessId, ThreadId};
use coldstart_sys::fault_recorder::Mapped;

use super::placement::{Lowest, Placement, PlacementId};
use super::space::{Held, Range, Space};

/// `PROT_EXEC` of `mmap(2)`.
const EXECUTABLE: u32 = 4;

/// Who mapped something, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapper {
    pub(super) process: ProcessId,
    pub(super) thread: ThreadId,
    pub(super) at: Moment,
}

/// Lays a mapping into a space. `file` is `None` for memory without a file.
pub(super) fn lay(
    space: &mut Space,
    placements: &mut Vec<Placement>,
    mapped: &Mapped,
    file: Option<FileId>,
    by: Mapper,
) {
    let executable = mapped.protection & EXECUTABLE != 0;
    let held = match file {
        Some(file) => {
            let Some(placement) = placement_of(space, placements, mapped, file, by) else { return };
            if let Some(known) = placements.get_mut(placement.0 as usize) {
                known.as_object |= executable;
            }
            space.latest.insert(file, placement);
            space.last = Some(placement);
            Held::File { file, placement, offset: mapped.offset }
        }
        None => {
            let of = zero_filled_end_of(space, mapped.address);
            space.last = of;
            Held::Anonymous { of }
        }
    };
    let end = mapped.address.saturating_add(mapped.length);
    space.lay(Range { start: mapped.address, end, held, executable });
}

/// The placement that a mapping of a file belongs to; a new one if it begins one.
fn placement_of(
    space: &Space,
    placements: &mut Vec<Placement>,
    mapped: &Mapped,
    file: FileId,
    by: Mapper,
) -> Option<PlacementId> {
    let there = space.at(mapped.address).and_then(|range| match range.held {
        Held::File { file: same, placement, .. } if same == file => Some((range, placement)),
        _ => None,
    });
    let lowest = |id: PlacementId| placements.get(id.0 as usize)?.lowest;
    let end = mapped.address.saturating_add(mapped.length);
    if let Some((range, placement)) = there {
        // A segment that is laid into the stretch kept free for it, or a change of protection. But the first mapping
        // of an object spans all of it: one that begins at the same place and reaches further than what is left of
        // the first one is a new load at the place of an earlier one, of whose end nothing was told.
        let again = lowest(placement).is_some_and(|lowest| {
            lowest.address == mapped.address && lowest.offset == mapped.offset && end > range.end
        });
        if !again {
            return Some(placement);
        }
    } else if let Some(&latest) = space.latest.get(&file)
        && let Some(lowest) = lowest(latest)
        && mapped.address > lowest.address
        && mapped.offset > lowest.offset
    {
        // A program of a fixed address, whose segments are mapped without keeping the stretch free first.
        return Some(latest);
    }
    let id = PlacementId(u32::try_from(placements.len()).ok()?);
    placements.push(Placement {
        process: by.process,
        thread: by.thread,
        file,
        at: by.at,
        lowest: Some(Lowest { address: mapped.address, offset: mapped.offset }),
        told_bias: None,
        entry: None,
        as_object: false,
    });
    Some(id)
}

/// The object whose zero-filled end new anonymous memory may be. Loader and kernel map it right after the segment
/// that it continues, and next after it (`_dl_map_segments` in glibc's `elf/dl-map-segments.h`, `elf_load` in
/// `fs/binfmt_elf.c`).
fn zero_filled_end_of(space: &Space, address: u64) -> Option<PlacementId> {
    let there = space.at(address).map(|range| range.held);
    if let Some(Held::Anonymous { of }) = there {
        // A part of it changes its protection, or it grew together with what follows.
        return of;
    }
    let last = space.last?;
    let belongs = |held: Held| match held {
        Held::File { placement, .. } => placement == last,
        Held::Anonymous { of } => of == Some(last),
    };
    let before = space.before(address).map(|range| range.held);
    (there.is_some_and(belongs) || before.is_some_and(belongs)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: Mapper = Mapper { process: ProcessId(0), thread: ThreadId(0), at: Moment(1) };

    struct Fixture {
        space: Space,
        placements: Vec<Placement>,
    }

    impl Fixture {
        fn new() -> Self {
            Self { space: Space::default(), placements: Vec::new() }
        }

        fn map(&mut self, file: Option<u32>, address: u64, length: u64, offset: u64, protection: u32) {
            let (device, inode, flags, path) = (0, 0, 2, "".into());
            let mapped = Mapped { address, length, offset, device, inode, protection, flags, path };
            lay(&mut self.space, &mut self.placements, &mapped, file.map(FileId), BY);
        }

        fn held(&self, address: u64) -> Option<Held> {
            self.space.at(address).map(|range| range.held)
        }

        /// As glibc maps libc.so.6: the whole stretch, then each segment into it, then zero-filled memory.
        fn library(&mut self, file: u32, at: u64) {
            self.map(Some(file), at, 0x9000, 0, 1);
            self.map(Some(file), at + 0x1000, 0x2000, 0x1000, 5);
            self.map(Some(file), at + 0x3000, 0x1000, 0x3000, 1);
            self.map(Some(file), at + 0x4000, 0x2000, 0x3000, 3);
            self.map(None, at + 0x6000, 0x3000, at + 0x6000, 3);
        }
    }

    fn anonymous(of: Option<u32>) -> Option<Held> {
        Some(Held::Anonymous { of: of.map(PlacementId) })
    }

    #[test]
    fn an_object_is_one_placement_with_its_zero_filled_end() {
        let mut fixture = Fixture::new();
        fixture.library(0, 0x10000);
        assert_eq!(fixture.placements.len(), 1);
        assert_eq!(fixture.placements[0].lowest, Some(Lowest { address: 0x10000, offset: 0 }));
        assert!(fixture.placements[0].as_object);
        assert_eq!(fixture.held(0x16000), anonymous(Some(0)));
        fixture.map(None, 0x40000, 0x1000, 0x40000, 3);
        assert_eq!(fixture.held(0x40000), anonymous(None));
    }

    #[test]
    fn a_change_of_protection_begins_nothing() {
        let mut fixture = Fixture::new();
        fixture.library(0, 0x10000);
        fixture.map(Some(0), 0x14000, 0x1000, 0x3000, 1);
        fixture.map(Some(0), 0x10000, 0x1000, 0, 1);
        fixture.map(None, 0x17000, 0x1000, 0x17000, 1);
        assert_eq!(fixture.placements.len(), 1);
        assert_eq!(fixture.space.at(0x15000).and_then(|range| range.file_offset(0x15000)), Some(0x4000));
        assert_eq!(fixture.held(0x17000), anonymous(Some(0)));
        assert_eq!(fixture.held(0x18000), anonymous(Some(0)));
    }

    #[test]
    fn the_same_library_again_is_another_placement() {
        let mut fixture = Fixture::new();
        fixture.library(0, 0x10000);
        fixture.library(0, 0x10000);
        fixture.library(0, 0x30000);
        fixture.library(0, 0x20000);
        assert_eq!(fixture.placements.len(), 4);
        assert_eq!(fixture.held(0x16000), anonymous(Some(1)));
        assert_eq!(fixture.held(0x26000), anonymous(Some(3)));
    }

    #[test]
    fn segments_of_a_program_at_a_fixed_address_need_no_common_stretch() {
        let mut fixture = Fixture::new();
        fixture.map(Some(0), 0x400000, 0x1000, 0, 1);
        fixture.map(Some(0), 0x401000, 0x1000, 0x1000, 5);
        fixture.map(Some(0), 0x600000, 0x1000, 0x1000, 3);
        fixture.map(None, 0x601000, 0x1000, 0x601000, 3);
        assert_eq!(fixture.placements.len(), 1);
        assert_eq!(fixture.held(0x601000), anonymous(Some(0)));
    }

    #[test]
    fn data_is_no_object() {
        let mut fixture = Fixture::new();
        fixture.map(Some(0), 0x10000, 0x1000, 0, 1);
        assert!(!fixture.placements[0].as_object);
    }
}
