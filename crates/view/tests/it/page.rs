//! Pages are read again and must hold what the trace holds; nothing in a trace may become markup.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{FileId, Trace};
use coldstart_view::page::{ReportKind, TraceSource, report_page, trace_page};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::decoded::{decode, element, expected, expected_phases, head, markup, scripts, shown};

/// Every way out of an element, an attribute or a string that comes to mind.
const HOSTILE: &str = "</script></title></style></noscript><!--<script><img src=x onerror=alert(1)>]]>\"'`&lt;&\u{2028}\u{2029}\0\r\u{202e}${x}\\";

fn page_of(trace: &Trace) -> Vec<u8> {
    let figures = Figures::of(trace);
    trace_page(&TraceSource { source: "a.coldtrace", trace, figures: &figures }, None).unwrap()
}

fn assert_holds(trace: &Trace, page: &[u8], place: usize) -> Value {
    let decoded = decode(page, place);
    assert_eq!(decoded.events(), expected(trace));
    let mut symbols = Vec::new();
    for file in (0u32..).zip(&trace.files).map(|(file, _)| file) {
        let Some(object) = trace.object(FileId(file)) else { continue };
        symbols.extend(object.symbols.iter().map(|symbol| {
            let cut = |number: u64| number.min(crate::decoded::GREATEST);
            (file, cut(symbol.address), cut(symbol.size), symbol.is_function, shown(&symbol.name, symbol.address))
        }));
    }
    assert_eq!(decoded.symbols(), symbols);
    assert_eq!(decoded.phases(), expected_phases(trace, &Figures::of(trace)));
    let lengths = ["processes", "threads", "files"].map(|name| decoded.head[name].as_array().unwrap().len());
    assert_eq!(lengths, [trace.processes.len(), trace.threads.len(), trace.files.len()]);
    for (head, file) in decoded.head["files"].as_array().unwrap().iter().zip(&trace.files) {
        assert_eq!(head["path"], file.path.to_string_lossy().as_ref());
    }
    decoded.head
}

/// What must hold of any page, whatever stands in it.
fn assert_is_harmless(page: &[u8], elements: usize) {
    let scripts = scripts(page);
    assert_eq!(scripts.len(), elements);
    let data = scripts.iter().filter(|script| script.attributes.contains("type=")).count();
    assert_eq!(data + 1, elements, "one element is run, the others are data");
    assert!(
        scripts.first().unwrap().attributes.is_empty(),
        "what is run stands in front of the data, for which it waits"
    );
    let markup = markup(page);
    let tags: Vec<&str> = markup.split('<').skip(1).map(|tag| tag.split([' ', '>', '\n']).next().unwrap()).collect();
    let allowed = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "/title",
        "link",
        "/head",
        "body",
        "div",
        "noscript",
        "p",
        "/p",
        "/noscript",
        "/div",
        "/body",
        "/html",
    ];
    for tag in &tags {
        assert!(allowed.contains(tag), "{tag}");
    }
    assert_eq!(tags.iter().filter(|tag| **tag == "title").count(), 1);
    assert!(!markup.contains(['\0', '\r']));
}

#[test]
fn a_small_trace_comes_back() {
    let trace = crate::common::small();
    let page = page_of(&trace);
    assert_is_harmless(&page, 3);
    let of_page = head(&page);
    assert_eq!((of_page["kind"].as_str(), of_page["traces"].as_u64()), (Some("trace"), Some(1)));
    assert_eq!(of_page["title"], "p caf\u{fffd}");
    let head = assert_holds(&trace, &page, 0);
    assert_eq!(head["format"], 2);
    assert_eq!(head["run"]["command"], json!(["/opt/p", "caf\u{fffd}"]));
    assert_eq!(head["run"]["ready"], "after 9.00 ms, when it ended; it exited with code 0");
    assert_eq!(head["run"]["readyAt"], 9_000_000);
    let phases = decode(&page, 0).phases();
    assert_eq!((phases[2].name.as_deref(), phases[1].times[2]), (Some("fn_2000"), 600_000));
    assert_eq!(head["initialisers"][0]["phases"], json!([2]));
    let file = &head["files"][0];
    assert_eq!(file["object"]["sections"][0]["class"], "code");
    assert_eq!(file["object"]["sections"][0]["pages"]["all"], 2);
    assert_eq!(file["figures"]["touched"], 8192);
    // Only phases and pages were recorded.
    assert_eq!((&file["figures"]["read"], &file["figures"]["functions"]), (&Value::Null, &Value::Null));
    assert_eq!(head["missing"], json!([{"directory": "/etc", "count": 1, "first": "missing"}]));
}

#[test]
fn two_traces_stand_in_one_page_with_their_partners() {
    let (first, mut second) = (crate::common::small(), crate::common::small());
    second.files[1].path = "/tmp/packed/libq.so".into();
    let (of_first, of_second) = (Figures::of(&first), Figures::of(&second));
    let source = |trace, figures| TraceSource { source: "a", trace, figures };
    let page = trace_page(&source(&first, &of_first), Some(&source(&second, &of_second))).unwrap();
    assert_is_harmless(&page, 4);
    assert_holds(&first, &page, 0);
    assert_holds(&second, &page, 1);
    let comparison = &head(&page)["comparison"];
    assert_eq!(comparison["partners"], json!([0, 1, 2]));
    assert_eq!(comparison["caveats"].as_array().unwrap().len(), 1);
}

