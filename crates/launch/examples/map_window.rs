//! A program with a window, to be launched: `map_window MODE`. Tells on standard output what it does and learns, a line
//! each, and stays until it is ended.
//!
//! `mapped NANOSECONDS` is its own stopwatch: the monotonic clock when it learned that its window is mapped. Before it shows
//! the window that counts, it says `showing`.

use std::error::Error;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, Window, WindowClass,
};
use x11rb::rust_connection::{DefaultStream, RustConnection};
use x11rb::wrapper::ConnectionExt as _;

/// Long enough for an earlier window to be noticed, were it taken for the one that counts.
const PAUSE: Duration = Duration::from_millis(300);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "plain" => Program::connect()?.show_and_stay(Kind::Usual),
        "plain-untold" => Program::connect()?.untold().show_and_stay(Kind::Usual),
        "override-redirect" => Program::connect()?.show_and_stay(Kind::OverrideRedirect),
        "input-only" => {
            Program::connect()?.show(Kind::InputOnly)?;
            stay()
        }
        "input-only-first" => {
            let program = Program::connect()?;
            program.show(Kind::InputOnly)?;
            std::thread::sleep(PAUSE);
            program.show_and_stay(Kind::Usual)
        }
        "late" => {
            let program = Program::connect()?;
            std::thread::sleep(PAUSE);
            program.show_and_stay(Kind::Usual)
        }
        "pixel" => {
            Program::connect()?.show(Kind::Pixel)?;
            stay()
        }
        "growing" => {
            let program = Program::connect()?;
            let window = program.show(Kind::Pixel)?;
            std::thread::sleep(PAUSE);
            say("showing")?;
            program.enlarge(window)?;
            stay()
        }
        "two" => {
            let program = Program::connect()?;
            program.show(Kind::Usual)?;
            program.show_and_stay(Kind::Usual)
        }
        "never" => {
            Program::connect()?.create(Kind::Usual)?;
            stay()
        }
        "crash" => {
            Program::connect()?.create(Kind::Usual)?;
            std::process::exit(3)
        }
        // For a stranger: windows without end.
        "again-and-again" => {
            let program = Program::connect()?;
            loop {
                let window = program.show(Kind::Usual)?;
                std::thread::sleep(Duration::from_millis(10));
                program.connection.destroy_window(window)?;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        "grandchild" => spawn("child", Stdio::null())?.wait().map(drop).map_err(Into::into),
        "child" => spawn("late", Stdio::null())?.wait().map(drop).map_err(Into::into),
        "daemon" => spawn("late", Stdio::null()).map(drop),
        // The display takes the connection for this process's, which is gone when the window comes.
        "hand-over" => {
            let display = std::env::var("DISPLAY")?;
            let stream = UnixStream::connect(format!("/tmp/.X11-unix/X{}", display.trim_start_matches(':')))?;
            spawn("taken-over", Stdio::from(OwnedFd::from(stream))).map(drop)
        }
        "hand-over-twice" => spawn("hand-over", Stdio::null())?.wait().map(drop).map_err(Into::into),
        "taken-over" => {
            std::thread::sleep(PAUSE);
            let stream = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
            let (stream, _) = DefaultStream::from_unix_stream(stream)?;
            Program::on(RustConnection::connect_to_stream(stream, 0)?, 0).show_and_stay(Kind::Usual)
        }
        _ => Err(format!("unknown mode `{mode}`").into()),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Usual,
    OverrideRedirect,
    InputOnly,
    Pixel,
}

struct Program {
    connection: RustConnection,
    screen: usize,
    tells_process: bool,
}

impl Program {
    fn connect() -> Result<Self> {
        let (connection, screen) = RustConnection::connect(None)?;
        Ok(Self::on(connection, screen))
    }

    fn on(connection: RustConnection, screen: usize) -> Self {
        Self { connection, screen, tells_process: true }
    }

    /// Its windows do not say which process they belong to.
    fn untold(mut self) -> Self {
        self.tells_process = false;
        self
    }

    fn create(&self, kind: Kind) -> Result<Window> {
        let screen = self.connection.setup().roots.get(self.screen).ok_or("no such screen")?;
        let window = self.connection.generate_id()?;
        let mut values = CreateWindowAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        if kind == Kind::OverrideRedirect {
            values = values.override_redirect(1);
        }
        let (class, depth) = match kind {
            Kind::InputOnly => (WindowClass::INPUT_ONLY, 0),
            _ => (WindowClass::INPUT_OUTPUT, x11rb::COPY_DEPTH_FROM_PARENT),
        };
        let (width, height) = if kind == Kind::Pixel { (1, 1) } else { (200, 100) };
        self.connection.create_window(
            depth,
            window,
            screen.root,
            20,
            20,
            width,
            height,
            0,
            class,
            x11rb::COPY_FROM_PARENT,
            &values,
        )?;
        self.describe(window)?;
        self.connection.sync()?;
        Ok(window)
    }

    fn describe(&self, window: Window) -> Result<()> {
        let connection = &self.connection;
        connection.change_property8(PropMode::REPLACE, window, AtomEnum::WM_NAME, AtomEnum::STRING, b"map_window")?;
        if self.tells_process {
            let net_wm_pid = connection.intern_atom(false, b"_NET_WM_PID")?.reply()?.atom;
            connection.change_property32(
                PropMode::REPLACE,
                window,
                net_wm_pid,
                AtomEnum::CARDINAL,
                &[std::process::id()],
            )?;
            connection.change_property8(
                PropMode::REPLACE,
                window,
                AtomEnum::WM_CLIENT_MACHINE,
                AtomEnum::STRING,
                rustix::system::uname().nodename().to_bytes(),
            )?;
        }
        Ok(())
    }

    fn show(&self, kind: Kind) -> Result<Window> {
        let window = self.create(kind)?;
        if matches!(kind, Kind::Usual | Kind::OverrideRedirect) {
            say("showing")?;
        }
        self.connection.map_window(window)?;
        self.connection.flush()?;
        loop {
            if let Event::MapNotify(mapped) = self.connection.wait_for_event()?
                && mapped.window == window
            {
                say(&format!("mapped {}", monotonic()))?;
                return Ok(window);
            }
        }
    }

    fn enlarge(&self, window: Window) -> Result<()> {
        self.connection.configure_window(window, &ConfigureWindowAux::new().width(200).height(100))?;
        Ok(self.connection.flush()?)
    }

    fn show_and_stay(&self, kind: Kind) -> Result<()> {
        self.show(kind)?;
        stay()
    }
}

fn spawn(mode: &str, input: Stdio) -> Result<std::process::Child> {
    Ok(Command::new(std::env::current_exe()?).arg(mode).stdin(input).process_group(0).spawn()?)
}

fn stay() -> Result<()> {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

fn monotonic() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
