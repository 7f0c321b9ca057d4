//! The ELF files of a program: those that the loader's rules give, and those that a recorded start used.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_elf::{ElfFile, FileType};
use coldstart_host::rights::AskedRights;
use coldstart_host::script_line::ScriptLine;
use coldstart_launch::find_program;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{open_regular, read_beginning};

use crate::error::AppError;
use crate::starting;

/// Enough for a `#!` line.
const BEGINNING: usize = 4096;
/// As many scripts may interpret one another (`exec_binprm` in `fs/exec.c`).
const MOST_SCRIPTS: usize = 5;
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The ELF files of a program.
#[derive(Clone, Debug, Default)]
pub struct ProgramFiles {
    /// The program as an ELF file: of a script, its interpreter.
    pub program: PathBuf,
    /// All files, without links in their paths, the program first.
    pub files: Vec<PathBuf>,
    /// Programs among them that gain rights at their start (set-user-ID, set-group-ID, file capabilities). In a view without root
    /// they do not gain them.
    pub privileged: Vec<PathBuf>,
}

/// The files of a program by path or name, and of the `seen` files of a recorded start, of which the ones that are not ELF do not
/// count. Programs that a wrapper starts are known by the recording only. A seen file that this process may not read is looked at
/// from outside: whether it gains rights.
///
/// # Errors
/// If there is no such program, or its loader is missing or has the wrong architecture.
pub fn closure_of(program: &OsStr, seen: &[PathBuf]) -> Result<ProgramFiles, AppError> {
    let found = find_program(program, std::env::var_os("PATH").as_deref(), None)?;
    let program = interpreted_by(found)?;
    let mut known = HashSet::new();
    let mut files = ProgramFiles { program: program.clone(), ..ProgramFiles::default() };
    files.add(&mut known, program.clone());
    for object in starting::loads(&program)?.objects {
        files.add(&mut known, object.path);
    }
    for path in seen {
        if !is_elf(path) {
            files.add_unreadable(&mut known, path);
            continue;
        }
        let is_new = files.add(&mut known, path.clone());
        // What a program of the recording would load is most likely among the seen files; the rest may be opened another time.
        if is_new
            && has_interpreter(path)
            && let Ok(closure) = starting::loads(path)
        {
            for object in closure.objects {
                files.add(&mut known, object.path);
            }
        }
    }
    Ok(files)
}

impl ProgramFiles {
    /// Adds a file unless it is known by its real path.
    fn add(&mut self, known: &mut HashSet<PathBuf>, path: PathBuf) -> bool {
        let path = path.canonicalize().unwrap_or(path);
        if !known.insert(path.clone()) {
            return false;
        }
        let is_program = path == self.program || is_program(&path);
        if is_program && AskedRights::of(&path).is_ok_and(AskedRights::any) {
            self.privileged.push(path.clone());
        }
        self.files.push(path);
        true
    }

    /// Adds a program that may be executed and not read, as `sudo` is on some systems (mode 4711): only to those that gain rights.
    fn add_unreadable(&mut self, known: &mut HashSet<PathBuf>, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_hidden = || open_regular(&path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        if AskedRights::of(&path).is_ok_and(AskedRights::any) && is_hidden() && known.insert(path.clone()) {
            self.privileged.push(path);
        }
    }
}

/// The program that the kernel executes in the end.
fn interpreted_by(mut program: PathBuf) -> Result<PathBuf, AppError> {
    for _ in 0..MOST_SCRIPTS {
        program = program.canonicalize().unwrap_or(program);
        let Some(line) = read_beginning(&program, BEGINNING).ok().and_then(|bytes| ScriptLine::parse(&bytes)) else {
            break;
        };
        program = match started_by_env(&line) {
            Some(name) => find_program(&name, std::env::var_os("PATH").as_deref(), None)?,
            None => line.interpreter,
        };
    }
    Ok(program)
}

/// The program in a line such as `#!/usr/bin/env -S python3 -u`.
fn started_by_env(line: &ScriptLine) -> Option<std::ffi::OsString> {
    if line.interpreter.file_name() != Some(OsStr::new("env")) {
        return None;
    }
    let argument = line.argument.as_ref()?.as_bytes();
    let mut words = argument.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let word = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    Some(OsStr::from_bytes(word).to_owned())
}

fn is_elf(path: &Path) -> bool {
    read_beginning(path, ELF_MAGIC.len()).is_ok_and(|bytes| bytes == ELF_MAGIC)
}

fn has_interpreter(path: &Path) -> bool {
    of_elf(path, |file| file.interpreter().is_some())
}

/// Also a static program, which has no interpreter.
fn is_program(path: &Path) -> bool {
    of_elf(path, |file| {
        let is_pie = || file.dynamic().ok().flatten().is_some_and(|dynamic| dynamic.is_pie());
        file.interpreter().is_some() || file.header().file_type == FileType::Executable || is_pie()
    })
}

/// The answer for an ELF file; false for another one.
fn of_elf(path: &Path, question: impl FnOnce(&ElfFile<'_>) -> bool) -> bool {
    let view = open_regular(path).ok().and_then(|file| FileView::map(file).ok());
    view.is_some_and(|view| ElfFile::parse(view.bytes()).is_ok_and(|file| question(&file)))
}
