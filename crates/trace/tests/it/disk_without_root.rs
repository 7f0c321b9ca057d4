//! Who may not use tracefs is told so, and loses nothing else.

use std::os::unix::process::CommandExt;
use std::process::Command;

use coldstart_testing::copy_this_program;
use coldstart_trace::start::DiskRecorder;

/// This test runs itself as nobody, and looks from there.
#[test]
fn nobody_is_told_what_is_missing() {
    if std::env::var_os("COLDSTART_TEST_AS_NOBODY").is_some() || !rustix::process::geteuid().is_root() {
        let mut recorder = DiskRecorder::start();
        assert!(!recorder.is_recording());
        assert!(
            recorder.notes().iter().any(|note| note.contains("requires root (CAP_SYS_ADMIN)")),
            "{:?}",
            recorder.notes()
        );
        recorder.follow(1);
        let log = recorder.finish();
        assert!(log.fills.is_empty() && log.reads.is_empty() && log.lost == 0);
        assert_eq!(log.notes.len(), 1, "{:?}", log.notes);
        return;
    }
    // Nobody may not enter the target directory, perhaps: a copy where all may go.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("test");
    copy_this_program(&copy);
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(&copy);
    command
        .args(["--exact", "disk_without_root::nobody_is_told_what_is_missing"])
        .current_dir("/")
        .env("COLDSTART_TEST_AS_NOBODY", "1")
        .uid(65534)
        .gid(65534);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
