//! The fixtures and how each is built: a row per behaviour and way of linking it.

use super::toolchain::Linker;

/// How the program comes to its library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// It is linked with it.
    Linked,
    /// It opens it by its name.
    Opened,
    /// Its user names it in `LD_PRELOAD`.
    Preloaded,
}

/// A behaviour that packing must not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The folder of its sources in `fixtures/`.
    pub(crate) folder: &'static str,
    /// Whether the sources are C++.
    pub(crate) cxx: bool,
    /// Options of the compiler for all its sources.
    pub(crate) compile: &'static [&'static str],
    /// Options of the linker for all that is packed.
    pub(crate) link: &'static [&'static str],
    /// Options of the linker for the library only. `{folder}` stands for the folder of the sources.
    pub(crate) link_library: &'static [&'static str],
    pub(crate) meeting: Meeting,
    /// Linkers that do not know its options.
    pub(crate) not_by: &'static [Linker],
    /// Whether library and program also make sense as one object.
    pub(crate) as_program: bool,
    /// Variables that a further run has.
    pub(crate) also_with: Option<(&'static str, &'static str)>,
    /// Whether it goes through all treatments rather than the usual ones.
    pub(crate) all_treatments: bool,
    /// Whether it is also built for other machines.
    pub(crate) other_machines: bool,
}

impl Feature {
    const fn new(name: &'static str, folder: &'static str) -> Self {
        Self {
            name,
            folder,
            cxx: false,
            compile: &[],
            link: &[],
            link_library: &[],
            meeting: Meeting::Linked,
            not_by: &[],
            as_program: true,
            also_with: None,
            all_treatments: false,
            other_machines: false,
        }
    }

    const fn linked_with(self, link: &'static [&'static str]) -> Self {
        Self { link, ..self }
    }

    const fn everywhere(self) -> Self {
        Self { other_machines: true, ..self }
    }

    const fn treated(self) -> Self {
        Self { all_treatments: true, ..self }
    }

    const fn library_only(self, meeting: Meeting) -> Self {
        Self { meeting, as_program: false, ..self }
    }
}

/// All of them. What depends on lazy binding says so, as the compiler's default differs between distributions.
pub(crate) const FEATURES: &[Feature] = &[
    Feature::new("pointers", "many_pointers").linked_with(&["-Wl,-z,now"]).treated().everywhere(),
    Feature::new("pointers, -z lazy", "many_pointers").linked_with(&["-Wl,-z,lazy"]).everywhere(),
    Feature { not_by: &[Linker::Gold], ..Feature::new("one segment", "many_pointers") }
        .linked_with(&["-Wl,-z,now,-z,noseparate-code"]),
    Feature { not_by: &[Linker::Gold], ..Feature::new("code apart", "many_pointers") }
        .linked_with(&["-Wl,-z,now,-z,separate-code"]),
    Feature::new("pages of 64 KiB", "many_pointers").linked_with(&["-Wl,-z,now,-z,max-page-size=65536"]),
    Feature::new("unsorted relocations", "many_pointers").linked_with(&["-Wl,-z,now,-z,nocombreloc"]),
    Feature { cxx: true, ..Feature::new("exceptions", "cxx_exceptions").linked_with(&["-Wl,-z,now"]).treated() },
    Feature { compile: &["-pthread"], ..Feature::new("thread-local", "tls_models") }
        .linked_with(&["-Wl,-z,now", "-pthread"])
        .treated()
        .everywhere(),
    Feature { compile: &["-pthread", "-mtls-dialect=gnu2"], ..Feature::new("thread-local, described", "tls_models") }
        .linked_with(&["-Wl,-z,now", "-pthread"]),
    Feature::new("chosen functions", "ifunc").linked_with(&["-Wl,-z,now"]).everywhere(),
    Feature::new("copies", "copy_relocation").linked_with(&["-Wl,-z,now"]).everywhere(),
    Feature::new("call from constructor", "constructors_call_back").linked_with(&["-Wl,-z,now"]),
    Feature::new("order of initialisers", "init_order").linked_with(&["-Wl,-z,now"]),
    Feature {
        link_library: &["-Wl,--version-script={folder}/library.map"],
        ..Feature::new("versions", "versioned_symbols")
            .linked_with(&["-Wl,-z,now"])
            .library_only(Meeting::Linked)
            .treated()
    },
    Feature { also_with: Some(("LD_BIND_NOW", "1")), ..Feature::new("lazy binding", "binding") }
        .linked_with(&["-Wl,-z,lazy"]),
    Feature::new("binding at once", "binding").linked_with(&["-Wl,-z,now,-z,relro"]),
    Feature::new("opened 1000 times", "dlopen_many").linked_with(&["-Wl,-z,now"]).library_only(Meeting::Opened),
    Feature::new("preloaded", "interposition").linked_with(&["-Wl,-z,now"]).library_only(Meeting::Preloaded),
    Feature::new("odd addresses", "odd_addresses").linked_with(&["-Wl,-z,now"]),
    Feature::new("self-inspection", "self_inspection").linked_with(&["-Wl,-z,now"]).everywhere(),
    Feature::new("visibility", "visibility").linked_with(&["-Wl,-z,now"]),
    Feature::new("hashes: sysv", "exports").linked_with(&["-Wl,-z,now,--hash-style=sysv"]),
    Feature::new("hashes: gnu", "exports").linked_with(&["-Wl,-z,now,--hash-style=gnu"]),
    Feature::new("hashes: both", "exports").linked_with(&["-Wl,-z,now,--hash-style=both"]),
    Feature {
        compile: &["-fno-stack-protector", "-fno-builtin"],
        link_library: &["-nostdlib"],
        ..Feature::new("no C library", "no_libc").linked_with(&["-Wl,-z,now"]).library_only(Meeting::Linked)
    },
];
