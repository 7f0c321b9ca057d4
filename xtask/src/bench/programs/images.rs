//! `images-network`, `images-disk`, `images-hdd`: the programs from start images, as they are and compressed, beside plain starts and exact
//! plans, cold and hot.
//!
//! Images are mounted as an installation mounts them: so what one start has read stays in memory for the next, and hot starts are hot.
//!
//! Not obvious: a start that cannot use its image starts without it, and would be measured as a start with one. So one start of each image
//! says before how many files came from it.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::bed::{Bed, BedKind};
use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, State};
use super::super::record::Record;
use super::super::start::COLDSTART;
use super::super::workshop::Workshop;
use super::case::{compare_starts, device_of, planned, record_exact, warm_up};
use super::figures::{Case, cases};
use super::list::{self, Started};
use super::on_beds;

/// The ways to start, in the order of the measurement.
const WAYS: [&str; 4] = ["plain", "exact plan", "image", "zstd image"];
const PLAIN: usize = 0;
const EXACT: usize = 1;
/// The images: their index among the ways, and how they are made.
const IMAGES: [(usize, &str); 2] = [(2, "none"), (3, "zstd")];
/// All but PostgreSQL, which `setpriv` starts for another user.
const PROGRAMS: [&str; 7] = ["libreoffice", "firefox", "chromium", "javac", "clang", "gdb", "python-numpy"];
/// How a start says how many files came from its image.
const IN_PLACE: &str = "of the image in place";

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record, kind: BedKind) -> Result<()> {
    on_beds(workshop, record, &[(kind, kind.name(), list::named(&PROGRAMS))], case)?;
    let about = "commands: A plain, B with the exact plan, C from the image, D from the zstd image, by `coldstart-run`";
    record.add("about", json!([about]));
    Ok(())
}

fn case(workshop: &Workshop, bed: &Bed<'_>, program: &Started, runs: u32) -> Result<Value> {
    warm_up(workshop, bed, program)?;
    let (exact, of_exact) = record_exact(workshop, bed, program)?;
    let device = device_of(workshop, bed, &exact)?;
    let mut compare = vec![planned(bed, program, &exact)];
    let mut images = Vec::new();
    let paths = IMAGES.map(|(_, how)| format!("/var/lib/{}.{how}.erofs", program.name));
    for ((_, how), image) in IMAGES.iter().zip(&paths) {
        images.push(make(workshop, bed, program, how, image)?);
        compare.push(planned(bed, program, image));
    }
    bed.flush()?;
    let words = |verb, image| bed.inside(&[COLDSTART, "image", verb, image]);
    let mounted = paths.iter().try_for_each(|image| workshop.runner.run(&words("mount", image)));
    let measurement = mounted.and_then(|()| compare_starts(workshop, bed, program, runs, &compare));
    for image in &paths {
        // Not through the runner: after an interrupt the bed must come down all the same.
        crate::tools::run(Command::new("chroot").args(words("umount", image).iter().skip(1)).stdout(Stdio::null()))?;
    }
    let measurement = measurement?;
    Ok(json!({"recorded": {"exact": of_exact, "device": device}, "images": images, "measurement": measurement}))
}

/// Makes an image and starts from it once: what making said, its seconds, and what the start said of the image.
fn make(workshop: &Workshop, bed: &Bed<'_>, program: &Started, how: &str, image: &str) -> Result<Value> {
    let options = ["image", "make", "--json", "--force", "--compress", how, "--output", image, "--"];
    let clock = std::time::Instant::now();
    let made = workshop.runner.json(&bed.inside(&[&[COLDSTART], &options[..], program.words].concat()), &[0]);
    let made = made.with_context(|| format!("cannot make {image}"))?;
    let seconds = clock.elapsed().as_secs_f64();
    let start = ["image", "run", "--verbose", image, "--"];
    let said = workshop.runner.said(&bed.inside(&[&[COLDSTART], &start[..], program.words].concat()))?;
    let of_image: Vec<&str> = said.stderr.lines().filter(|line| line.contains("coldstart")).collect();
    ensure!(said.status.success(), "started from {image} it ended with {}", said.status);
    ensure!(of_image.iter().any(|line| line.contains(IN_PLACE)), "{image} was not used: {}", of_image.join("; "));
    Ok(json!({"made": made, "seconds": seconds, "start": of_image}))
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for case in &cases(record)? {
        figures.extend(of_case(case)?);
    }
    Ok(figures)
}