#[test]
fn hostile_names_stay_text() {
    let mut trace = crate::common::small();
    let path = || [HOSTILE.replace('\0', "").as_bytes(), b"\xff\xfe/x"].concat();
    let os = || OsString::from_vec(path());
    trace.run.command = vec![os(), os()];
    trace.run.readiness = HOSTILE.to_owned();
    trace.run.kernel = HOSTILE.to_owned();
    trace.run.notes = vec![HOSTILE.to_owned()];
    for process in &mut trace.processes {
        process.program = os().into();
        process.arguments = vec![os()];
        process.notes = vec![HOSTILE.to_owned()];
    }
    for file in &mut trace.files {
        file.path = os().into();
    }
    for object in &mut trace.objects {
        object.soname = Some(HOSTILE.to_owned());
        object.build_id = Some(HOSTILE.to_owned());
        object.sections.iter_mut().for_each(|section| section.name = HOSTILE.to_owned());
        object.symbols.iter_mut().for_each(|symbol| symbol.name = HOSTILE.to_owned());
    }
    trace.lookups.iter_mut().for_each(|lookup| lookup.path = os().into());
    let figures = Figures::of(&trace);
    let source = TraceSource { source: HOSTILE, trace: &trace, figures: &figures };
    let page = trace_page(&source, Some(&source)).unwrap();
    assert_is_harmless(&page, 4);
    assert_holds(&trace, &page, 0);
    let head = assert_holds(&trace, &page, 1);
    assert_eq!(head["source"], HOSTILE);
    assert_eq!(head["run"]["readyAt"], 9_000_000);
    assert_eq!(head["files"][0]["object"]["sections"][0]["name"], HOSTILE);
    let title = crate::decoded::head(&page)["title"].as_str().unwrap().to_owned();
    assert!(title.contains("onerror=alert(1)"), "{title}");
    let json = element(&page, "coldstart-page");
    assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));

    let report = json!({HOSTILE: [HOSTILE, {"x": HOSTILE}]});
    let page = report_page(ReportKind::Speedup, HOSTILE, &report).unwrap();
    assert_is_harmless(&page, 2);
    assert_eq!(crate::decoded::head(&page)["report"], report);
    assert_eq!(crate::decoded::head(&page)["title"], HOSTILE);
}

#[test]
fn a_page_asks_for_nothing() {
    let page = page_of(&crate::common::small());
    let markup = markup(&page);
    assert!(markup.contains("default-src 'none'") && markup.contains("script-src 'sha256-"));
    assert!(!markup.contains("unsafe-eval") && !markup.contains("connect-src"));
    assert!(markup.find("Content-Security-Policy") < markup.find("<title>"));
    let without_namespace = markup.replace("http://www.w3.org/2000/svg", "");
    assert!(!without_namespace.contains("://") && !without_namespace.contains("src="));
}

#[test]
fn nearly_empty_traces_have_pages() {
    let nothing = Trace::default();
    let page = page_of(&nothing);
    assert_is_harmless(&page, 3);
    assert_holds(&nothing, &page, 0);
    assert_eq!(head(&page)["title"], "A start");
    let mut bare = crate::common::small();
    bare.objects.clear();
    assert_holds(&bare, &page_of(&bare), 0);
    bare.files.clear();
    bare.processes.clear();
    bare.threads.clear();
    assert_holds(&bare, &page_of(&bare), 0);
}

#[test]
fn reports_are_their_own_json() {
    let report = json!({"schema": "coldstart.measure/1", "runs": [1.5, null]});
    let page = report_page(ReportKind::Measure, "soffice", &report).unwrap();
    assert_is_harmless(&page, 2);
    let head = head(&page);
    assert_eq!((head["kind"].as_str(), head["traces"].as_u64()), (Some("measure"), Some(0)));
    assert_eq!((head["title"].as_str(), &head["report"]), (Some("soffice"), &report));
    assert!(head.get("comparison").is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_trace_comes_back(first in crate::common::any::trace(), second in crate::common::any::trace()) {
        let (of_first, of_second) = (Figures::of(&first), Figures::of(&second));
        let source = |trace, figures| TraceSource { source: "a", trace, figures };
        let page = trace_page(&source(&first, &of_first), Some(&source(&second, &of_second))).unwrap();
        assert_is_harmless(&page, 4);
        assert_holds(&first, &page, 0);
        assert_holds(&second, &page, 1);
        let comparison = &head(&page)["comparison"]["partners"];
        let partners: Vec<u64> = comparison.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        prop_assert!(partners.iter().all(|partner| (*partner as usize) < second.files.len()));
        let different: std::collections::BTreeSet<_> = partners.iter().collect();
        prop_assert_eq!(different.len(), partners.len());
    }
}
