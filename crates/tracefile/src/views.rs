//! The views: the tables with names instead of numbers, and milliseconds instead of nanoseconds.
//!
//! `CROSS JOIN` tells SQLite to use the tables in the written order: without indices and statistics it might begin
//! with a small table and read all events once for each of its rows. SQLite itself omits joins and lookups for
//! columns that a query does not use.

/// The symbol that holds `code_address`: the last that begins there or before, if it reaches that far.
macro_rules! symbol_at_code {
    () => {
        "(SELECT CASE WHEN size = 0 OR event.code_address < address + size THEN coalesce(name, printf('fn_%x', address)) END
     FROM symbol WHERE object = code_file.object AND address <= event.code_address
     ORDER BY address DESC, nth DESC LIMIT 1)"
    };
}

/// When an event was, in ns since the launch.
macro_rules! at {
    () => {
        "coalesce((SELECT at FROM moment WHERE moment.event = event.id), event.id >> 6)"
    };
}

/// The address of a touched page, without load bias.
macro_rules! page_address {
    () => {
        "(event.page * 4096 + CASE WHEN kind.zero_filled THEN 0 ELSE section.address - section.offset END)"
    };
}

/// Joins that say who did an event and where.
macro_rules! event_joins {
    () => {
        "event
CROSS JOIN kind ON kind.id = event.kind
LEFT JOIN thread ON thread.id = event.thread
LEFT JOIN process ON process.id = thread.process
LEFT JOIN file ON file.id = event.file
LEFT JOIN section ON section.id = event.section
LEFT JOIN file AS code_file
    ON code_file.id = CASE WHEN event.code_address IS NOT NULL THEN coalesce(event.code_file, event.file) END"
    };
}

