// What two traces have in common: files, figures, processes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pairGroups } from "../src/comparison/figures";
import type { FigureGroup, FileHead, PageHead, ProcessHead } from "../src/data/payload";
import type { Trace } from "../src/data/trace";
import { processCount } from "../src/processes";
import { firstFile } from "../src/start";

function file(path: string, events: number, object = true, touches?: number): FileHead {
  const found = object ? { soname: null, buildId: null, segments: [], sections: [], symbols: [0, 0] as [number, number] } : null;
  return { path, category: "program", size: 4096, events: [0, events], figures: touches === undefined ? null : ({ touches } as FileHead["figures"]), object: found };
}

function trace(...files: FileHead[]): Trace {
  return { head: { files } } as unknown as Trace;
}

function page(...partners: (number | null)[]): PageHead {
  return { kind: "trace", title: "", version: "", traces: 2, comparison: { partners, caveats: [] } };
}

test("the first map is of a file that something happened to, and both traces keep a file of both", () => {
  const full = trace(file("/a", 3), file("/b", 9));
  assert.deepEqual(firstFile(page(), [full]), { trace: 0, place: 1 });
  assert.deepEqual(firstFile(page(0, 1), [full, trace(file("/a", 90), file("/b", 1))]), { trace: 0, place: 1 });
  // Of phases alone nothing is known to have happened to a file.
  const bare = trace(file("/b", 0), file("/a", 0));
  assert.deepEqual(firstFile(page(1, 0), [bare, full]), { trace: 0, place: 0 }, "/b, which the first has, too");
  assert.deepEqual(firstFile(page(null, 0), [bare, full]), { trace: 1, place: 1 }, "/b, which the first does not know");
  assert.deepEqual(firstFile(page(1, 0), [bare, bare]), { trace: 0, place: 0 });
  // What was read or came from the disk was not touched: `-o OUT.svg` draws the same file.
  assert.deepEqual(firstFile(page(), [trace(file("/read", 9, true, 2), file("/touched", 5, true, 4), file("/data", 9, false, 9))]), { trace: 0, place: 1 });
});

test("a process that executes another program is counted once", () => {
  const process = (number: number, parent: number | null): ProcessHead => ({ number, parent, program: "/bin/sh", arguments: [], began: 0, ended: null, executed: true });
  // A shell that forks, whose child executes, and executes again; a number that is given anew is another process.
  const processes = [process(7, null), process(8, 0), process(8, 1), process(8, 2), process(7, 3)];
  assert.equal(processCount({ processes }), 3);
});

test("a note that holds for one of two traces says of which", () => {
  const group = (note: string): FigureGroup => ({ title: "Time", note, figures: [{ key: "time", label: "time", value: 1, unit: "count", lessIsBetter: true }] });
  const noteOf = (...notes: string[]) => pairGroups(notes.map((note) => [group(note)])).map(({ note }) => note).join();
  assert.equal(noteOf("Of sh (7)."), "Of sh (7).");
  assert.equal(noteOf("In bytes.", "In bytes."), "In bytes.");
  assert.equal(noteOf("Of sh (7).", "Of sh (8)."), "A: Of sh (7). B: Of sh (8).");
  assert.equal(noteOf("", "Some are missing."), "B: Some are missing.");
});
