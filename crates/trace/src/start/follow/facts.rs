//! Facts from files: the address of a loader's debugger hook, and of a program's `main`.
//!
//! Known files are read before the launch, because reading them during a cold start would bring pages into the cache for the program.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_elf::{ElfFile, FileType, Symbol, SymbolLookup, Vaddr};
use coldstart_host::process::ProcessFiles;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Of one file; addresses are without load bias.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// `_dl_debug_state`.
    pub(super) brk: Option<u64>,
    /// `_r_debug`.
    pub(super) debug: Option<u64>,
    /// `__libc_start_main`.
    pub(super) libc_start: Option<u64>,
    /// `e_entry`.
    pub(super) entry: u64,
    /// `main`, where the code at the entry point passes it to the C library.
    pub(super) main: Option<u64>,
    /// Whether addresses are offsets from a load bias.
    pub(super) is_relocated: bool,
    /// `PT_INTERP`.
    pub(super) interpreter: Option<PathBuf>,
}

/// Of all files that were looked at.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct FileFacts {
    known: HashMap<PathBuf, Facts>,
    mounts: Option<Arc<PrivateMounts>>,
}

impl FileFacts {
    /// For a start in a private view.
    pub(in super::super) fn inside(mounts: Option<Arc<PrivateMounts>>) -> Self {
        Self { known: HashMap::new(), mounts }
    }

    /// Looks at a program and its loader.
    pub(in super::super) fn learn(&mut self, program: &Path) {
        if let Some(interpreter) = self.of(program).interpreter.clone() {
            // A process's own paths have no links in them.
            let interpreter = std::fs::canonicalize(&interpreter).unwrap_or(interpreter);
            self.of(&interpreter);
        }
    }

    /// Of a file by the path that a process sees it at. In a file system of its own, as snaps, flatpaks and containers have one, that
    /// name may mean another file than it does here.
    pub(super) fn seen_by(&mut self, process: u32, path: &Path) -> Facts {
        let mut inside = ProcessFiles::of(process).at("root").into_os_string();
        inside.push(path);
        let number = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        match number(Path::new(&inside)) {
            Some(there) if number(outside(self.mounts.as_deref(), path)) != Some(there) => {
                look(Path::new(&inside)).unwrap_or_default()
            }
            _ => self.of(path).clone(),
        }
    }

    /// Of a file by its real path.
    fn of(&mut self, path: &Path) -> &Facts {
        let place = outside(self.mounts.as_deref(), path);
        self.known.entry(path.to_path_buf()).or_insert_with(|| look(place).unwrap_or_default())
    }
}

fn look(path: &Path) -> Option<Facts> {
    let view = FileView::map(open_regular(path).ok()?).ok()?;
    let file = ElfFile::parse(view.bytes()).ok()?;
    let header = file.header();
    let interpreter = file.interpreter().map(|bytes| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        PathBuf::from(OsStr::from_bytes(bytes.get(..end).unwrap_or_default()))
    });
    Some(Facts {
        brk: symbol(&file, b"_dl_debug_state"),
        debug: symbol(&file, b"_r_debug"),
        libc_start: symbol(&file, b"__libc_start_main"),
        entry: header.entry.0,
        main: main_passed_at(&file, header.entry.0),
        is_relocated: header.file_type == FileType::Dynamic,
        interpreter,
    })
}

/// A defined symbol's value, by the hash table: few pages are looked at.
fn symbol(file: &ElfFile<'_>, name: &[u8]) -> Option<u64> {
    let dynamic = file.dynamic().ok()??;
    let found = SymbolLookup::parse(file, &dynamic).ok()??.find(name, Symbol::is_defined);
    found.map(|(_, symbol)| symbol.value.0)
}

/// How much of the entry code is looked at, in bytes.
const ENTRY_CODE: usize = 96;

/// The first argument of the first call in the entry code: `main`, in programs that begin with the C library's `_start` (glibc's
/// `sysdeps/x86_64/start.S`).
fn main_passed_at(file: &ElfFile<'_>, entry: u64) -> Option<u64> {
    if file.header().encoding.machine != 62 || file.header().encoding.class != coldstart_elf::Class::Elf64 {
        return None;
    }
    let code = file.memory_from(Vaddr(entry))?;
    let mut decoder = Decoder::with_ip(64, code.get(..ENTRY_CODE.min(code.len()))?, entry, DecoderOptions::NONE);
    let mut first_argument = None;
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::INVALID | Mnemonic::Jmp | Mnemonic::Ret => return None,
            // glibc's calls through the table of addresses; a direct call is another C library's own start.
            Mnemonic::Call => return first_argument.filter(|&main| is_code(file, main)),
            Mnemonic::Lea if instruction.op0_register() == Register::RDI => {
                first_argument = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
            }
            Mnemonic::Mov if matches!(instruction.op0_register(), Register::RDI | Register::EDI) => {
                first_argument = match (instruction.code(), instruction.op1_kind()) {
                    (Code::Mov_rm64_imm32, _) | (_, OpKind::Immediate32 | OpKind::Immediate64) => {
                        Some(instruction.immediate(1))
                    }
                    _ => None,
                };
            }
            _ => {}
        }
    }
    None
}

fn is_code(file: &ElfFile<'_>, address: u64) -> bool {
    file.segment_at(Vaddr(address)).is_some_and(coldstart_elf::Segment::is_executable)
}
