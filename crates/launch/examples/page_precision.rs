//! Compares readiness `page` with two witnesses: `page_precision firefox|chromium [RUNS]`, 30 hot starts if not told.
//!
//! One witness is a stopwatch of its own in the page, put there by a server that stands between the browser and our page;
//! it knows nothing of our script and uses `Date` where that uses `performance.timeOrigin`. The other is the screen: Xvfb
//! keeps its pixels in a file (`-fbdir`), where we see the page's colour appear. Both count from the time of day right
//! before the launch. All differences are our readiness minus the witness's, so what is positive means that we say it
//! later. The server's and the screen's threads take some of the processor from the browser: these are not figures of how
//! fast a browser starts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coldstart_launch::{CommandLine, LaunchOptions, PreparedLaunch, Readiness};

const STOPWATCH: &str = r#"<script>{
  const wall = time => Date.now() - (performance.now() - time);
  const marks = {};
  let painted = false;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      if (entry.name === "first-contentful-paint") { marks.paint = wall(entry.startTime); painted = true; }
  }).observe({ type: "paint", buffered: true });
  addEventListener("load", () => {
    marks.load = Date.now();
    requestAnimationFrame(function frame() {
      if (!painted) return requestAnimationFrame(frame);
      marks.frame = Date.now();
      // Later, for the first request of a page takes tens of milliseconds, and our page's script comes next in this frame.
      setTimeout(() => fetch(`/stopwatch?${marks.load}&${marks.paint}&${marks.frame}`, { method: "POST" }), 500);
    });
  });
}</script>"#;
/// The page's background as the framebuffer has it: blue, green, red.
const COLOUR: [u8; 3] = [0x9a, 0xe0, 0x12];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, display, pixels, browser, runs] = words.as_slice()
        && mode == "--on"
    {
        return compare(browser, runs.parse().unwrap(), Screen::open(display, pixels.as_ref()));
    }
    // A launch first looks at the children we have; with the screen's server for a child it would begin a little later
    // than the moment from which the witnesses count. So another process of ours compares.
    let directory = tempfile::tempdir().unwrap();
    let mut server = Xvfb::start(directory.path());
    let browser = words.first().map_or("firefox", String::as_str);
    let runs = words.get(1).map_or("30", String::as_str);
    let pixels = directory.path().join("Xvfb_screen0");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--on", &server.display()]).arg(pixels).args([browser, runs]);
    assert!(command.status().unwrap().success());
}

fn compare(browser: &str, runs: usize, screen: Screen) {
    let home = tempfile::tempdir().unwrap();
    let profile = home.path().join("profile");
    std::fs::create_dir(&profile).unwrap();
    let (port, marks) = GoBetween::start();
    let address = format!("http://127.0.0.1:{port}/?{{ready_url}}");
    let profile = profile.display().to_string();
    let line = match browser {
        "firefox" => CommandLine::new("firefox-esr", ["--no-remote", "--profile", &profile, &address]),
        _ => CommandLine::new(
            "chromium",
            ["--no-sandbox", "--no-first-run", &format!("--user-data-dir={profile}"), &address],
        ),
    };
    let options = LaunchOptions {
        readiness: Readiness::Page,
        time_limit: Some(Duration::from_secs(120)),
        grace: Duration::from_secs(20),
        environment: vec![
            ("HOME".into(), Some(home.path().into())),
            ("DISPLAY".into(), Some(screen.display.clone().into())),
            ("WAYLAND_DISPLAY".into(), None),
            ("XDG_RUNTIME_DIR".into(), None),
        ],
        ..LaunchOptions::default()
    };

    let mut differences: [Vec<f64>; 6] = Default::default();
    println!("run   ready ms | minus: load  paint  frame  nearest  screen | told minus screen");
    // The first two make the profile and warm the caches.
    for run in 0..runs + 2 {
        while marks.try_recv().is_ok() {}
        let mut told = 0.0;
        let mut seen = None;
        let mut mark = None;
        let watcher = screen.watch();
        let prepared = PreparedLaunch::new(&line, &options, None).unwrap();
        let begin = milliseconds();
        let launched = prepared
            .run(&mut || {
                told = milliseconds();
                // The stopwatch's report comes after ours, and the screen may follow later.
                mark = marks.recv_timeout(Duration::from_secs(20)).ok();
                seen = watcher.recv_timeout(Duration::from_secs(20)).ok();
            })
            .unwrap();
        let (Some(ready), Some([load, paint, frame]), Some(seen)) = (launched.ready_after, mark, seen) else {
            println!("{run:3}   not ready, or a witness is missing: {launched:?}");
            continue;
        };
        let ready = ready.as_secs_f64() * 1e3;
        let since = |moment: f64| ready - (moment - begin);
        // Ours is one or the other, as the browser tells its paint when it is shown or when it is made.
        let nearest = [since(paint), since(frame)].into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
        let row = [since(load), since(paint), since(frame), nearest, since(seen), told - seen];
        let shown: Vec<String> = row.iter().map(|difference| format!("{difference:7.1}")).collect();
        println!("{run:3} {ready:10.1} | {}", shown.join(" "));
        if run >= 2 {
            differences.iter_mut().zip(row).for_each(|(all, one)| all.push(one));
        }
    }
    // For programs: JSON. Chromium tells its paint when it is shown, Firefox when it is made, which the next frame shows.
    let [_, paint, frame, _, screen, _] = &differences;
    let stopwatch = if browser == "firefox" { frame } else { paint };
    let figures = format!("{{\"stopwatch\": {stopwatch:?}, \"screen\": {screen:?}}}");
    let names = ["load", "paint", "frame", "the nearer of paint and frame", "screen", "(told) screen"];
    for (name, mut all) in names.into_iter().zip(differences) {
        all.sort_by(f64::total_cmp);
        let largest = all.iter().map(|difference| difference.abs()).fold(0.0, f64::max);
        let (Some(median), Some(first), Some(last)) = (all.get(all.len() / 2), all.first(), all.last()) else {
            continue;
        };
        println!(
            "{browser}: minus {name}: median {median:.1} ms, from {first:.1} to {last:.1}, largest {largest:.1} of {}",
            all.len()
        );
    }
    println!("{figures}");
}

