//! Starting the program to be traced.
//!
//! With the same program, arguments, streams and process group as crate `launch`; that crate's own start cannot
//! be used, because it waits for the program, and a second waiter would take the tracer's stops.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_launch::{CommandLine, Input, LaunchError, Output, command_of};
use coldstart_sys::named_file::read_beginning;
use rustix::io::Errno;

use super::options::CountOptions;

/// The command and the file found for it.
pub(super) fn command(command_line: &CommandLine, options: &CountOptions) -> Result<(Command, PathBuf), LaunchError> {
    let directory = options.working_directory.as_deref();
    let (mut command, program) = command_of(command_line, &options.environment, directory)?;
    if let Some(directory) = directory {
        std::fs::read_dir(directory)
            .map_err(|source| LaunchError::WorkingDirectory { path: directory.to_owned(), source })?;
    }
    if !(options.input == Input::Inherit && io::stdin().is_terminal()) {
        // Ctrl-C at the terminal then reaches only us, and we end the tree in order.
        command.process_group(0);
    }
    let stream = |stream, path: &Path, file: io::Result<File>| {
        file.map_err(|source| LaunchError::Redirection { stream, path: path.to_owned(), source })
    };
    match &options.input {
        Input::Null => command.stdin(Stdio::null()),
        Input::Inherit => command.stdin(Stdio::inherit()),
        Input::File(_) => command.stdin(options.input.open()?.map_or_else(Stdio::null, Stdio::from)),
    };
    match &options.output {
        Output::Null => command.stdout(Stdio::null()).stderr(Stdio::null()),
        Output::Inherit => command.stdout(Stdio::inherit()).stderr(Stdio::inherit()),
        Output::File(path) => {
            stream("output", path, File::create(path))?;
            let file = stream("output", path, File::options().append(true).open(path))?;
            let copy = stream("output", path, file.try_clone())?;
            command.stdout(copy).stderr(file)
        }
    };
    Ok((command, program))
}

/// Why the kernel refused to execute the file.
pub(super) fn refusal(path: &Path, errno: Errno) -> LaunchError {
    let path = path.to_owned();
    if errno != Errno::NOEXEC {
        return LaunchError::Spawn { path, source: errno.into() };
    }
    let head = read_beginning(&path, 4096).unwrap_or_default();
    let is_text = !head.is_empty() && !head.contains(&0);
    LaunchError::UnknownFormat { path, is_text }
}
