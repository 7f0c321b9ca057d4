//! Browsers, real and played, that are to show our page. What is asserted are outcomes and orders of moments; the only
//! short times are pauses of the played browser.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::{ProcessFiles, numbers};
use coldstart_launch::{CommandLine, End, LaunchError, LaunchOptions, Launched, launch};

use coldstart_testing::Turn;

use crate::common::{Marker, no_display_is_taken, within_limits};

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/fake_browser.py");
/// What the played browser waits before its report.
const LATENESS: Duration = Duration::from_millis(400);

/// A launch, and how long after its beginning readiness was told.
fn run_line(line: &CommandLine, change: impl FnOnce(&mut LaunchOptions)) -> (Launched, Option<Duration>) {
    let marker = Marker::new();
    let mut options = marker.options("page");
    change(&mut options);
    let mut told = None;
    let begin = Instant::now();
    let launched = launch(line, &options, None, &mut || told = Some(begin.elapsed())).unwrap();
    marker.assert_nothing_left();
    assert_eq!(launched.ready_after.is_some(), told.is_some());
    (launched, told)
}

fn play(behaviour: &str, value: &str) -> (Launched, Option<Duration>) {
    run_line(&CommandLine::new("python3", [FAKE, behaviour, "{ready_url}", value]), |_| {})
}

#[test]
fn the_pages_own_moment_counts() {
    let (launched, told) = play("late", "");
    assert!(launched.succeeded() && launched.end == End::Ended, "{launched:?}");
    assert!(launched.ready_after.unwrap() + LATENESS <= told.unwrap(), "{launched:?} told after {told:?}");
}

#[test]
fn the_arrival_counts_where_the_moment_is_nonsense() {
    // A year that has not come, times before the launch, and no times.
    for moment in ["9e15", "0", "-5", "1600000000000", "NaN", "inf", "-inf", "soon", "%00", "1e999"] {
        let (launched, _) = play("late", moment);
        assert!(launched.ready_after.unwrap() >= LATENESS, "{moment}: {launched:?}");
    }
}

#[test]
fn connections_that_say_nothing_are_in_nobodys_way() {
    for number in ["5", "200"] {
        assert!(play("several", number).0.succeeded(), "{number}");
    }
}

#[test]
fn a_report_may_come_byte_by_byte() {
    assert!(play("bytes", "").0.succeeded());
}

#[test]
fn garbage_is_survived() {
    assert!(play("garbage", "").0.succeeded());
}

#[test]
fn what_is_not_the_pages_report_does_not_count() {
    for behaviour in ["strange", "unloaded"] {
        let (launched, _) = play(behaviour, "");
        assert_eq!((launched.end, launched.ready_after), (End::Exited(0), None), "{behaviour}");
    }
}

#[test]
fn a_page_that_is_never_shown_is_not_ready() {
    let line = "sh -c 'exec sleep 1000' {ready_url}".parse().unwrap();
    let (launched, _) = run_line(&line, |options| options.time_limit = Some(Duration::from_secs(1)));
    assert_eq!((launched.end, launched.ready_after), (End::TimedOut, None));
    assert_eq!(launched.last_seen.unwrap(), "the page was never requested");

    let line = CommandLine::new("python3", [FAKE, "silent", "{ready_url}"]);
    let silent = |limit| run_line(&line, |options| options.time_limit = Some(limit)).0;
    let has_asked = |launched: &Launched| launched.last_seen.as_ref().unwrap().starts_with("the page was requested");
    let launched = within_limits(&[Duration::from_secs(5), Duration::from_secs(60)], silent, has_asked);
    assert_eq!((launched.end, launched.ready_after), (End::TimedOut, None));
    assert!(has_asked(&launched), "{launched:?}");
}

#[test]
fn answers_go_on_while_the_browser_ends() {
    let directory = tempfile::tempdir().unwrap();
    let answered = directory.path().join("answered");
    let line = CommandLine::new("python3", [FAKE, "reload", "{ready_url}", answered.to_str().unwrap()]);
    let (launched, _) = run_line(&line, |options| options.grace = Duration::from_secs(20));
    assert_eq!((launched.succeeded(), launched.killed_processes), (true, 0), "{launched:?}");
    assert_eq!(std::fs::read_to_string(answered).unwrap(), "answered");
}

#[test]
fn the_address_may_stand_inside_an_argument() {
    assert!(run_line(&CommandLine::new("python3", [FAKE, "late", "--app={ready_url}"]), |_| {}).0.succeeded());
}

