//! Guile: 100 directories in its two paths, with a package of two compiled modules each.

use anyhow::Result;
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::world::{Limits, PREFIXES, Recipe, Site, Way, World};

pub(super) const RECIPES: &[Recipe] = &[Recipe { name: "guile", build }];

const SOURCES: &str = "share/guile";
const COMPILED: &str = "lib/guile";
/// Compiles pairs of files.
const COMPILE: &str = "(use-modules (system base compile))\n(let loop ((left (cdr (command-line))))\n  (if (pair? left)\n    (begin (compile-file (car left) #:output-file (cadr left)) (loop (cddr left)))))\n";

fn build(workshop: &Workshop, site: &Site) -> Result<World> {
    let mut app = String::new();
    let mut pairs = Vec::new();
    let mut compiled = |site: &Site, source: &str, target: &str, content: &str| -> Result<()> {
        site.file(source, content)?;
        // Older than what is compiled from it.
        site.file(target, "")?;
        pairs.extend([text(&site.source.join(source)), text(&site.source.join(target))]);
        Ok(())
    };
    for (number, (source, target)) in Site::prefixes(SOURCES).zip(Site::prefixes(COMPILED)).enumerate() {
        let part =
            format!("(define-module (pkg{number} part) #:export (value{number}))\n(define value{number} {number})\n");
        let whole =
            format!("(define-module (pkg{number}) #:use-module (pkg{number} part) #:re-export (value{number}))\n");
        compiled(site, &format!("{source}/pkg{number}/part.scm"), &format!("{target}/pkg{number}/part.go"), &part)?;
        compiled(site, &format!("{source}/pkg{number}.scm"), &format!("{target}/pkg{number}.go"), &whole)?;
        app += &format!("(use-modules (pkg{number}))\n");
    }
    app += "(use-modules (ice-9 match) (ice-9 regex) (srfi srfi-1) (srfi srfi-9))\n(display (+ ";
    app += &(0..PREFIXES).map(|number| format!("value{number}")).collect::<Vec<_>>().join(" ");
    app += "))\n(display (if (false-if-exception (resolve-interface '(not there))) \" there\\n\" \" absent\\n\"))\n";
    compiled(site, "app.scm", "app.go", &app)?;
    let script = site.source.join("compile.scm");
    fs::write(&script, COMPILE)?;
    let path = Site::prefixes(SOURCES).map(|prefix| text(&site.source.join(prefix))).collect::<Vec<_>>().join(":");
    let mut command = words(["env", "GUILE_AUTO_COMPILE=0"]);
    command.extend([format!("GUILE_LOAD_PATH={path}"), "/usr/bin/guile".to_owned(), "--no-auto-compile".to_owned()]);
    command.push(text(&script));
    command.extend(pairs);
    workshop.runner.run(&command)?;
    fs::remove_file(&script)?;
    site.farm("farm-sources", Site::prefixes(SOURCES))?;
    site.farm("farm-compiled", Site::prefixes(COMPILED))?;
    let way = |name: &str, sources: String, compiled: String| Way {
        name: name.to_owned(),
        command: vec![
            "/usr/bin/guile".to_owned(),
            "--no-auto-compile".to_owned(),
            "-c".to_owned(),
            format!("(load-compiled \"{}\")", site.seen("app.go")),
        ],
        variables: vec![
            ("GUILE_LOAD_PATH".to_owned(), sources),
            ("GUILE_LOAD_COMPILED_PATH".to_owned(), compiled),
            ("GUILE_AUTO_COMPILE".to_owned(), "0".to_owned()),
        ],
    };
    Ok(World {
        plain: way("plain", site.list(Site::prefixes(SOURCES)), site.list(Site::prefixes(COMPILED))),
        others: vec![way("link farm", site.seen("farm-sources"), site.seen("farm-compiled"))],
        limits: Limits { calls: Some(0.1), hot: Some(0.42), cold: Some(10.0) },
    })
}
