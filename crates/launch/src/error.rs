//! Why a launch could not be carried out. A program that starts and then fails is a result, not an error.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use coldstart_profile::shell_word;
use thiserror::Error;

use crate::readiness::DisplayError;

/// Why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// A bare name is in no directory of `PATH`, or a path does not exist.
    #[error("cannot find the program `{}`{}", .program.display(), searched_list(.searched))]
    NotFound {
        /// As given.
        program: OsString,
        /// The directories of `PATH` that were searched; empty when a path was given.
        searched: Vec<PathBuf>,
    },
    /// The file may not be executed.
    #[error("cannot execute `{}`: {}", .path.display(), if *.no_exec_mount { "its file system is mounted noexec, or a directory above it may not be entered" } else { "it has no execute permission" })]
    NotExecutable {
        /// The file found.
        path: PathBuf,
        /// The mode bits allow execution, so something above the file forbids it.
        no_exec_mount: bool,
    },
    /// The program's path is a directory.
    #[error("cannot execute `{}`: it is a directory", .path.display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file exists; its interpreter does not.
    #[error("cannot execute `{}`: its interpreter `{}` cannot be executed", .path.display(), .interpreter.display())]
    BadInterpreter {
        /// The program.
        path: PathBuf,
        /// From its `#!` line or its PT_INTERP segment.
        interpreter: PathBuf,
    },
    /// The kernel does not support the file's format (`ENOEXEC`).
    #[error("cannot execute `{}`: {}", .path.display(), if *.is_text { "it is text without a #! line" } else { "this machine does not support its format" })]
    UnknownFormat {
        /// The program.
        path: PathBuf,
        /// It looks like a script.
        is_text: bool,
    },
    /// Any other error of the kernel.
    #[error("cannot start `{}`", .path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The requested working directory cannot be entered.
    #[error("cannot use `{}` as the working directory", .path.display())]
    WorkingDirectory {
        /// As given.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A file for the program's standard streams cannot be opened.
    #[error("cannot open `{}` for the program's {stream}", .path.display())]
    Redirection {
        /// `input` or `output`.
        stream: &'static str,
        /// As given.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A server accepts connections at the port before the program starts, so readiness could not be detected.
    #[error("port {} already accepts connections ({address}) before the program is started", .address.port())]
    PortInUse {
        /// Where the connection succeeded.
        address: SocketAddr,
    },
    /// The status of the file whose appearance means readiness is unavailable.
    #[error("cannot check whether `{}` exists", .path.display())]
    FileNotVisible {
        /// The resolved path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The host of the readiness URL cannot be resolved.
    #[error("cannot resolve `{host}`")]
    HostUnknown {
        /// As in the URL.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// No directory accepts the notification socket.
    #[error("cannot create a socket for the program's notification in {}", .directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(" or "))]
    NotifySocket {
        /// The directories tried.
        directories: Vec<PathBuf>,
        /// The last error of the kernel.
        source: io::Error,
    },
    /// The X display cannot be watched for the program's window.
    #[error(transparent)]
    Display(#[from] DisplayError),
    /// No argument passes the readiness page's address to the program.
    #[error("no argument of `{}` contains {{ready_url}}, the address of the readiness page", .program.display())]
    NoPageArgument {
        /// As given.
        program: OsString,
    },
    /// A signal interrupted us. All launched processes have been ended.
    #[error("interrupted by signal {signal}")]
    Interrupted {
        /// Its number: 2 for Ctrl-C.
        signal: i32,
    },
    /// Processes of the launch survive SIGKILL.
    #[error("cannot end the program's processes {processes:?}: still running {seconds} s after SIGKILL")]
    NotEnded {
        /// Their PIDs.
        processes: Vec<u32>,
        /// How long we waited.
        seconds: u64,
    },
    /// A system call required for the launch failed.
    #[error("cannot {what}")]
    System {
        /// The action, as an infinitive.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl LaunchError {
    /// A thread could not be started.
    pub fn no_thread(source: io::Error) -> Self {
        Self::System { what: "start a thread", source }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { searched, .. } if searched.is_empty() => "check the path for a spelling mistake".into(),
            Self::NotFound { .. } => "give the path of the program, or add its directory to PATH".into(),
            Self::NotExecutable { path, no_exec_mount: false } => format!("chmod +x {}", shell_word(path.as_os_str())),
            Self::NotExecutable { path, no_exec_mount: true } => {
                format!("findmnt -T {} shows the mount's options", shell_word(path.as_os_str()))
            }
            Self::IsDirectory { .. } => "name the program inside it".into(),
            Self::BadInterpreter { interpreter, .. } => format!(
                "install what provides {}, or run the program through another interpreter",
                interpreter.display()
            ),
            Self::UnknownFormat { path, is_text: true } => {
                format!(
                    "name its interpreter: sh {}; or add a first line such as #!/bin/sh",
                    shell_word(path.as_os_str())
                )
            }
            Self::UnknownFormat { path, is_text: false } => {
                format!("file {} shows its type", shell_word(path.as_os_str()))
            }
            Self::PortInUse { address } => {
                format!("end the program that listens there: ss -ltnp 'sport = :{}' names it", address.port())
            }
            Self::FileNotVisible { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                format!("namei -l {} shows which directory forbids it", shell_word(path.as_os_str()))
            }
            Self::HostUnknown { .. } => {
                "use the address at which the program listens, such as 127.0.0.1 or localhost".into()
            }
            Self::NotifySocket { .. } => {
                "set TMPDIR to a writable directory whose path is shorter than 70 bytes".into()
            }
            Self::Display(error) => return error.hint(),
            Self::System { source, .. } if source.kind() == io::ErrorKind::WouldBlock => {
                "a limit of processes is reached: `ulimit -u` shows this user's; a container has its own".into()
            }
            Self::NoPageArgument { program } => format!(
                "put {{ready_url}} where the address goes, and keep it from a browser that already runs: firefox --no-remote --profile DIR '{{ready_url}}'; \
                 see {} --help for how to pass it an address",
                shell_word(program.as_ref())
            ),
            Self::NotEnded { .. } => "they wait in the kernel (state D in ps), are in a frozen control group (\
                 /proc/PID/cgroup names it), or belong to another user; end them by hand"
                .into(),
            _ => return None,
        })
    }

    pub(crate) fn system(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { what, source: source.into() }
    }
}

coldstart_hint::hinted!(LaunchError);

fn searched_list(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return String::new();
    }
    let list: Vec<_> = searched.iter().map(|directory| directory.display().to_string()).collect();
    format!(" in PATH ({})", list.join(":"))
}
