//! The functions of an object: an address, a size, and all names.

use std::collections::HashMap;

use coldstart_symbols::LinkerSymbol;

/// A function, with all of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of its first instruction, without load bias.
    pub address: u64,
    /// In bytes: the largest size that a name has.
    pub size: u64,
    /// Whether a symbol has the size; otherwise it is the distance to the next function.
    pub is_size_known: bool,
    /// Its names as the linker knows them, global ones first, each once. Several where the linker has merged functions with the
    /// same code, or the source has aliases.
    pub names: Vec<Vec<u8>>,
    /// Whether all names are local.
    pub is_local: bool,
}

impl Function {
    /// First address after it.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    /// Its size with padding up to the next function, in bytes.
    pub fn size_in_layout(&self, alignment: u64) -> u64 {
        self.size.checked_next_multiple_of(alignment).unwrap_or(self.size)
    }

    /// Whether it is the rarely used part of another function, split off by the compiler (GCC's `f.cold`, LLVM's `f.cold.1`).
    pub fn is_cold_part(&self) -> bool {
        let is_part = |name: &Vec<u8>| name.ends_with(b".cold") || name.windows(6).any(|part| part == b".cold.");
        !self.names.is_empty() && self.names.iter().all(is_part)
    }

    /// Whether another compiler, or another version of the source, may give another name to the same function: parts and clones
    /// are numbered, and ThinLTO adds a hash of the module.
    pub fn has_unstable_name(&self) -> bool {
        const MARKS: [&[u8]; 6] = [b".part.", b".isra.", b".constprop.", b".lto_priv.", b".llvm.", b".cold."];
        let is_unstable = |name: &Vec<u8>| MARKS.iter().any(|mark| name.windows(mark.len()).any(|part| part == *mark));
        !self.names.is_empty() && self.names.iter().all(is_unstable)
    }
}

/// All functions of an object, ascending by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTable {
    functions: Vec<Function>,
    /// How many addresses have a name, for names of more than one.
    repeated: HashMap<Vec<u8>, u32>,
}

impl FunctionTable {
    /// From symbols that are ascending by address.
    pub fn new<'a>(symbols: impl IntoIterator<Item = &'a LinkerSymbol>) -> Self {
        let symbols: Vec<&LinkerSymbol> = symbols.into_iter().collect();
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        for symbol in &symbols {
            let count = counts.entry(&symbol.name).or_default();
            *count = count.saturating_add(1);
        }
        let of_one_address = |symbols: &[&LinkerSymbol]| {
            let (locals, globals): (Vec<&LinkerSymbol>, Vec<_>) = symbols.iter().partition(|symbol| symbol.is_local);
            Some(Function {
                address: symbols.first()?.address,
                size: symbols.iter().map(|symbol| symbol.size).max()?,
                is_size_known: true,
                is_local: globals.is_empty(),
                // Global names first: they are unique.
                names: globals.iter().rev().chain(&locals).map(|symbol| symbol.name.clone()).collect(),
            })
        };
        let mut functions: Vec<Function> =
            symbols.chunk_by(|one, next| one.address == next.address).filter_map(of_one_address).collect();
        let repeated = counts.into_iter().filter(|(_, count)| *count > 1);
        let repeated = repeated.map(|(name, count)| (name.to_vec(), count)).collect();
        // Some assemblers give no size: up to the next function, but no further than anyone would write by hand.
        let starts: Vec<u64> = functions.iter().skip(1).map(|function| function.address).collect();
        for (function, next) in functions.iter_mut().zip(starts) {
            if function.size == 0 {
                function.is_size_known = false;
                function.size = next.saturating_sub(function.address).min(LONGEST_WITHOUT_SIZE);
            }
        }
        Self { functions, repeated }
    }

    /// All of them, ascending.
    pub fn all(&self) -> &[Function] {
        &self.functions
    }

    /// The index of the function that begins at an address.
    pub fn starting_at(&self, address: u64) -> Option<usize> {
        self.functions.binary_search_by_key(&address, |function| function.address).ok()
    }

    /// The index of the function that contains an address.
    pub fn containing(&self, address: u64) -> Option<usize> {
        let before = self.functions.partition_point(|function| function.address <= address).checked_sub(1)?;
        self.functions.get(before).filter(|function| address < function.end()).map(|_| before)
    }

    /// How many functions have this name.
    pub fn occurrences(&self, name: &[u8]) -> u32 {
        self.repeated.get(name).copied().unwrap_or(1)
    }

    /// The indices of functions by name.
    pub fn by_name(&self) -> HashMap<&[u8], Vec<usize>> {
        let mut by_name: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (index, function) in self.functions.iter().enumerate() {
            for name in &function.names {
                by_name.entry(name).or_default().push(index);
            }
        }
        by_name
    }
}

/// In bytes.
const LONGEST_WITHOUT_SIZE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn symbol(address: u64, size: u64, name: &str, is_local: bool) -> LinkerSymbol {
        LinkerSymbol { address, size, name: name.as_bytes().to_vec(), is_local, is_function: true }
    }

    #[test]
    fn merged_functions_keep_all_names_and_repeated_locals_are_counted() {
        let symbols = [
            symbol(0x10, 8, "init", true),
            symbol(0x20, 8, "alias", true),
            symbol(0x20, 16, "name", false),
            symbol(0x40, 8, "init", true),
            symbol(0x50, 0, "assembly", false),
            symbol(0x58, 8, "f.cold", true),
        ];
        let table = FunctionTable::new(&symbols);
        assert_eq!(table.all().len(), 5);
        let merged = &table.all()[table.containing(0x2f).unwrap()];
        assert_eq!((merged.size, merged.is_local), (16, false));
        assert_eq!(merged.names, [b"name".to_vec(), b"alias".to_vec()]);
        assert_eq!((table.occurrences(b"init"), table.occurrences(b"name")), (2, 1));
        assert_eq!((table.starting_at(0x28), table.containing(0x30), table.containing(0x52)), (None, None, Some(3)));
        assert!(table.all()[4].is_cold_part() && !merged.is_cold_part());
        assert_eq!(table.by_name()[b"init".as_slice()], [0, 2]);
    }

    #[test]
    fn numbered_names_are_unstable() {
        let is_unstable = |name: &str| FunctionTable::new(&[symbol(1, 1, name, true)]).all()[0].has_unstable_name();
        for name in ["f.part.0", "f.isra.0", "f.constprop.0.isra.1", "f.lto_priv.3", "f.llvm.123", "f.cold.1"] {
            assert!(is_unstable(name), "{name}");
        }
        assert!(!is_unstable("f") && !is_unstable("f.cold") && !is_unstable("_ZN3a.b1cE"));
    }
}
