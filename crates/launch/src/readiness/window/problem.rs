//! What can be wrong with an X display.

use std::io;

use thiserror::Error;

/// Why an X display cannot be watched.
#[derive(Debug, Error)]
pub enum DisplayError {
    /// Neither the readiness nor the program's environment names one.
    #[error("there is no X display to watch for the program's window: DISPLAY is not set")]
    None,
    /// The words do not name a display.
    #[error("`{display}` does not name an X display")]
    Name {
        /// As given, or as `DISPLAY` has it.
        display: String,
    },
    /// No connection, or none to the screen asked for.
    #[error("cannot connect to the X display `{display}`")]
    Unreachable {
        /// As given, or as `DISPLAY` has it.
        display: String,
        /// The kernel's answer, or what came of waiting for the display's.
        source: io::Error,
    },
    /// The display's server does not let us in.
    #[error("the X display `{display}` refuses the connection: {reason}")]
    Refused {
        /// As given, or as `DISPLAY` has it.
        display: String,
        /// In the server's words.
        reason: String,
    },
    /// It ended, or stopped answering, while we waited for a window.
    #[error("the X display `{display}` was lost while waiting for the program's window")]
    Lost {
        /// As given, or as `DISPLAY` has it.
        display: String,
        /// How.
        source: io::Error,
    },
}

impl DisplayError {
    /// What the user can do about it, where there is advice.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::None => "set DISPLAY, or name a display (--ready window::1), or start one for the measuring alone: \
                           xvfb-run -a coldstart measure --ready window -- PROGRAM"
                .into(),
            Self::Name { display } if display.parse::<u16>().is_ok() => {
                format!("a display's name has a colon: --ready window::{display}")
            }
            Self::Name { .. } => "displays are named :NUMBER or HOST:NUMBER, as in --ready window::1".into(),
            Self::Unreachable { source, .. }
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                "`ls /tmp/.X11-unix` shows the displays of this machine (X1 is :1); \
                 `xvfb-run -a coldstart measure ...` starts one for the measuring alone"
                    .into()
            }
            Self::Refused { reason, .. }
                if ["uthoriz", "uthent", "COOKIE"].iter().any(|word| reason.contains(word)) =>
            {
                let now = match std::env::var_os("XAUTHORITY") {
                    Some(file) => format!("it is {} now", file.display()),
                    None => "it is not set now, which means ~/.Xauthority".to_owned(),
                };
                format!(
                    "set XAUTHORITY to the file with the display's cookie ({now}), or have the display's owner run \
                     `xhost +si:localuser:$USER` for you"
                )
            }
            _ => return None,
        })
    }
}
