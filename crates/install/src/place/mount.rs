//! A unit that mounts an image for all users when the machine starts: only root can mount one, and pages that one start has read stay in
//! memory for the next.
//!
//! Not obvious: it is a service, not a mount unit. Where an image is mounted follows from its UUID, which changes each time it is made
//! again, and the name of a mount unit is its directory (`systemd.mount(5)`). `mount(8)` would also put a loop device below the image, and
//! would not ask who else can write to it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use coldstart_profile::printable;

use super::{Place, PlannedPlace, StartWith, Subject, systemd_word, upkeep_unit};
use crate::directories::Scope;
use crate::error::InstallError;
use crate::manifest::MOUNT;

/// The longest name of a unit, in bytes (`UNIT_NAME_MAX` in systemd's src/basic/unit-name.h).
const LONGEST: usize = 255;
/// What the boot waits for before users log in.
const TARGET: &str = "multi-user.target";

/// `mount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount;

/// The name of the unit for an installation. What a unit's name cannot hold is written as systemd-escape(1) does.
pub fn unit_of(name: &OsStr) -> String {
    let mut unit = "coldstart-image-".to_owned();
    for &byte in name.as_bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b':' | b'_' | b'.' | b'-' => unit.push(byte.into()),
            _ => unit.push_str(&format!("\\x{byte:02x}")),
        }
    }
    unit + ".service"
}

impl Place for Mount {
    fn words(&self) -> OsString {
        MOUNT.into()
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let refused = |reason: &str, hint| InstallError::refused("the place `mount`".to_owned(), reason, Some(hint));
        if subject.start_with != StartWith::Image {
            return Err(refused("only an image can be mounted", "install one: `coldstart image install`"));
        }
        if subject.directories.scope != Scope::System {
            return Err(refused("it is for all users", "install it as root, without --user"));
        }
        let unit = unit_of(subject.name);
        if unit.len() > LONGEST {
            return Err(refused("the unit's name would be too long", "give the installation a shorter name: --name"));
        }
        let image = subject.installation.image();
        let Some(image) = image.to_str() else {
            return Err(refused("its path would not be text", "give the installation another name: --name"));
        };
        let word = systemd_word::quoted(&systemd_word::specifiers_as_text(image), true);
        let path = systemd_word::quoted(&systemd_word::specifiers_as_text(image), false);
        let mount = upkeep_unit::command(&unit, subject, &format!("image mount {word}"))?;
        let unmount = upkeep_unit::command(&unit, subject, &format!("image umount {word}"))?;
        let text = text(&printable(std::path::Path::new(subject.name)), &path, &mount, &unmount);
        let units = &subject.directories.units;
        let mut planned = PlannedPlace {
            summary: format!(
                "the image mounted for all users, at each boot by the unit `{}`",
                printable(&units.join(&unit))
            ),
            starts: Some(subject.system.coldstart.clone()),
            shared: vec![upkeep_unit::file(units.join(&unit), MOUNT, &text), upkeep_unit::wanted(units, TARGET, &unit)],
            ..PlannedPlace::default()
        };
        if subject.system.systemd_runs {
            let unit = coldstart_profile::shell_word(OsStr::new(&unit));
            planned.afterwards = Some(format!("systemctl daemon-reload && systemctl start {unit}"));
            planned.after_undoing = Some(format!("systemctl stop {unit} && systemctl daemon-reload"));
        } else {
            planned.notes.push(upkeep_unit::no_systemd(MOUNT));
        }
        Ok(planned)
    }
}

fn text(name: &str, path: &str, mount: &str, unmount: &str) -> String {
    let name = systemd_word::specifiers_as_text(name);
    format!(
        "[Unit]\n\
         Description=Start image of {name}\n\
         RequiresMountsFor={path}\n\
         Before=systemd-user-sessions.service\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={mount}\n\
         # It may have been unmounted by hand.\n\
         ExecStop=-{unmount}\n\
         \n\
         [Install]\n\
         WantedBy={TARGET}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_that_of_a_unit_as_systemd_escapes_it() {
        assert_eq!(unit_of(OsStr::new("soffice")), "coldstart-image-soffice.service");
        assert_eq!(unit_of(OsStr::new("my app@\\1")), "coldstart-image-my\\x20app\\x40\\x5c1.service");
        assert_eq!(unit_of(OsStr::from_bytes(b"\xff")), "coldstart-image-\\xff.service");
    }
}
