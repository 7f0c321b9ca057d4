//! The service manager that runs this machine.

use std::path::Path;

/// Whether it is systemd: the test of `sd_booted(3)`. In a container without a service manager it is not.
pub fn is_systemd() -> bool {
    is_systemd_below(Path::new("/"))
}

fn is_systemd_below(root: &Path) -> bool {
    root.join("run/systemd/system").symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_by_its_directory() {
        let root = tempfile::tempdir().unwrap();
        assert!(!is_systemd_below(root.path()));
        std::fs::create_dir_all(root.path().join("run/systemd/system")).unwrap();
        assert!(is_systemd_below(root.path()));
    }
}
