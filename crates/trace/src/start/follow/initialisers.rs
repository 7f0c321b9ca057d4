//! Timing each initialiser without a stop.
//!
//! The loader calls initialisers through a table of pointers (`DT_INIT_ARRAY`). After the table has been relocated, each pointer is redirected
//! to a few instructions of ours, which record the processor's counter and jump to the function: stack and registers are
//! unchanged. In `dlopen` of glibc 2.36 the list is reported consistent *before* relocation; such tables wait for the loader to make them read-only.

use std::collections::HashSet;

use coldstart_analyse::{InitialiserTime, LinkedObject, Note, NoteKind};
use coldstart_sys::time_stamp::TimeStamp;
use coldstart_sys::tracing::Argument;

use super::memory::Memory;
use super::standing::{Standing, call_error};

const DT_NULL: u64 = 0;
const DT_INIT_ARRAY: u64 = 25;
const DT_INIT_ARRAYSZ: u64 = 27;
/// Entries of a dynamic table that are looked at; glibc's own have about 30.
const DYNAMIC_ENTRIES: usize = 64;
/// Size of one, in bytes.
const DYNAMIC_ENTRY: u64 = 16;
/// More initialisers than any object has.
const MOST_INITIALISERS: u64 = 65_536;
const PAGE: u64 = 4096;

/// Code of one slot: `endbr64; push rax; push rdx; rdtsc; shl rdx, 32; or rax, rdx; mov [rip+time], rax; pop rdx; pop rax; jmp [rip+target]`.
const CODE: [u8; 30] = [
    0xf3, 0x0f, 0x1e, 0xfa, 0x50, 0x52, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x48, 0x89, 0x05, 0, 0,
    0, 0, 0x5a, 0x58, 0xff, 0x25, 0, 0, 0, 0,
];
/// Where in it the distances stand, and the ends of their instructions.
const TIME_DISTANCE: (usize, u64) = (18, 22);
const TARGET_DISTANCE: (usize, u64) = (26, 30);
const CODE_SIZE: u64 = 32;
/// The counter and the target.
const DATA_SIZE: u64 = 16;
/// Slots that are made at once.
const SLOTS: u64 = 1024;

/// When an initialiser was called, by the processor's counter.
#[derive(Clone, Copy, Debug)]
struct InitialiserCall {
    process: u32,
    address: u64,
    bias: u64,
    counter: u64,
}

/// Slots in a process's memory.
#[derive(Debug, Default)]
pub(super) struct Slots {
    areas: Vec<Area>,
    /// Tables that are not relocated yet: bias, address and count.
    waiting: Vec<(u64, u64, u64)>,
    /// Whether no more can be had; the process has been told of then.
    are_refused: bool,
}

#[derive(Debug)]
struct Area {
    address: u64,
    capacity: u64,
    /// Target and bias of each slot in use.
    slots: Vec<(u64, u64)>,
    collected: Vec<bool>,
}

impl Area {
    fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.slots.len() as u64)
    }

    fn code_at(&self, slot: u64) -> u64 {
        self.address.wrapping_add(slot.wrapping_mul(CODE_SIZE))
    }

    /// Behind all code, so that writing there does not look like changing code.
    fn data_at(&self, slot: u64) -> u64 {
        self.code_at(self.capacity).wrapping_add(slot.wrapping_mul(DATA_SIZE))
    }
}

impl Slots {
    /// Of the objects in the loader's list, by bias and dynamic table, these are left. Others may come to stand where they were.
    pub(super) fn forget_objects_except(&mut self, left: &HashSet<(u64, u64)>) {
        self.waiting.retain(|&(bias, _, _)| left.iter().any(|&(left, _)| left == bias));
    }