/// Time of day since 1970.
fn milliseconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

/// Serves the page that is asked for by `/?URL` with the stopwatch in it, and passes its reports on.
struct GoBetween {
    upstream: Mutex<(String, String)>,
    marks: Mutex<Sender<[f64; 3]>>,
}

impl GoBetween {
    fn start() -> (u16, Receiver<[f64; 3]>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, receiver) = channel();
        let server = Arc::new(Self { upstream: Mutex::default(), marks: Mutex::new(sender) });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&server);
                std::thread::spawn(move || server.serve(&stream));
            }
        });
        (port, receiver)
    }

    /// Until the browser closes.
    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut reader = BufReader::new(stream);
        loop {
            let mut first = String::new();
            reader.read_line(&mut first).ok().filter(|&length| length > 0)?;
            let mut field = String::new();
            while reader.read_line(&mut field).ok()? > 2 {
                field.clear();
            }
            let target = first.split(' ').nth(1)?;
            let content = if let Some(url) = target.strip_prefix("/?http://") {
                let (authority, path) = url.split_once('/')?;
                *self.upstream.lock().unwrap() = (authority.to_owned(), format!("/{path}"));
                let page = self.ask("GET", "")?;
                let (_, page) = page.split_once("\r\n\r\n")?;
                page.replace("</head>", &format!("{STOPWATCH}</head>"))
            } else if let Some(report) = target.strip_prefix("/ready?") {
                self.ask("POST", &format!("ready?{report}"))?;
                String::new()
            } else if let Some(marks) = target.strip_prefix("/stopwatch?") {
                let marks: Vec<f64> = marks.split('&').map(|mark| mark.parse().unwrap_or(f64::NAN)).collect();
                self.marks.lock().unwrap().send(marks.try_into().ok()?).ok()?;
                String::new()
            } else {
                String::new()
            };
            let length = content.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all((head + &content).as_bytes()).ok()?;
        }
    }

    fn ask(&self, method: &str, target: &str) -> Option<String> {
        let (authority, folder) = self.upstream.lock().unwrap().clone();
        let mut stream = TcpStream::connect(&authority).ok()?;
        let request = format!("{method} {folder}{target} HTTP/1.0\r\nHost: {authority}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

/// The server of a virtual screen.
struct Xvfb(Child);

impl Xvfb {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1280x800x24", "-fbdir"]).arg(directory);
        Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Its name, when it is there.
    fn display(&mut self) -> String {
        let mut number = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut number).unwrap();
        format!(":{}", number.trim())
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A virtual screen whose pixels stand in a file.
struct Screen {
    display: String,
    pixels: Arc<File>,
    /// Of a pixel amid the page, not under the pointer, in that file.
    place: u64,
}

impl Screen {
    fn open(display: &str, pixels: &Path) -> Self {
        let pixels = File::open(pixels).unwrap();
        // XWDFile.h: numbers of 32 bits, the most significant byte first.
        let number_at = |index: u64| {
            let mut bytes = [0; 4];
            pixels.read_exact_at(&mut bytes, index * 4).unwrap();
            u64::from(u32::from_be_bytes(bytes))
        };
        let (header_size, bytes_per_line, colours) = (number_at(0), number_at(12), number_at(19));
        let place = header_size + colours * 12 + 600 * bytes_per_line + 600 * 4;
        Self { display: display.to_owned(), pixels: Arc::new(pixels), place }
    }

    fn colour(pixels: &File, place: u64) -> [u8; 3] {
        let mut colour = [0; 3];
        pixels.read_exact_at(&mut colour, place).unwrap();
        colour
    }

    /// Sends the moment at which the page's colour appears.
    fn watch(&self) -> Watcher {
        while Self::colour(&self.pixels, self.place) == COLOUR {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (sender, seen) = channel();
        let (pixels, place) = (Arc::clone(&self.pixels), self.place);
        let over = Arc::new(AtomicBool::new(false));
        let watching = Arc::clone(&over);
        std::thread::spawn(move || {
            while !watching.load(Ordering::Relaxed) {
                if Self::colour(&pixels, place) == COLOUR {
                    let _ = sender.send(milliseconds());
                    return;
                }
                std::thread::sleep(Duration::from_micros(250));
            }
        });
        Watcher { seen, over }
    }
}

struct Watcher {
    seen: Receiver<f64>,
    over: Arc<AtomicBool>,
}

impl Watcher {
    fn recv_timeout(&self, limit: Duration) -> Result<f64, std::sync::mpsc::RecvTimeoutError> {
        self.seen.recv_timeout(limit)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
