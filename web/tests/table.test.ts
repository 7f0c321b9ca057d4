// The pure parts of tables, names, changes and lanes: order, search, CSV, what is shown of hostile names, which phase is where.

import assert from "node:assert/strict";
import { test } from "node:test";

import { whyNotComparable } from "../src/comparison/comparable";
import type { PhaseHead, RunHead } from "../src/data/payload";
import type { Trace } from "../src/data/trace";
import { baseName, commandLine, shortened, visible } from "../src/names";
import { changeText, percentText, verdictOf } from "../src/parts/change";
import type { SortKey, TableColumn } from "../src/table/columns";
import { csv } from "../src/table/csv";
import { allRows, search } from "../src/table/search";
import { sortRows } from "../src/table/sort";
import { firstEndingAfter, lanesOf } from "../src/timeline/lanes";
import { layOut, LEVEL_HEIGHT, phaseAt } from "../src/timeline/layout";
import { scaleOf, tickLabel, ticks, tickStep, toMoment, toPixel } from "../src/timeline/scale";

function column(keys: readonly SortKey[]): TableColumn {
  return { id: "key", label: "Key", width: "1rem", text: (row) => (keys[row] === null ? null : String(keys[row])), key: (row) => keys[row] ?? null };
}

function inOrder(keys: readonly SortKey[], descending: boolean): SortKey[] {
  return [...sortRows(allRows(keys.length), column(keys), descending)].map((row) => keys[row] ?? null);
}

test("rows without a key come last, whichever way the order runs", () => {
  assert.deepEqual(inOrder([3, null, -1, 0.5, null, -0], false), [-1, -0, 0.5, 3, null, null]);
  assert.deepEqual(inOrder([3, null, -1, 0.5], true), [3, 0.5, -1, null]);
  assert.deepEqual(inOrder(["b10", "b9", null, "A"], false), ["A", "b9", "b10", null]);
});

test("many rows are sorted as few are, and equal ones stay as they were", () => {
  let seed = 7;
  const keys = Array.from({ length: 20_000 }, (_, place) => {
    seed = (seed * 48271) % 2147483647;
    return place % 97 === 0 ? null : place % 31 === 0 ? -seed / 1000 : place % 5 === 0 ? seed % 10 : seed * 2 ** 20;
  });
  for (const descending of [false, true]) {
    const expected = [...keys.keys()].sort((left, right) => {
      const [first, second] = [keys[left] ?? null, keys[right] ?? null];
      if (first === null || second === null) return Number(first === null) - Number(second === null) || left - right;
      return (descending ? second - first : first - second) || left - right;
    });
    assert.deepEqual([...sortRows(allRows(keys.length), column(keys), descending)], expected);
  }
});

test("all words of a search must be in a row, in any column that is searched", () => {
  const names = ["libxul.so relocation", "libxul.so mapping", "libc.so relocation"];
  const columns = [column(names), { ...column(["x", "x", "hidden"]), align: "right" as const }];
  const found = (query: string) => {
    let rows: number[] = [];
    search(names.length, columns, query, (matches) => (rows = [...matches]));
    return rows;
  };
  assert.deepEqual(found("  RELOCATION libxul "), [0]);
  assert.deepEqual(found(""), [0, 1, 2]);
  assert.deepEqual(found("hidden"), []);
});

test("CSV has numbers as they are, quotes where they are needed, and a column for each value of a pair", () => {
  const pair: TableColumn = { ...column([null, null]), csv: [{ id: "a", value: (row) => row }, { id: "b", value: () => null }] };
  assert.equal(csv(allRows(2), [column([1.5, 'a "b",\nc']), pair]), 'key,a,b\r\n1.5,0,\r\n"a ""b"",\nc",1,\r\n');
});

test("names cannot hide what they are", () => {
  assert.equal(visible("a\u202egnp.exe\n\u0000"), "a\\u{202e}gnp.exe\\u{a}\\u{0}");
  assert.equal(visible("a\u00adb\u3164\u{e0041}\ufeff"), "a\\u{ad}b\\u{3164}\\u{e0041}\\u{feff}");
  assert.equal(baseName("/usr/lib/libc.so.6"), "libc.so.6");
  assert.equal(baseName("/"), "/");
  assert.equal(commandLine(["/bin/a", "b c", "it's", ""]), "/bin/a 'b c' 'it'\\''s' ''");
  assert.equal(shortened("abcdef", 4), "abc…");
  assert.equal(shortened("ab\u{1f600}cd", 4), "ab…");
});