#[test]
fn a_program_that_is_not_told_the_address_is_refused() {
    let options = Marker::new().options("page");
    let line = CommandLine::new("firefox", ["http://example.org/", "ready_url"]);
    let error = launch(&line, &options, None, &mut || {}).unwrap_err();
    assert!(matches!(&error, LaunchError::NoPageArgument { program } if program == "firefox"), "{error}");
    assert_eq!(error.to_string(), "no argument of `firefox` contains {ready_url}, the address of the readiness page");
    assert!(error.hint().unwrap().contains("firefox --no-remote --profile DIR '{ready_url}'"));
}

#[test]
fn a_browser_behind_a_starter_may_become_ready() {
    assert_eq!(play("daemon", "").0.end, End::Ended);
}

#[test]
fn handing_over_to_another_browser_is_no_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("address");
    let (launched, _) = play("hand-over", file.to_str().unwrap());
    assert_eq!((launched.end, launched.ready_after), (End::Exited(0), None));
    let address = std::fs::read_to_string(file).unwrap();
    let (authority, _) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let refused = std::net::TcpStream::connect(authority).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "nobody serves the page after the launch");
}

fn is_installed(program: &str) -> bool {
    if coldstart_launch::find_program(program.as_ref(), std::env::var_os("PATH").as_deref(), None).is_ok() {
        return true;
    }
    coldstart_testing::skip(&format!("{program} is not installed"));
    false
}

/// Command lines of processes that name a path.
fn processes_naming(path: &Path) -> Vec<String> {
    let arguments = numbers().unwrap().into_iter().map(|number| ProcessFiles::of(number).arguments());
    let lines = arguments.map(|words| words.join(OsStr::new(" ")).to_string_lossy().into_owned());
    lines.filter(|line| line.contains(path.to_str().unwrap())).collect()
}

/// Starts a browser twice with one profile: new, and known.
fn browse(words: &[&str], display: Option<&str>) {
    if !is_installed(words[0]) {
        return;
    }
    let _turn = Turn::alone("browsers");
    let home = tempfile::Builder::new().prefix("coldstart-browser-").tempdir().unwrap();
    std::fs::create_dir(home.path().join("profile")).unwrap();
    let profile = home.path().join("profile").into_os_string().into_string().unwrap();
    let arguments = words[1..].iter().map(|word| word.replace("PROFILE", &profile));
    let line = CommandLine::new(words[0], arguments.chain(["{ready_url}".to_owned()]));
    for state in ["new", "known"] {
        let (launched, told) = run_line(&line, |options| {
            options.time_limit = Some(Duration::from_secs(300));
            options.grace = Duration::from_secs(20);
            let display = display.map(Into::into);
            options.environment.extend([
                ("HOME".into(), Some(home.path().into())),
                ("XDG_RUNTIME_DIR".into(), None),
                ("WAYLAND_DISPLAY".into(), None),
                ("DISPLAY".into(), display),
            ]);
        });
        eprintln!("{line}: ready after {:?}, told after {told:?}", launched.ready_after);
        assert!(launched.succeeded(), "with a {state} profile: {launched:?}");
        assert_eq!(processes_naming(home.path()), [] as [String; 0], "with a {state} profile");
    }
}

/// A virtual screen.
struct Screen {
    server: Child,
    display: String,
    _descriptor: BufReader<ChildStdout>,
}

impl Screen {
    fn start() -> Option<Self> {
        if !is_installed("Xvfb") {
            return None;
        }
        let _turn = no_display_is_taken();
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1280x800x24"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut descriptor = BufReader::new(server.stdout.take().unwrap());
        let mut number = String::new();
        descriptor.read_line(&mut number).unwrap();
        assert!(!number.trim().is_empty(), "Xvfb did not start");
        Some(Self { server, display: format!(":{}", number.trim()), _descriptor: descriptor })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

const FIREFOX: &[&str] = &["firefox-esr", "--no-remote", "--profile", "PROFILE"];
const CHROMIUM: &[&str] = &["chromium", "--no-sandbox", "--no-first-run", "--user-data-dir=PROFILE"];

#[test]
fn firefox_without_a_screen_is_ready() {
    browse(&[FIREFOX, &["--headless"]].concat(), None);
}

#[test]
fn chromium_without_a_screen_is_ready() {
    browse(&[CHROMIUM, &["--headless=new"]].concat(), None);
}

#[test]
fn firefox_on_a_screen_is_ready() {
    let Some(screen) = Screen::start() else { return };
    browse(FIREFOX, Some(&screen.display));
}

#[test]
fn chromium_on_a_screen_is_ready() {
    let Some(screen) = Screen::start() else { return };
    browse(CHROMIUM, Some(&screen.display));
}