/// Name and text of each view. The texts are compared with what a file says of its views, byte for byte.
pub(crate) const VIEWS: &[(&str, &str)] = &[
    (
        "events",
        concat!(
            "CREATE VIEW events AS
SELECT event.id AS event, ",
            at!(),
            " AS at, event.thread AS thread, thread.process AS process, kind.what AS what, event.kind AS kind,
    event.file AS file, event.page AS page, event.pages AS pages, event.section AS section,
    CASE WHEN event.code_address IS NOT NULL THEN coalesce(event.code_file, event.file) END AS code_file,
    event.code_address AS code_address
FROM event
CROSS JOIN kind ON kind.id = event.kind
LEFT JOIN thread ON thread.id = event.thread"
        ),
    ),
    (
        "touches",
        concat!(
            "CREATE VIEW touches AS
SELECT event.id AS event, ",
            at!(),
            " / 1e6 AS at_ms, thread.process AS process, process.number AS pid, thread.number AS tid,
    file.path AS path, event.page AS page, event.pages AS pages, section.name AS section,
    CASE WHEN kind.execute THEN ",
            symbol_at_code!(),
            "
    ELSE coalesce(
        (SELECT CASE WHEN size = 0 OR ",
            page_address!(),
            " < address + size
            THEN coalesce(name, printf('fn_%x', address)) END
         FROM symbol WHERE object = section.object AND address >= section.address AND address <= ",
            page_address!(),
            "
         ORDER BY address DESC, nth DESC LIMIT 1),
        (SELECT coalesce(name, printf('fn_%x', address))
         FROM symbol WHERE object = section.object AND address > max(section.address - 1, ",
            page_address!(),
            ")
         AND address < event.pages * 4096 + ",
            page_address!(),
            "
         ORDER BY address, nth LIMIT 1))
    END AS symbol,
    kind.access AS access, kind.major AS major, kind.by_kernel AS by_kernel, kind.zero_filled AS zero_filled,
    kind.first_of_run AS first_of_run, code_file.path AS code_path, ",
            symbol_at_code!(),
            " AS code_symbol, event.code_address AS code_address
FROM ",
            event_joins!(),
            "
WHERE kind.what = 'touch'"
        ),
    ),
    (
        "functions",
        concat!(
            "CREATE VIEW functions AS
SELECT event.id AS event, ",
            at!(),
            " / 1e6 AS at_ms, thread.process AS process, process.number AS pid, thread.number AS tid,
    code_file.path AS path, section.name AS section, ",
            symbol_at_code!(),
            " AS symbol,
    event.code_address AS address, event.page AS page
FROM ",
            event_joins!(),
            "
WHERE kind.what = 'function'"
        ),
    ),
    (
        "reads",
        concat!(
            "CREATE VIEW reads AS
SELECT event.id AS event, ",
            at!(),
            " / 1e6 AS at_ms, thread.process AS process, process.number AS pid, thread.number AS tid,
    file.path AS path, file.category AS category, event.page AS page, event.pages AS pages, event.pages * 4096 AS bytes
FROM ",
            event_joins!(),
            "
WHERE kind.what = 'read'"
        ),
    ),
    (
        "fills",
        concat!(
            "CREATE VIEW fills AS
SELECT event.id AS event, ",
            at!(),
            " / 1e6 AS at_ms, thread.process AS process, process.number AS pid, thread.number AS tid,
    file.path AS path, file.category AS category, section.name AS section, event.page AS page, event.pages AS pages,
    event.pages * 4096 AS bytes, kind.cause AS cause
FROM ",
            event_joins!(),
            "
WHERE kind.what = 'fill'"
        ),
    ),
    (
        "lookups",
        "CREATE VIEW lookups AS
SELECT lookup.id AS lookup, lookup.at / 1e6 AS at_ms, lookup.process AS process, process.number AS pid,
    process.program AS program, coalesce(lookup.path, file.path) AS path, lookup.kind AS kind, lookup.failed AS failed,
    file.path AS means
FROM lookup
LEFT JOIN process ON process.id = lookup.process
LEFT JOIN file ON file.id = lookup.file",
    ),
    (
        "phases",
        "CREATE VIEW phases AS
SELECT phase.id AS phase, phase.process AS process, process.number AS pid, process.program AS program, phase.kind AS kind,
    file.path AS path,
    (SELECT CASE WHEN size = 0 OR phase.address < symbol.address + size
        THEN coalesce(name, printf('fn_%x', symbol.address)) END
     FROM symbol WHERE object = file.object AND symbol.address <= phase.address
     ORDER BY symbol.address DESC, nth DESC LIMIT 1) AS symbol,
    phase.address AS address, phase.begin_at / 1e6 AS begin_ms, phase.end_at / 1e6 AS end_ms,
    (phase.end_at - phase.begin_at) / 1e6 AS duration_ms, phase.parent AS parent, phase.known AS known
FROM phase
LEFT JOIN process ON process.id = phase.process
LEFT JOIN file ON file.id = phase.file",
    ),
    (
        "files",
        "CREATE VIEW files AS
SELECT file.id AS file, file.path AS path, file.category AS category, file.size AS size,
    coalesce(touches, 0) AS touches, coalesce(major_faults, 0) AS major_faults, coalesce(bytes_touched, 0) AS bytes_touched,
    coalesce(functions, 0) AS functions, coalesce(bytes_read, 0) AS bytes_read, coalesce(bytes_filled, 0) AS bytes_filled,
    first_at / 1e6 AS first_ms
FROM file
LEFT JOIN (SELECT event.file AS used, count(kind.access) AS touches, sum(kind.major) AS major_faults,
        4096 * sum(CASE WHEN kind.first_of_run AND NOT kind.zero_filled THEN event.pages ELSE 0 END) AS bytes_touched,
        sum(kind.what = 'function') AS functions,
        4096 * sum(CASE WHEN kind.what = 'read' THEN event.pages ELSE 0 END) AS bytes_read,
        4096 * sum(CASE WHEN kind.what = 'fill' THEN event.pages ELSE 0 END) AS bytes_filled, min(event.id >> 6) AS first_at
    FROM event CROSS JOIN kind ON kind.id = event.kind GROUP BY event.file) ON used = file.id",
    ),
    (
        "sections",
        "CREATE VIEW sections AS
SELECT section.id AS section_id, file.path AS path, section.name AS section, section.address AS address,
    section.offset AS offset, section.size AS size, coalesce(touches, 0) AS touches, coalesce(major_faults, 0) AS major_faults,
    coalesce(functions, 0) AS functions, first_at / 1e6 AS first_ms
FROM section
JOIN object ON object.id = section.object
JOIN file ON file.id = object.file
LEFT JOIN (SELECT event.section AS used, count(kind.access) AS touches, sum(kind.major) AS major_faults,
        sum(kind.what = 'function') AS functions, min(event.id >> 6) AS first_at
    FROM event CROSS JOIN kind ON kind.id = event.kind GROUP BY event.section) ON used = section.id",
    ),
    (
        "symbols",
        "CREATE VIEW symbols AS
SELECT file.path AS path, coalesce(symbol.name, printf('fn_%x', symbol.address)) AS symbol, symbol.is_function AS is_function,
    symbol.address AS address, symbol.size AS size,
    (symbol.address - segment.address + segment.offset) / 4096 AS first_page,
    (symbol.address - segment.address + segment.offset + max(symbol.size, 1) - 1) / 4096 AS last_page
FROM symbol
JOIN object ON object.id = symbol.object
JOIN file ON file.id = object.file
LEFT JOIN segment ON segment.object = symbol.object AND symbol.address >= segment.address
    AND symbol.address < segment.address + segment.file_size",
    ),
    (
        "relocations",
        "CREATE VIEW relocations AS
SELECT file.path AS path, table_name.name AS table_name, relocation.first AS first, relocation.count AS count,
    kind_name.name AS kind, section_name.name AS section, relocation.lowest_address AS lowest_address,
    relocation.highest_address AS highest_address
FROM relocation
JOIN object ON object.id = relocation.object
JOIN file ON file.id = object.file
LEFT JOIN name AS table_name ON table_name.id = relocation.table_name
LEFT JOIN name AS kind_name ON kind_name.id = relocation.kind
LEFT JOIN name AS section_name ON section_name.id = relocation.section",
    ),
    (
        "processes",
        "CREATE VIEW processes AS
SELECT process.id AS process, process.number AS pid, process.parent AS parent, process.program AS program,
    (SELECT group_concat(word, ' ') FROM argument WHERE argument.process = process.id) AS command,
    process.began_at / 1e6 AS began_ms, process.ended_at / 1e6 AS ended_ms, process.executed AS executed,
    process.pages AS pages
FROM process",
    ),
];

/// The names of a view's columns, as a question for all of them is answered; none if there is no such view.
pub fn columns(view: &str) -> Vec<String> {
    let ask = || -> rusqlite::Result<Vec<String>> {
        let database = rusqlite::Connection::open_in_memory()?;
        for (_, text) in crate::schema::TABLES.iter().chain(VIEWS) {
            database.execute_batch(text)?;
        }
        let known = VIEWS.iter().find(|(name, _)| *name == view).map_or("", |(name, _)| *name);
        let question = database.prepare(&format!("SELECT * FROM {known}"))?;
        Ok(question.column_names().map(str::to_owned).collect())
    };
    ask().unwrap_or_default()
}