    /// Turns the pointers of a relocated table to our slots, if there are enough.
    fn turn(&mut self, memory: &Memory, (bias, table, count): (u64, u64, u64)) -> Option<()> {
        let size = usize::try_from(count.checked_mul(8)?).ok()?;
        let mut bytes = vec![0; size];
        memory.read(table, &mut bytes)?;
        let targets: Vec<u64> =
            bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes).collect();
        let area = self.areas.iter_mut().find(|area| area.free() >= count)?;
        let first = area.slots.len() as u64;
        let mut code = Vec::with_capacity(targets.len().checked_mul(CODE_SIZE as usize)?);
        let mut data = Vec::with_capacity(targets.len().checked_mul(DATA_SIZE as usize)?);
        let mut pointers = Vec::with_capacity(size);
        for (slot, &target) in (first..).zip(&targets) {
            let (code_at, time_at) = (area.code_at(slot), area.data_at(slot));
            let distance = |to: u64, (_, end): (usize, u64)| {
                i32::try_from(to.wrapping_sub(code_at.wrapping_add(end)).cast_signed()).ok().map(i32::to_le_bytes)
            };
            let mut instructions = CODE;
            instructions
                .get_mut(TIME_DISTANCE.0..TIME_DISTANCE.0.checked_add(4)?)?
                .copy_from_slice(&distance(time_at, TIME_DISTANCE)?);
            instructions
                .get_mut(TARGET_DISTANCE.0..TARGET_DISTANCE.0.checked_add(4)?)?
                .copy_from_slice(&distance(time_at.wrapping_add(8), TARGET_DISTANCE)?);
            code.extend(instructions);
            code.extend([0xcc; 2]);
            data.extend(0u64.to_ne_bytes());
            data.extend(target.to_ne_bytes());
            // 0 and -1 are passed over by some C libraries: they stay.
            let is_function = target != 0 && target != u64::MAX;
            pointers.extend(if is_function { code_at } else { target }.to_ne_bytes());
        }
        let (code_at, data_at) = (area.code_at(first), area.data_at(first));
        memory.write(code_at, &code)?;
        memory.write(data_at, &data)?;
        memory.write(table, &pointers)?;
        area.collected.extend(targets.iter().map(|_| false));
        area.slots.extend(targets.into_iter().map(|target| (target, bias)));
        Some(())
    }

    /// The loader makes memory read-only: tables in it are relocated now.
    pub(super) fn time_waiting(&mut self, memory: &Memory, address: u64, length: u64) {
        let inside = |&(_, table, _): &(u64, u64, u64)| table.checked_sub(address).is_some_and(|at| at < length);
        let ready: Vec<_> = self.waiting.iter().copied().filter(inside).collect();
        self.waiting.retain(|table| !inside(table));
        for table in ready {
            self.turn(memory, table);
        }
    }
}

/// The table of initialisers: its address and number of entries.
fn initialisers_of(memory: &Memory, object: &LinkedObject) -> Option<(u64, u64)> {
    let entries = dynamic_entries(memory, object.dynamic)?;
    let value = |wanted| entries.iter().find(|&&(tag, _)| tag == wanted).map(|&(_, value)| value);
    let size = value(DT_INIT_ARRAYSZ)? / 8;
    let address = object.bias.wrapping_add(value(DT_INIT_ARRAY)?);
    (1..=MOST_INITIALISERS).contains(&size).then_some((address, size))
}

/// Tags and values of a dynamic table. No page behind its own is looked at: the program may not have touched that one yet.
fn dynamic_entries(memory: &Memory, table: u64) -> Option<Vec<(u64, u64)>> {
    let mut entries = Vec::new();
    while entries.len() < DYNAMIC_ENTRIES {
        let at = table.checked_add(entries.len() as u64 * DYNAMIC_ENTRY)?;
        let to_page_end = (PAGE - at % PAGE) / DYNAMIC_ENTRY;
        let mut bytes = vec![0; usize::try_from(to_page_end.max(1) * DYNAMIC_ENTRY).ok()?];
        memory.read(at, &mut bytes)?;
        for entry in bytes.chunks_exact(DYNAMIC_ENTRY as usize) {
            let (tag, value) = entry.split_at_checked(8)?;
            match (u64::from_ne_bytes(tag.try_into().ok()?), u64::from_ne_bytes(value.try_into().ok()?)) {
                (DT_NULL, _) => return Some(entries),
                entry => entries.push(entry),
            }
        }
    }
    Some(entries)
}

/// Times initialisers, and collects the times.
pub(super) struct Initialisers {
    are_wanted: bool,
    calls: Vec<InitialiserCall>,
}

impl Initialisers {
    pub(super) fn new(are_wanted: bool) -> Self {
        Self { are_wanted, calls: Vec::new() }
    }

