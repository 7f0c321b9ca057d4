//! Reads pages as browsers and the viewer do, written apart from what writes them.

use std::collections::HashMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{EventKind, PhaseId, Trace};
use serde_json::Value;

/// An element of a page.
pub(crate) struct Script {
    pub(crate) attributes: String,
    pub(crate) text: String,
}

/// The script elements of a page, by the rule of HTML: each ends at the first `</script` that follows.
pub(crate) fn scripts(page: &[u8]) -> Vec<Script> {
    let page = std::str::from_utf8(page).unwrap();
    let lower = page.to_ascii_lowercase();
    let (mut scripts, mut at) = (Vec::new(), 0);
    while let Some(begin) = lower[at..].find("<script") {
        let attributes = at + begin + "<script".len();
        let text = attributes + page[attributes..].find('>').unwrap() + 1;
        let end = text + lower[text..].find("</script").unwrap();
        let script = Script { attributes: page[attributes..text - 1].to_owned(), text: page[text..end].to_owned() };
        scripts.push(script);
        at = end + "</script>".len();
    }
    scripts
}

/// The page without what stands in script and style elements: what a browser takes for HTML.
pub(crate) fn markup(page: &[u8]) -> String {
    let mut markup = String::from_utf8(page.to_vec()).unwrap();
    for (begin, end) in [("<script", "</script>"), ("<style", "</style>")] {
        let (mut kept, mut rest) = (String::new(), markup.as_str());
        while let Some(at) = rest.find(begin) {
            let behind = at + rest[at..].find(end).unwrap() + end.len();
            kept.push_str(&rest[..at]);
            rest = &rest[behind..];
        }
        kept.push_str(rest);
        markup = kept;
    }
    markup
}

/// The text of the element with an id.
pub(crate) fn element(page: &[u8], id: &str) -> String {
    let attribute = format!("id=\"{id}\"");
    let mut found = scripts(page).into_iter().filter(|script| script.attributes.contains(&attribute));
    let script = found.next().unwrap_or_else(|| panic!("no element {id}"));
    assert!(found.next().is_none(), "two elements {id}");
    script.text
}

/// The element `coldstart-page`.
pub(crate) fn head(page: &[u8]) -> Value {
    serde_json::from_str(&element(page, "coldstart-page")).unwrap()
}

/// One trace as it stands in a page.
pub(crate) struct Decoded {
    pub(crate) head: Value,
    columns: HashMap<String, (Vec<u8>, usize)>,
}

/// An event as it stands in a page.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) at: u64,
    pub(crate) thread: u64,
    pub(crate) kind: EventKind,
    pub(crate) file: Option<u32>,
    pub(crate) page: u64,
    pub(crate) pages: u64,
    /// The symbol's file, address and name.
    pub(crate) code: Option<(u32, u64, String)>,
}

/// A phase as it stands in a page: the names of kinds, and the symbol that holds its address.
#[derive(Debug, PartialEq)]
pub(crate) struct PhaseRow {
    pub(crate) process: u64,
    pub(crate) kind: String,
    pub(crate) file: Option<u64>,
    pub(crate) address: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) times: [u64; 3],
    pub(crate) parent: Option<u64>,
    pub(crate) known: String,
}

/// Numbers are cut down to this.
pub(crate) const GREATEST: u64 = 1 << 53;

/// Reads the data of a trace.
pub(crate) fn decode(page: &[u8], place: usize) -> Decoded {
    let packed = STANDARD.decode(element(page, &format!("coldstart-data-{place}"))).unwrap();
    let mut all = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut all).unwrap();
    let length = u32::from_le_bytes(all[..4].try_into().unwrap()) as usize;
    let (head, bytes) = all[4..].split_at(length);
    let head: Value = serde_json::from_slice(head).unwrap();
    let mut columns = HashMap::new();
    let mut end = 0;
    for column in head["columns"].as_array().unwrap() {
        let number = |name: &str| column[name].as_u64().unwrap() as usize;
        assert_eq!(number("offset"), end, "columns stand one behind the other");
        end += number("length");
        let content = bytes[number("offset")..end].to_vec();
        let name = column["name"].as_str().unwrap().to_owned();
        assert!(columns.insert(name, (content, number("rows"))).is_none());
    }
    assert_eq!(end, bytes.len(), "nothing stands behind the last column");
    Decoded { head, columns }
}

impl Decoded {
    fn bytes(&self, name: &str) -> &[u8] {
        &self.columns[name].0
    }

