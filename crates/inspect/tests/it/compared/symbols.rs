//! Dynamic symbols: every one, written as `readelf` writes it.

use coldstart_elf::{Symbol, SymbolBinding, SymbolKind, SymbolVisibility, VersionTable};
use coldstart_inspect::Object;

use super::Differences;
use crate::printed::Printed;

pub(crate) fn compare(
    object: &Object<'_>,
    versions: Option<&VersionTable<'_>>,
    printed: &Printed,
    differences: &mut Differences,
) {
    let symbols = &object.dynamic_symbols;
    differences.hold("number of dynamic symbols", symbols.len() as u64, printed.symbol_count);
    let digits = object.file.encoding().word_size() as usize * 2;
    for (index, (symbol, line)) in symbols.iter().zip(&printed.symbols).enumerate() {
        let name = name(object, versions, index as u32, &symbol);
        let ours = format!(
            "{index}: {:0digits$x} {} {} {} {} {} {name}",
            symbol.value.0,
            symbol.size,
            kind(symbol.kind),
            binding(symbol.binding, object.file.header().os_abi),
            visibility(symbol.visibility),
            section(symbol.section, object.file.sections().len()),
        );
        let printed = normal(line);
        if ours.trim_end() != printed {
            differences.0.push(format!("symbol {:?}, but readelf says {:?}", ours.trim_end(), printed));
            break;
        }
    }
}

/// A printed line with single blanks, decimal sizes, and without the machine's own flags.
fn normal(line: &str) -> String {
    let line = line.replace("<OS specific>: ", "OS-").replace("<processor specific>: ", "CPU-");
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    // `st_other` has more than the visibility: `[VARIANT_PCS]`, `[MIPS PLT]`, `[<other>: 88]`.
    while words.get(6).is_some_and(|word| word.starts_with('[')) {
        while !words.remove(6).ends_with(']') {}
    }
    if let Some(size) = words.get_mut(2)
        && let Some(digits) = size.strip_prefix("0x")
    {
        *size = u64::from_str_radix(digits, 16).unwrap().to_string();
    }
    words.join(" ")
}

fn kind(kind: SymbolKind) -> String {
    match kind {
        SymbolKind::None => "NOTYPE".to_owned(),
        SymbolKind::Object => "OBJECT".to_owned(),
        SymbolKind::Function => "FUNC".to_owned(),
        SymbolKind::Section => "SECTION".to_owned(),
        SymbolKind::File => "FILE".to_owned(),
        SymbolKind::Common => "COMMON".to_owned(),
        SymbolKind::ThreadLocal => "TLS".to_owned(),
        SymbolKind::IndirectFunction => "IFUNC".to_owned(),
        SymbolKind::Other(other) => format!("<unknown>: {other}"),
    }
}

/// `EI_OSABI` of GNU systems.
const GNU: u8 = 3;

fn binding(binding: SymbolBinding, os_abi: u8) -> String {
    match binding {
        // The loader takes 10 for a unique symbol in every file (glibc `elf/dl-lookup.c`); readelf only where the header
        // names the GNU system, which some linkers forget.
        SymbolBinding::Unique if os_abi != GNU => "OS-10".to_owned(),
        SymbolBinding::Local => "LOCAL".to_owned(),
        SymbolBinding::Global => "GLOBAL".to_owned(),
        SymbolBinding::Weak => "WEAK".to_owned(),
        SymbolBinding::Unique => "UNIQUE".to_owned(),
        SymbolBinding::Other(other) => format!("<unknown>: {other}"),
    }
}

fn visibility(visibility: SymbolVisibility) -> &'static str {
    match visibility {
        SymbolVisibility::Default => "DEFAULT",
        SymbolVisibility::Internal => "INTERNAL",
        SymbolVisibility::Hidden => "HIDDEN",
        SymbolVisibility::Protected => "PROTECTED",
    }
}

/// `SHN_ABS`.
const ABSOLUTE: u16 = 0xfff1;

fn section(section: u16, count: usize) -> String {
    match section {
        0 => "UND".to_owned(),
        ABSOLUTE => "ABS".to_owned(),
        0xfff2 => "COM".to_owned(),
        // Rust's compiler removes the section of its metadata and leaves the symbol.
        other if usize::from(other) >= count => format!("bad section index[{other:3}]"),
        other => other.to_string(),
    }
}

/// The name with its version: `name@VERSION (NUMBER)` where another object defines it.
fn name(object: &Object<'_>, versions: Option<&VersionTable<'_>>, index: u32, symbol: &Symbol) -> String {
    let mut name = String::from_utf8_lossy(object.dynamic_symbols.name(symbol)).into_owned();
    if name.is_empty() && symbol.kind == SymbolKind::Section {
        // Sections' symbols have the sections' names.
        let section = object.file.sections().get(usize::from(symbol.section));
        name = section.map(|section| String::from_utf8_lossy(section.name).into_owned()).unwrap_or_default();
    }
    let Some(version) = versions.and_then(|versions| versions.version_of(index)) else { return name };
    if version.index <= 1 {
        return name;
    }
    let Some(known) = versions.and_then(|versions| versions.name_of(version.index)) else { return name };
    let text = String::from_utf8_lossy(known.name);
    if symbol.section == ABSOLUTE && name == text {
        // The linker's symbol that stands for the version itself.
        return name;
    }
    match known.file {
        Some(_) => format!("{name}@{text} ({})", version.index),
        None if version.is_hidden => format!("{name}@{text}"),
        None => format!("{name}@@{text}"),
    }
}