    /// Has the initialisers of new objects timed.
    pub(super) fn time(
        &self,
        standing: &mut Standing<'_>,
        memory: &Memory,
        slots: &mut Slots,
        objects: &[LinkedObject],
    ) -> std::io::Result<()> {
        if !self.are_wanted || memory.is_32_bit {
            return Ok(());
        }
        let table = |object: &LinkedObject| {
            let (table, count) = initialisers_of(memory, object)?;
            Some((object.bias, table, count))
        };
        let tables: Vec<(u64, u64, u64)> = objects.iter().filter_map(table).collect();
        let needed = tables.iter().map(|&(_, _, count)| count).fold(0u64, u64::saturating_add);
        if needed == 0 || !make_room(standing, memory, slots, needed)? {
            return Ok(());
        }
        for (bias, table, count) in tables {
            // Before it is relocated it holds distances from the bias, or nothing.
            if memory.word(table).is_some_and(|first| first >= bias && first != 0) {
                slots.turn(memory, (bias, table, count));
            } else {
                slots.waiting.push((bias, table, count));
            }
        }
        Ok(())
    }

    /// Takes what was written down since the last time; the process may be running. Of memory that a child borrows (`vfork`), it is the lender's.
    pub(super) fn collect(&mut self, memory: &Memory, slots: &mut Slots) {
        let process = memory.process;
        for area in &mut slots.areas {
            let Some(first) = area.collected.iter().position(|&collected| !collected) else { continue };
            let from = area.data_at(first as u64);
            let mut bytes = vec![0; (area.slots.len() - first) * DATA_SIZE as usize];
            if memory.read(from, &mut bytes).is_none() {
                continue;
            }
            let slots = area.slots.iter().zip(&mut area.collected).skip(first);
            for (data, (&(address, bias), collected)) in bytes.chunks_exact(DATA_SIZE as usize).zip(slots) {
                let counter = data.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
                if counter != 0 && !*collected {
                    *collected = true;
                    self.calls.push(InitialiserCall { process, address, bias, counter });
                }
            }
        }
    }

    /// What was collected. The two moments say how the processor's counter runs.
    pub(super) fn notes(self, began: TimeStamp, ended: TimeStamp) -> Vec<Note> {
        notes(self.calls, began, ended)
    }
}

/// Makes room for so many more slots, in the program. Says whether there is; why not is noted.
fn make_room(standing: &mut Standing<'_>, memory: &Memory, slots: &mut Slots, needed: u64) -> std::io::Result<bool> {
    let waiting: u64 = slots.waiting.iter().map(|&(_, _, count)| count).sum();
    let needed = needed.saturating_add(waiting);
    if slots.areas.iter().any(|area| area.free() >= needed) {
        return Ok(true);
    }
    if slots.are_refused {
        return Ok(false);
    }
    let reason = match standing.call_place(memory) {
        Ok(place) => {
            let capacity = needed.max(SLOTS);
            let size = capacity.saturating_mul(CODE_SIZE + DATA_SIZE).next_multiple_of(PAGE);
            // PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, no descriptor.
            let map = Argument { number: 9, number_32_bit: 192, arguments: [0, size, 7, 0x22, u64::MAX, 0] };
            let Some(result) = standing.call(place, &map)? else { return Ok(false) };
            if let Some(address) = u64::try_from(result).ok().filter(|&address| address != 0) {
                slots.areas.push(Area { address, capacity, slots: Vec::new(), collected: Vec::new() });
                return Ok(true);
            }
            // Some systems forbid it.
            format!("memory that is writable and executable is refused ({})", call_error(result))
        }
        Err(reason) => reason,
    };
    slots.are_refused = true;
    let what = format!("{reason}: single initialisers are not timed");
    standing.note_now(NoteKind::Obstacle(what));
    Ok(false)
}

/// One note for each process's calls, in their order.
fn notes(mut calls: Vec<InitialiserCall>, began: TimeStamp, ended: TimeStamp) -> Vec<Note> {
    calls.sort_by_key(|call| (call.process, call.counter));
    let of_process = |calls: &[InitialiserCall]| {
        let process = calls.first()?.process;
        let times: Vec<InitialiserTime> = calls
            .iter()
            .filter_map(|call| {
                let at = began.time_of(ended, call.counter)?;
                Some(InitialiserTime { address: call.address, at, bias: call.bias })
            })
            .collect();
        Some(Note { at: times.first()?.at, process, thread: process, what: NoteKind::Initialisers(times) })
    };
    calls.chunk_by(|one, other| one.process == other.process).filter_map(of_process).collect()
}