test("changes have a sign, and what was not recorded has none", () => {
  assert.equal(changeText(10, 4, "count"), "\u22126");
  assert.equal(changeText(1e6, 3e6, "bytes"), "+2.00 MB");
  assert.equal(changeText(null, 3, "count"), null);
  assert.equal(changeText(3, 3, "count"), "no change");
  assert.equal(percentText(0, 5), null);
  assert.equal(percentText(200, 100), "\u221250 %");
  assert.equal(verdictOf(2, 1, true), "better");
  assert.equal(verdictOf(1, 2, true), "worse");
  assert.equal(verdictOf(1, 2, false), null);
  assert.equal(verdictOf(null, 2, true), null);
});

test("figures are not compared where they mean something else in each", () => {
  const run = { layers: ["phases", "pages"], pages: "each", lostEvents: 0, complete: true, state: "from cold caches" } as unknown as RunHead;
  assert.equal(whyNotComparable("touches.all", run, run), null);
  assert.notEqual(whyNotComparable("touches.all", run, { ...run, pages: "fault-around" }), null);
  assert.equal(whyNotComparable("names.failed", run, { ...run, pages: "fault-around" }), null);
  assert.notEqual(whyNotComparable("bytes.filled", run, { ...run, state: "as it was" }), null);
  const unknown = { ...run, state: "the caches as they were" };
  assert.notEqual(whyNotComparable("bytes.filled", unknown, unknown), null);
  assert.equal(whyNotComparable("time.ready", unknown, unknown), null);
  assert.notEqual(whyNotComparable("time.ready", run, { ...run, layers: ["phases"] }), null);
  assert.notEqual(whyNotComparable("functions.all", run, { ...run, lostEvents: 1 }), null);
});

function phase(begin: number, end: number, parent: number | null, process = 0): PhaseHead {
  return { process, kind: "main", file: null, address: null, name: null, begin, end, own: end - begin, parent, known: "exactly" };
}

test("inner phases stand below outer ones, and those of several threads below one another", () => {
  const head = {
    processes: [{ number: 1, parent: null, program: "/bin/a", arguments: [], began: 0, ended: 100, executed: true }],
    phases: [phase(0, 50, null), phase(10, 20, 0), phase(15, 30, 0), phase(40, 45, 1), phase(7, 8, 99)],
    files: [], run: { endedAt: 100 },
  };
  const lanes = lanesOf([{ head } as unknown as Trace], "beginning");
  const depth = (begin: number) => lanes[0]?.phases.find((known) => known.phase.begin === begin)?.depth;
  assert.deepEqual([0, 10, 15, 40].map(depth), [0, 1, 2, 2]);
  const level = lanes[0]?.levels[0] ?? [];
  assert.equal(firstEndingAfter(level, 51), level.length);

  const scale = scaleOf([0, 100], 88 + 1000 + 16);
  const found = phaseAt(layOut(lanes, true), scale, toPixel(scale, 12), LEVEL_HEIGHT * 1.5);
  assert.equal(found?.phase.phase.begin, 10);
  assert.equal(phaseAt(layOut(lanes, true), scale, toPixel(scale, 90), 3), null);
  assert.equal(phaseAt(layOut(lanes, false), scale, toPixel(scale, 42), 3)?.phase.phase.begin, 40);
});

test("moments and pixels go there and back, and ticks are round", () => {
  const scale = scaleOf([2e6, 12e6], 88 + 500 + 16);
  assert.equal(toPixel(scale, 2e6), 88);
  assert.equal(toMoment(scale, toPixel(scale, 7e6)), 7e6);
  assert.deepEqual(ticks(scale), [2e6, 4e6, 6e6, 8e6, 10e6, 12e6]);
  assert.equal(tickLabel(4e6, tickStep(scale)), "4 ms");
  assert.equal(tickLabel(4500, 500), "0.0045 ms");
  assert.equal(tickLabel(2e10, 5e9), "20 s");
});
