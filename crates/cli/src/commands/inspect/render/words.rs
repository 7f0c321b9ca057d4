//! Text for the enumerations of an inspection.

use coldstart_inspect::layout::{Binding, ExistingPacking, PrelinkUse, Stack};
use coldstart_inspect::{Certainty, Fix, InitialiserKind, NameSource, ObjectKind, Owner, Saving, ToldBy, Use};
use coldstart_view::space::SpaceUse;

use super::text::{counted, size};

/// What kind of object it is.
pub(super) fn kind(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::SharedObject => "shared library",
        ObjectKind::PositionIndependentProgram => "position-independent program",
        ObjectKind::FixedProgram => "program at fixed addresses",
        ObjectKind::StaticProgram => "static program at fixed addresses",
        ObjectKind::StaticPositionIndependentProgram => "static position-independent program",
    }
}

/// The source of symbol names.
pub(super) fn names_from(source: NameSource) -> &'static str {
    match source {
        NameSource::SymbolTable => "names come from its own symbol table",
        NameSource::DebugFile => "stripped; names come from its debug file",
        NameSource::MiniDebugInfo => "stripped; names come from its .gnu_debugdata",
        NameSource::DynamicSymbols => "stripped; only exported symbols have names",
    }
}

/// The use of bytes.
pub(super) fn purpose(purpose: Use) -> SpaceUse {
    match purpose {
        Use::Code => SpaceUse::Code,
        Use::ReadOnlyData => SpaceUse::Constants,
        Use::RelocatedConstants => SpaceUse::RelocatedConstants,
        Use::Data => SpaceUse::Variables,
        Use::Relocations => SpaceUse::Relocations,
        Use::DynamicSymbols => SpaceUse::DynamicSymbols,
        Use::Unwind => SpaceUse::Unwind,
        Use::NotLoaded => SpaceUse::NotLoaded,
        Use::Administration => SpaceUse::Notes,
        Use::Headers => SpaceUse::Headers,
        Use::Padding => SpaceUse::Padding,
    }
}

/// The certainty of a finding's figures.
pub(super) fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Counted => "counted",
        Certainty::Followed => "followed",
        Certainty::Modelled => "modelled",
        Certainty::UpperBound => "at most",
    }
}

/// What relocated words belong to.
pub(super) fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Vtable => "vtables",
        Owner::Typeinfo => "typeinfo",
        Owner::InitArray => "initialiser arrays",
        Owner::GlobalOffsetTable => "GOT",
        Owner::NamedTable => "named tables",
        Owner::Untold => "unknown",
    }
}

/// How an owner was determined.
pub(super) fn told_by(told_by: ToldBy) -> &'static str {
    match told_by {
        ToldBy::Section => "section",
        ToldBy::Name => "name",
        ToldBy::Shape => "inferred from shape",
        ToldBy::Nothing => "-",
    }
}

/// How an initialiser comes to run.
pub(super) fn initialiser(kind: InitialiserKind) -> &'static str {
    match kind {
        InitialiserKind::PreinitArray => "preinit array",
        InitialiserKind::Init => "DT_INIT",
        InitialiserKind::Ctors => ".ctors",
        InitialiserKind::InitArray => "init array",
    }
}

/// When symbols of the PLT are looked up.
pub(super) fn binding(binding: Binding) -> &'static str {
    match binding {
        Binding::Now => "all symbols are looked up at the start",
        Binding::Lazy => "functions are looked up at their first call",
    }
}

/// How relocations are already packed.
pub(super) fn packing(packing: ExistingPacking) -> &'static str {
    match packing {
        ExistingPacking::Relr => "RELR (DT_RELR)",
        ExistingPacking::AndroidRelr => "RELR under Android's numbers",
        ExistingPacking::AndroidPacked => "Android's own format (APS2)",
        ExistingPacking::Elfhack => "Firefox's elfhack: code in the file applies it",
        ExistingPacking::Relrhack => "Firefox's relrhack: RELR that code in the file applies",
    }
}

/// Whether the stack is executable, if unusual.
pub(super) fn stack(stack: Stack) -> Option<&'static str> {
    match stack {
        Stack::Executable => Some("it requests an executable stack"),
        Stack::Unmarked => Some("no PT_GNU_STACK, so the stack is executable on some architectures"),
        Stack::NotExecutable => None,
    }
}

/// Which loaders use prelink's data.
pub(super) fn prelink_use(used_by: PrelinkUse) -> &'static str {
    match used_by {
        PrelinkUse::Nobody => "no loader uses it",
        PrelinkUse::GlibcUpTo235 => "only glibc up to 2.35 uses it",
    }
}