    fn varints(&self, name: &str) -> Vec<u64> {
        let (bytes, rows) = &self.columns[name];
        let (mut numbers, mut number, mut shift) = (Vec::new(), 0u64, 0);
        for byte in bytes {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                assert!(number <= GREATEST);
                numbers.push(number);
                (number, shift) = (0, 0);
            }
        }
        assert_eq!((numbers.len(), shift), (*rows, 0), "{name}");
        numbers
    }

    fn range(pair: &Value) -> std::ops::Range<usize> {
        let (first, count) = (pair[0].as_u64().unwrap() as usize, pair[1].as_u64().unwrap() as usize);
        first..first + count
    }

    /// Of each symbol: its file, address, size, whether it is code, and its name.
    pub(crate) fn symbols(&self) -> Vec<(u32, u64, u64, bool, String)> {
        let (addresses, sizes, lengths) =
            (self.varints("symbol.address"), self.varints("symbol.size"), self.varints("symbol.name_length"));
        let functions = self.bytes("symbol.function");
        let (mut names, mut symbols) = (self.bytes("symbol.names"), Vec::new());
        for (file, head) in self.head["files"].as_array().unwrap().iter().enumerate() {
            let Some(range) = head["object"].get("symbols").map(Self::range) else { continue };
            assert_eq!(range.start, symbols.len(), "groups stand one behind the other");
            let mut address = 0;
            for row in range {
                address += addresses[row];
                let (name, rest) = names.split_at(lengths[row] as usize);
                names = rest;
                let name = std::str::from_utf8(name).unwrap();
                let name = if name.is_empty() { format!("fn_{address:x}") } else { name.to_owned() };
                symbols.push((file as u32, address, sizes[row], functions[row] == 1, name));
            }
        }
        assert_eq!((symbols.len(), names.len()), (addresses.len(), 0));
        symbols
    }

    /// All events, as they stand.
    pub(crate) fn events(&self) -> Vec<Row> {
        let symbols = self.symbols();
        let [at, page, pages, thread, code] =
            ["at", "page", "pages", "thread", "code"].map(|name| self.varints(&format!("event.{name}")));
        let kinds = self.bytes("event.kind");
        let files = self.head["files"].as_array().unwrap();
        let mut groups: Vec<_> =
            (0u32..).zip(files).map(|(file, head)| (Some(file), Self::range(&head["events"]))).collect();
        let behind = groups.last().map_or(0, |(_, range)| range.end);
        groups.push((None, behind..kinds.len()));
        let mut rows = Vec::new();
        for (file, range) in groups {
            assert_eq!(range.start, rows.len(), "groups stand one behind the other");
            let (mut moment, mut place) = (0u64, 0i64);
            for row in range {
                moment += at[row];
                place += (page[row] >> 1) as i64 ^ -((page[row] & 1) as i64);
                let symbol = code[row].checked_sub(1).map(|symbol| &symbols[symbol as usize]);
                rows.push(Row {
                    at: moment,
                    thread: thread[row],
                    kind: EventKind::from_number(kinds[row]).unwrap(),
                    file,
                    page: u64::try_from(place).unwrap(),
                    pages: pages[row],
                    code: symbol.map(|(file, address, _, _, name)| (*file, *address, name.clone())),
                });
            }
        }
        rows
    }

    /// All phases, as they stand.
    pub(crate) fn phases(&self) -> Vec<PhaseRow> {
        let symbols = self.symbols();
        let column = |name: &str| self.varints(&format!("phase.{name}"));
        let summed = |name: &str| -> Vec<u64> {
            let mut sum = 0i64;
            let steps = column(name).into_iter().map(|step| (step >> 1) as i64 ^ -((step & 1) as i64));
            steps
                .map(|step| {
                    sum += step;
                    u64::try_from(sum).unwrap()
                })
                .collect()
        };
        let word = |list: &str, column: &str, row: usize| {
            let place = usize::from(self.bytes(column)[row]);
            self.head[list][place].as_str().unwrap().to_owned()
        };
        let [process, file, parent, address, symbol, own] =
            ["process", "file", "parent", "address", "symbol", "own"].map(column);
        let (begin, end) = (summed("begin"), summed("end"));
        let rows = (0..process.len()).map(|row| PhaseRow {
            process: process[row],
            kind: word("phaseKinds", "phase.kind", row),
            file: file[row].checked_sub(1),
            address: address[row].checked_sub(1),
            name: symbol[row].checked_sub(1).map(|symbol| symbols[symbol as usize].4.clone()),
            times: [begin[row], end[row], own[row]],
            parent: (parent[row] > 0).then(|| row as u64 - parent[row]),
            known: word("phaseEnds", "phase.known", row),
        });
        rows.collect()
    }
}

/// What phases should stand there.
pub(crate) fn expected_phases(trace: &Trace, figures: &Figures) -> Vec<PhaseRow> {
    let (least, cut) = (|number: u64| number.min((GREATEST >> 1) - 1), |number: u64| number.min(GREATEST));
    let rows = (0u32..).zip(&trace.phases).map(|(place, phase)| {
        let file = phase.file.filter(|file| (file.0 as usize) < trace.files.len());
        let object = file.and_then(|file| trace.object(file));
        let symbol = object.zip(phase.address).and_then(|(object, address)| object.symbol_at(address));
        PhaseRow {
            process: phase.process.0.into(),
            kind: phase.kind.name().to_owned(),
            file: file.map(|file| file.0.into()),
            address: phase.address.map(|address| cut(address.saturating_add(1)) - 1),
            name: symbol.map(|symbol| shown(&symbol.name, symbol.address)),
            times: [least(phase.begin.0), least(phase.end.0), cut(figures.times.own_of(PhaseId(place)))],
            parent: phase.parent.filter(|parent| parent.0 < place).map(|parent| parent.0.into()),
            known: phase.known.name().to_owned(),
        }
    });
    rows.collect()
}

/// What should stand there.
pub(crate) fn expected(trace: &Trace) -> Vec<Row> {
    let known = |file: u32| ((file as usize) < trace.files.len()).then_some(file);
    let rows = trace.events.iter().map(|event| {
        let code = event.code.filter(|code| known(code.file.0).is_some());
        let symbol = code.and_then(|code| Some((code.file, trace.object(code.file)?.symbol_at(code.address)?)));
        Row {
            at: event.at.0.min(GREATEST),
            thread: event.thread.0.into(),
            kind: event.kind,
            file: event.file.and_then(|file| known(file.0)),
            page: event.page.min((GREATEST >> 1) - 1),
            pages: event.pages.into(),
            code: symbol
                .map(|(file, symbol)| (file.0, symbol.address.min(GREATEST), shown(&symbol.name, symbol.address))),
        }
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by_key(|row| row.file.unwrap_or(u32::MAX));
    rows
}

/// A symbol's name in a page: one without a name is shown as its address.
pub(crate) fn shown(name: &str, address: u64) -> String {
    if name.is_empty() { format!("fn_{:x}", address.min(GREATEST)) } else { name.to_owned() }
}
