//! Classifies relocated words: vtables, typeinfo, the GOT, arrays of initialisers, named tables of pointers.
//!
//! A word's class comes from its section, else from the name of the variable around it, else, in stripped files, from
//! the shape of the words around it. Classes inferred from shape are marked, and unknown words are counted.

mod accuracy;
mod regions;
mod rust_vtables;
mod shapes;
mod tally;
mod type_names;

use coldstart_elf::Vaddr;
use serde::Serialize;

use crate::names::{NameSource, Named, find};
use crate::object::Object;
use crate::slots::{Slot, Target};

use regions::Regions;
use shapes::Shapes;
use tally::{TableCounts, Tally};

pub use accuracy::{ShapeAccuracy, shape_accuracy};

/// The class of a relocated word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// A C++ or Rust vtable, or a VTT.
    Vtable,
    /// C++ run-time type information.
    Typeinfo,
    /// Addresses of functions that run at the start or the end.
    InitArray,
    /// The GOT, that of the PLT included.
    GlobalOffsetTable,
    /// A named variable that holds pointers.
    NamedTable,
    /// Unknown.
    Untold,
}

/// How a class was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToldBy {
    /// By the section or an entry of the dynamic table.
    Section,
    /// By the name of the variable.
    Name,
    /// Inferred from the shape that the Itanium C++ ABI gives it.
    Shape,
    /// Unknown.
    Nothing,
}

/// Words of one class, determined in one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnerCount {
    /// The class.
    pub owner: Owner,
    /// How it was determined.
    pub told_by: ToldBy,
    /// Number of relocated words.
    pub count: u64,
    /// Those with a symbol.
    pub symbolic: u64,
}

/// A named variable with relocated words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointerTable {
    /// Its name, demangled.
    pub name: String,
    /// Its mangled name.
    pub symbol: String,
    /// Its address.
    pub address: u64,
    /// Its size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Number of relocated words in it.
    pub count: u64,
}

/// The classes of an object's relocated words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owners {
    /// Counts by class, largest first.
    pub counts: Vec<OwnerCount>,
    /// The largest named tables of pointers, at most [`LARGEST`].
    pub largest_tables: Vec<PointerTable>,
    /// Number of named tables.
    pub named_tables: u64,
    /// Words of unknown class, by their targets.
    pub untold: Untold,
    /// The source of names.
    pub names_from: NameSource,
}

/// Words of unknown class.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Untold {
    /// Number of words.
    pub count: u64,
    /// Their share of all relocated words, from 0 to 1.
    pub share: f64,
    /// Those that point to code.
    pub to_code: u64,
    /// Those that point to read-only memory, such as text.
    pub to_read_only: u64,
    /// Those that point to memory that is or was writable.
    pub to_writable: u64,
}

/// Limit on the listed tables.
pub const LARGEST: usize = 20;

impl Owners {
    /// Words of a class, however determined.
    pub fn count_of(&self, owner: Owner) -> u64 {
        self.counts.iter().filter(|count| count.owner == owner).map(|count| count.count).sum()
    }

    /// Words with a class inferred from their shape.
    pub fn inferred(&self) -> u64 {
        self.counts.iter().filter(|count| count.told_by == ToldBy::Shape).map(|count| count.count).sum()
    }
}

/// Classifies each relocated word.
pub fn owners(object: &Object<'_>) -> Owners {
    let regions = Regions::of(object);
    let mut tally = Tally::default();
    let mut tables = TableCounts::default();
    tell_all(object, &regions, object.names.variables(), |slot, owner, told_by, variable| {
        tally.add(owner, told_by, matches!(slot.target, Target::Symbol(_)));
        match owner {
            Owner::NamedTable => tables.add(variable),
            Owner::Untold => tally.untold_to(object, &regions, slot.target),
            _ => {}
        }
    });
    tally.untold.count = tally.of(Owner::Untold);
    tally.untold.share = match object.slots.len() {
        0 => 0.0,
        all => tally.untold.count as f64 / all as f64,
    };
    let (largest_tables, named_tables) = tables.finish();
    Owners {
        counts: tally.counts(),
        largest_tables,
        named_tables,
        untold: tally.untold,
        names_from: object.names.source(),
    }
}

/// Calls `visit` with each slot in ascending order, its class, how that was determined, and its variable.
fn tell_all<'data>(
    object: &Object<'data>,
    regions: &Regions,
    variables: &[Named<'data>],
    mut visit: impl FnMut(Slot, Owner, ToldBy, Option<Named<'data>>),
) {
    let mut shapes = Shapes::new(object, regions);
    let mut variables = Variables { all: variables, last: None, none_until: 0 };
    let mut owned = regions.in_order();
    for (index, slot) in object.slots.iter().enumerate() {
        if let Some(owner) = owned.owner_at(slot.address) {
            visit(slot, owner, ToldBy::Section, None);
        } else if let Some(variable) = variables.around(slot.address).filter(|variable| !is_anonymous(variable.name)) {
            visit(slot, owner_by_name(variable.name), ToldBy::Name, Some(variable));
        } else if let Some(owner) = shapes.owner_of(index, slot) {
            visit(slot, owner, ToldBy::Shape, None);
        } else {
            visit(slot, Owner::Untold, ToldBy::Nothing, None);
        }
    }
}

/// Whether a name was generated by rustc or LLVM for an unnamed constant: `anon.` or `alloc_`, followed by a hash.
fn is_anonymous(name: &[u8]) -> bool {
    let behind = |prefix: &[u8]| name.strip_prefix(prefix).or_else(|| name.strip_prefix(b".L")?.strip_prefix(prefix));
    let hash = behind(b"anon.").or_else(|| behind(b"alloc_"));
    hash.is_some_and(|hash| hash.len() >= 32 && hash.iter().take(32).all(u8::is_ascii_hexdigit))
}

/// The class of a variable, by the prefixes of the Itanium C++ ABI (section 5.1.4) and of the Rust compiler.
fn owner_by_name(name: &[u8]) -> Owner {
    const VTABLES: [&[u8]; 4] = [b"_ZTV", b"_ZTT", b"_ZTC", b"vtable."];
    if VTABLES.iter().any(|prefix| name.starts_with(prefix)) {
        Owner::Vtable
    } else if name.starts_with(b"_ZTI") {
        Owner::Typeinfo
    } else {
        Owner::NamedTable
    }
}

/// Variables, for lookups in ascending order.
struct Variables<'all, 'data> {
    all: &'all [Named<'data>],
    last: Option<Named<'data>>,
    /// No variable from the last requested address up to here.
    none_until: u64,
}

impl<'data> Variables<'_, 'data> {
    fn around(&mut self, address: Vaddr) -> Option<Named<'data>> {
        if address.0 < self.none_until {
            return None;
        }
        let is_inside =
            |named: &Named<'_>| address.0.checked_sub(named.start.0).is_some_and(|distance| distance < named.size);
        if !self.last.as_ref().is_some_and(is_inside) {
            self.last = find(self.all, address);
            if self.last.is_none() {
                let next = self.all.partition_point(|named| named.start <= address);
                self.none_until = self.all.get(next).map_or(u64::MAX, |next| next.start.0);
            }
        }
        self.last
    }
}
