// Tests of reading numbers out of a page, and of what is made of moments.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { readVarints, unzigzag } from "../src/data/decode";
import { Trace } from "../src/data/trace";
import { categoryTimes } from "../src/map/elsewhere";

/** LEB128, written apart from what reads it. */
function varint(number: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt(number);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

test("numbers of any length come back", () => {
  const around = [7, 14, 21, 28, 31, 32, 35, 42, 49, 52].flatMap((bits) => [2 ** bits - 1, 2 ** bits, 2 ** bits + 1]);
  const numbers = [0, 1, ...around, 2 ** 53 - 1, 2 ** 53];
  assert.deepEqual([...readVarints(Uint8Array.from(numbers.flatMap(varint)), new Float64Array(numbers.length))], numbers);
  assert.deepEqual([...readVarints(Uint8Array.of(0, 5, 127), new Uint32Array(3))], [0, 5, 127]);
});

test("a column that ends too early is zero from there on", () => {
  assert.deepEqual([...readVarints(Uint8Array.of(0x81), new Float64Array(3))], [1, 0, 0]);
});

test("zigzag is undone on both sides of 32 bits", () => {
  for (const number of [0, 1, -1, 2, -2, 2 ** 30, -(2 ** 30), 2 ** 31, -(2 ** 31), 2 ** 52 - 1, -(2 ** 52 - 1)]) {
    assert.equal(unzigzag(number >= 0 ? number * 2 : -number * 2 - 1), number);
  }
});

test("moments of a category's files are one sorted list, of few files and of many", () => {
  for (const files of [1, 2, 3, 8, 9, 40]) {
    const lists = Array.from({ length: files }, (_, file) => Array.from({ length: (file * 7) % 5 }, (_, nth) => ((file * 31) % 17) + nth * 3));
    let first = 0;
    const heads = lists.map((list) => ({ category: "data", events: [(first += list.length) - list.length, list.length] }));
    const trace = { head: { files: heads }, at: Float64Array.from(lists.flat()) } as unknown as Trace;
    const [found] = categoryTimes(trace);
    assert.deepEqual([...(found?.times ?? [])], lists.flat().sort((left, right) => left - right));
  }
});

test("symbols are found by their rows, and phases come out of their columns", async () => {
  const names = ["", "\ufeffmain", "b"].map((name) => [...new TextEncoder().encode(name)]);
  const columns: [name: string, rows: number, bytes: number[]][] = [
    ...["at", "page", "pages", "kind", "thread", "code"].map((name): [string, number, number[]] => [`event.${name}`, 0, []]),
    ["symbol.address", 3, [0x10, 0x20, 0x30]], ["symbol.size", 3, [1, 1, 1]], ["symbol.function", 3, [1, 1, 1]], ["symbol.name_length", 3, names.map(({ length }) => length)], ["symbol.names", names.flat().length, names.flat()],
    // From 300 to 310, then from 290 to 320: steps forwards and back, as 0, -1, 1, -2 ... are written.
    ["phase.begin", 2, [...varint(600), 19]], ["phase.end", 2, [...varint(620), 20]], ["phase.own", 2, [7, 8]], ["phase.process", 2, [0, 1]], ["phase.file", 2, [0, 3]],
    ["phase.parent", 2, [0, 1]], ["phase.address", 2, [0, 0x22]], ["phase.symbol", 2, [0, 2]], ["phase.kind", 2, [1, 0]], ["phase.known", 2, [0, 1]],
  ];
  let offset = 0;
  const heads = columns.map(([name, rows, { length }]) => ({ name, rows, length, offset: (offset += length) - length }));
  const files = [[0, 0], [0, 1], null, [1, 0], [1, 2]].map((symbols, place) => ({ path: `/${place}`, events: [0, 0], object: symbols && { symbols } }));
  const head = new TextEncoder().encode(JSON.stringify({ files, phaseKinds: ["initialiser", "exec"], phaseEnds: ["exactly", "end-at-most"], columns: heads }));
  const length = new Uint8Array(Uint32Array.of(head.length).buffer);
  const trace = await Trace.read(deflateSync(Uint8Array.from([...length, ...head, ...columns.flatMap(([, , bytes]) => bytes)])).toString("base64"));
  assert.deepEqual([0, 1, 2].map((row) => trace.symbolName(row)), ["fn_10", "\ufeffmain", "b"], "a byte order mark is not swallowed");
  assert.deepEqual([0, 1, 2, 3].map((row) => trace.fileOfSymbol(row)?.path), ["/1", "/4", "/4", undefined]);
  assert.deepEqual(trace.head.phases, [
    { process: 0, kind: "exec", file: null, address: null, name: null, begin: 300, end: 310, own: 7, parent: null, known: "exactly" },
    { process: 1, kind: "initialiser", file: 2, address: 0x21, name: "\ufeffmain", begin: 290, end: 320, own: 8, parent: 0, known: "end-at-most" },
  ]);
});