/// Times of all ways, what each image is, and the bound of a start from it: the longer of the plain hot start and of the transfer of the hot
/// range.
fn of_case(case: &Case) -> Result<Vec<Figure>> {
    if let Some(figure) = case.not_measured() {
        return Ok(vec![figure]);
    }
    let measurement = Measurement::from_json(&case.result["measurement"])?;
    let mut ways = WAYS;
    ways[EXACT] = case.exact_way();
    let (mut figures, _) = case.of_ways(&measurement, &ways);
    let hot = measurement.summary(PLAIN, State::Hot).and_then(|summary| summary.median);
    for (number, (command, _)) in IMAGES.iter().enumerate() {
        let way = ways.get(*command).copied().unwrap_or_default();
        let image = &case.result["images"][number];
        let bytes = |name: &str| image["made"][name].as_f64();
        let front = bytes("metadata_bytes").zip(bytes("hot_bytes")).map(|(metadata, hot)| metadata + hot);
        let pages = image["made"]["hot_pages"].as_u64().unwrap_or(0);
        let row = |what: &str, unit, value| {
            Figure::new(format!("{}: {way}: {what}", case.name()), unit, Asked::Nothing, value)
        };
        let transfer = front.zip(case.bandwidth()).map(|(front, bandwidth)| front / bandwidth);
        figures.push(row(
            "bound of a cold start",
            Unit::Seconds,
            hot.zip(transfer).map(|(hot, transfer)| hot.max(transfer)),
        ));
        figures.push(row("time of making", Unit::Seconds, image["seconds"].as_f64()));
        figures.push(row("size", Unit::Megabytes, bytes("bytes")));
        figures.push(row(&format!("size of its front ({pages} hot pages)"), Unit::Megabytes, front));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::both_states;

    #[test]
    fn the_bound_is_the_longer_of_computing_and_reading_the_front() {
        let cold: [&[f64]; 4] = [&[4.0, 4.2], &[1.5, 1.5], &[1.2, 1.2], &[1.1, 1.1]];
        let hot: [&[f64]; 4] = [&[0.8, 0.8]; 4];
        let made = |bytes: u64| {
            let made = json!({"bytes": 3 * bytes, "metadata_bytes": 4096, "hot_bytes": bytes - 4096, "hot_pages": 7});
            json!({"made": made, "seconds": 9.0, "start": []})
        };
        let result = json!({"recorded": {}, "images": [made(250_000_000), made(100_000_000)],
                            "measurement": both_states(&cold, &hot)});
        let case = json!({"bed": "net", "program": "a", "bandwidth_mb": 250.0, "result": result});
        let failed = json!({"bed": "net", "program": "b", "bandwidth_mb": null, "result": {"error": "no image"}});
        let mut record = Record::begin(Benchmark::ImagesNetwork, "2025-01-02", 2).unwrap();
        record.add("cases", json!([case, failed]));
        let figures = Benchmark::ImagesNetwork.figures(&record).unwrap();
        let value = |what: &str| figures.iter().find(|figure| figure.what == what).unwrap().value;
        assert_eq!(value("a, net: image, cold"), Some(1.2));
        assert_eq!(value("a, net: zstd image, hot"), Some(0.8));
        assert_eq!(value("a, net: image: bound of a cold start"), Some(1.0));
        assert_eq!(value("a, net: zstd image: bound of a cold start"), Some(0.8));
        assert_eq!(value("a, net: zstd image: size of its front (7 hot pages)"), Some(1e8));
        assert_eq!(value("b, net: not measured: no image"), None);
    }

    #[test]
    fn all_programs_of_the_images_exist() {
        assert_eq!(list::named(&PROGRAMS).len(), PROGRAMS.len());
    }
}