/// The savings of a fix, most important first; empty if unknown.
pub(super) fn saving(saves: &Saving) -> String {
    let part = |count: u64, noun: &str| (count > 0).then(|| counted(count, noun));
    let pages =
        |count: u64, before: &str, behind: &str| (count > 0).then(|| counted(count, &format!("{before}page")) + behind);
    let bytes = (saves.file_bytes > 0).then(|| format!("{} of file", size(saves.file_bytes)));
    let parts = [
        part(saves.seeks, "seek"),
        bytes,
        pages(saves.read_pages, "", " read"),
        pages(saves.private_pages, "private ", ""),
        part(saves.lookups, "lookup"),
        part(saves.probes, "failed probe"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What to do.
pub(super) fn fix(fix: &Fix) -> String {
    match fix {
        Fix::Verb(name) => format!("`coldstart {name}`"),
        Fix::Linker(flags) => format!("link with {}", linker_flags(flags)),
        Fix::Compiler(flags) => format!("compile with {flags}"),
        Fix::Source(change) => (*change).to_owned(),
    }
}

/// The fix in short form: its first alternative, without the name of the tool.
pub(super) fn short_fix(fix: &Fix) -> String {
    let text = match fix {
        Fix::Verb(_) => self::fix(fix),
        Fix::Linker(flags) => linker_flags(flags),
        Fix::Compiler(text) | Fix::Source(text) => (*text).to_owned(),
    };
    let end = [", or ", ", which "].iter().filter_map(|start| text.find(start)).min();
    end.and_then(|end| text.get(..end)).map_or(text.clone(), str::to_owned)
}

/// Options for the linker as they are given to the compiler that calls it: `-z text` is `-Wl,-z,text`.
fn linker_flags(flags: &str) -> String {
    let mut words = Vec::new();
    let mut rest = flags.split(' ');
    while let Some(word) = rest.next() {
        let option = match word {
            "-z" => format!("-z,{}", rest.next().unwrap_or_default()),
            _ => word.to_owned(),
        };
        if !option.starts_with('-') {
            words.push(option);
            continue;
        }
        let bare = option.trim_end_matches(',');
        let behind = option.get(bare.len()..).unwrap_or_default();
        words.push(format!("-Wl,{bare}{behind}"));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::text::plain;
    use super::*;

    #[test]
    fn flags_of_the_linker_pass_through_the_compiler() {
        assert_eq!(linker_flags("-z pack-relative-relocs"), "-Wl,-z,pack-relative-relocs");
        assert_eq!(
            linker_flags("-Bsymbolic-functions, or -Bsymbolic-non-weak-functions of lld"),
            "-Wl,-Bsymbolic-functions, or -Wl,-Bsymbolic-non-weak-functions of lld"
        );
        assert_eq!(
            linker_flags("-z noseparate-code, or a smaller -z max-page-size"),
            "-Wl,-z,noseparate-code, or a smaller -Wl,-z,max-page-size"
        );
        assert_eq!(linker_flags("a linker script"), "a linker script");
    }

    /// The findings name verbs as text, for they stand in a crate below this one.
    #[test]
    fn only_verbs_that_there_are_are_recommended() {
        let findings = concat!(env!("CARGO_MANIFEST_DIR"), "/../inspect/src");
        let output = std::process::Command::new("grep").args(["-rhoE", r#"Fix::Verb\("[^"]+""#, findings]).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let verbs: std::collections::BTreeSet<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert!(verbs.contains("pack"), "{verbs:?}");
        for verb in verbs {
            assert!(
                <crate::args::Cli as clap::CommandFactory>::command().find_subcommand(verb).is_some(),
                "there is no verb `{verb}`"
            );
        }
    }

    #[test]
    fn a_fix_is_a_command_or_flags() {
        assert_eq!(fix(&Fix::Verb("prefetch")), "`coldstart prefetch`");
        assert_eq!(short_fix(&Fix::Compiler("-fPIC, or something else")), "-fPIC");
    }

    #[test]
    fn savings_are_listed_and_nothing_is_nothing() {
        assert_eq!(saving(&Saving::default()), "");
        let saves = Saving { file_bytes: 9_000_000, read_pages: 1, lookups: 2_000, ..Saving::default() };
        assert_eq!(plain(&saving(&saves)), "9.0 MB of file, 1 page read, 2 000 lookups");
    }
}
