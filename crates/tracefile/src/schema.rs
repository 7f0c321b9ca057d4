//! The tables.
//!
//! `docs/formats/trace.md` explains each column. Table names are singular, the names of views (`views.rs`) plural.
//! Row numbers are indices in the lists of the data model, from 0 on, and rows are in that order; so the order of a
//! list needs no column, and a missing or duplicate row is detected.
//!
//! What a newcomer would not guess: the number of an event is its moment, times 64, plus its index among the events
//! of the same nanosecond. SQLite stores the number of a row in any case, so the moment, the widest value of all,
//! costs nothing, and the events in a range of time are found without an index.

/// SQLite's `application_id` of trace files: "cldt".
pub const APPLICATION: u32 = 0x636c_6474;

/// The format, in SQLite's `user_version`.
pub(crate) const FORMAT: u32 = 1;

/// Bytes of a page of the database. SQLite's own default: small traces have two dozen tables of less than a page.
pub(crate) const DATABASE_PAGE: u32 = 4096;

/// The number of an event is its moment shifted by so many bits.
pub(crate) const MOMENT_SHIFT: u32 = 6;

/// Name and text of each table. The texts are compared with what a file says of its tables, byte for byte.
pub(crate) const TABLES: &[(&str, &str)] = &[
    ("meta", "CREATE TABLE meta (name TEXT NOT NULL, value NOT NULL)"),
    (
        "run",
        "CREATE TABLE run (
    started INTEGER NOT NULL, -- seconds since 1970-01-01 UTC
    layers TEXT NOT NULL, -- phases,pages,functions,files
    pages TEXT NOT NULL, -- each, fault-around, none
    state TEXT NOT NULL, -- as-is, cold, files-evicted
    ready_at INTEGER, -- ns since launch
    ended_at INTEGER NOT NULL, -- ns since launch
    how_it_ended TEXT NOT NULL, -- exited, signalled, ended-when-ready, timed-out, interrupted
    code INTEGER, -- exit code or signal
    readiness TEXT NOT NULL,
    lost_events INTEGER NOT NULL,
    stops INTEGER NOT NULL,
    stopped INTEGER NOT NULL, -- ns
    kernel TEXT NOT NULL,
    processors INTEGER NOT NULL,
    complete INTEGER NOT NULL
)",
    ),
    (
        "process",
        "CREATE TABLE process (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL, -- the kernel's
    parent INTEGER, -- process.id
    program TEXT NOT NULL, -- path
    began_at INTEGER NOT NULL, -- ns since launch
    ended_at INTEGER, -- ns since launch
    executed INTEGER NOT NULL,
    pages TEXT NOT NULL -- each, fault-around, none
)",
    ),
    (
        "argument",
        "CREATE TABLE argument (
    process INTEGER, -- process.id; NULL: a word of the command that was run
    word TEXT NOT NULL
)",
    ),
    (
        "note",
        "CREATE TABLE note (
    process INTEGER, -- process.id; NULL: about the run
    sentence TEXT NOT NULL
)",
    ),
    (
        "thread",
        "CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL, -- the kernel's
    process INTEGER NOT NULL -- process.id
)",
    ),
    (
        "file",
        "CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL, -- BLOB where it is not UTF-8
    device INTEGER NOT NULL, -- major << 20 | minor
    inode INTEGER NOT NULL,
    size INTEGER, -- bytes
    modified INTEGER, -- ns since 1970-01-01 UTC
    category TEXT NOT NULL, -- program, system, profile, data, metadata, memory
    object INTEGER -- object.id
)",
    ),
    (
        "object",
        "CREATE TABLE object (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL, -- file.id
    soname TEXT,
    build_id TEXT, -- hexadecimal
    machine INTEGER NOT NULL, -- e_machine
    is_64_bit INTEGER NOT NULL,
    entry INTEGER NOT NULL -- e_entry
)",
    ),
    (
        "segment",
        "CREATE TABLE segment (
    object INTEGER NOT NULL, -- object.id
    address INTEGER NOT NULL, -- without load bias
    offset INTEGER NOT NULL, -- bytes
    file_size INTEGER NOT NULL, -- bytes
    memory_size INTEGER NOT NULL, -- bytes
    flags INTEGER NOT NULL -- execute 1, write 2, read 4
)",
    ),
    (
        "section",
        "CREATE TABLE section (
    id INTEGER PRIMARY KEY,
    object INTEGER NOT NULL, -- object.id
    name TEXT NOT NULL,
    address INTEGER NOT NULL, -- without load bias
    offset INTEGER NOT NULL, -- bytes
    size INTEGER NOT NULL, -- bytes
    entry_size INTEGER NOT NULL, -- bytes; 0: no table
    is_zero_filled INTEGER NOT NULL
)",
    ),
    (
        "symbol",
        "CREATE TABLE symbol (
    object INTEGER NOT NULL, -- object.id
    address INTEGER NOT NULL, -- without load bias
    nth INTEGER NOT NULL, -- 0; of further symbols at the same address 1, 2, ...
    size INTEGER NOT NULL, -- bytes; 0: not known
    is_function INTEGER NOT NULL,
    name TEXT, -- NULL: fn_ and the address in hexadecimal
    PRIMARY KEY (object, address, nth)
) WITHOUT ROWID",
    ),
    ("name", "CREATE TABLE name (id INTEGER PRIMARY KEY, name TEXT NOT NULL)"),
    (
        "relocation",
        "CREATE TABLE relocation (
    object INTEGER NOT NULL, -- object.id
    table_name INTEGER NOT NULL, -- name.id
    first INTEGER NOT NULL, -- number of the first entry
    count INTEGER NOT NULL, -- entries
    kind INTEGER NOT NULL, -- name.id
    section INTEGER NOT NULL, -- name.id
    lowest_address INTEGER NOT NULL, -- without load bias
    highest_address INTEGER NOT NULL
)",
    ),
    (
        "load",
        "CREATE TABLE load (
    process INTEGER NOT NULL, -- process.id
    file INTEGER NOT NULL, -- file.id
    bias INTEGER NOT NULL,
    at INTEGER NOT NULL -- ns since launch
)",
    ),
    (
        "phase",
        "CREATE TABLE phase (
    id INTEGER PRIMARY KEY,
    process INTEGER NOT NULL, -- process.id
    kind TEXT NOT NULL,
    file INTEGER, -- file.id
    address INTEGER, -- of an initialiser, without load bias
    begin_at INTEGER NOT NULL, -- ns since launch
    end_at INTEGER NOT NULL, -- ns since launch
    parent INTEGER, -- phase.id
    known TEXT NOT NULL -- exactly, end-at-most, from-touches
)",
    ),
    (
        "kind",
        "CREATE TABLE kind (
    id INTEGER PRIMARY KEY,
    what TEXT NOT NULL, -- touch, function, read, fill
    access TEXT, -- of touches: execute, write, read, unknown
    write INTEGER, -- of touches; NULL: not known
    execute INTEGER,
    major INTEGER,
    by_kernel INTEGER,
    zero_filled INTEGER,
    first_of_run INTEGER,
    cause TEXT -- of fills: demand, readahead, other, unknown
)",
    ),
    (
        "event",
        "CREATE TABLE event (
    id INTEGER PRIMARY KEY, -- in order of time; id >> 6: ns since launch, unless it stands in moment
    thread INTEGER NOT NULL, -- thread.id
    kind INTEGER NOT NULL, -- kind.id
    file INTEGER, -- file.id
    page INTEGER NOT NULL, -- 4096 bytes each
    pages INTEGER NOT NULL,
    section INTEGER, -- section.id
    code_address INTEGER, -- without load bias
    code_file INTEGER -- file.id; NULL: the same as file
)",
    ),
    (
        "moment",
        "CREATE TABLE moment (
    event INTEGER PRIMARY KEY, -- event.id
    at INTEGER NOT NULL -- ns since launch
)",
    ),
    (
        "lookup",
        "CREATE TABLE lookup (
    id INTEGER PRIMARY KEY, -- in order of time
    at INTEGER NOT NULL, -- ns since launch
    process INTEGER, -- process.id
    kind TEXT NOT NULL, -- open, list, ask
    failed INTEGER NOT NULL,
    file INTEGER, -- file.id
    path TEXT -- NULL: that of the file
)",
    ),
];
