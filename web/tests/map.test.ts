// The map's pure parts: where pages, addresses and sections stand, which pixels dots fall on, what differs between two starts.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { FileHead, SectionHead } from "../src/data/payload";
import { DOT_KINDS, PAGE_SIZE, type Trace } from "../src/data/trace";
import { difference, placeMover } from "../src/map/difference";
import { type Dots, dotsOf, emptyDots, filterDots, firstAtLeast, nearest, pagesSeen } from "../src/map/dots";
import { countColumns, gaps } from "../src/map/elsewhere";
import { cellAt, cellPlace, firstMoments, isDrawable, layOutHeat } from "../src/map/heat";
import { Places } from "../src/map/places";
import { placeTicks } from "../src/map/placeTicks";
import { pixelWord, Raster } from "../src/map/raster";
import { symbolsBetween } from "../src/map/symbols";

const P = PAGE_SIZE;

function section(name: string, address: number, offset: number, size: number, zeroFilled = false): SectionHead {
  return { name, class: "code", address, offset, size, zeroFilled, pages: { all: 1, touched: 0, written: 0, executed: 0 } };
}

/** Code in pages 0 to 3, data at page 4 of the file and page 6 of memory, three pages of .bss behind it. */
function file(shift = 0): FileHead {
  return {
    path: "/lib/a.so", category: "program", size: (5 + shift) * P, events: [0, 0], figures: null,
    object: {
      soname: null, buildId: null, symbols: [0, 3],
      segments: [
        { address: 0, offset: 0, fileSize: (4 + shift) * P, memorySize: (4 + shift) * P, flags: 5 },
        { address: (6 + shift) * P, offset: (4 + shift) * P, fileSize: P, memorySize: 4 * P, flags: 6 },
      ],
      sections: [section(".text", P, P, (2 + shift) * P), section(".data", (6 + shift) * P, (4 + shift) * P, P), section(".bss", (7 + shift) * P, (5 + shift) * P, 3 * P, true)],
    },
  };
}

const NOTHING = { fileEnd: 0, memory: [] };

function dots(...rows: [at: number, place: number, kind?: number, reach?: number][]): Dots {
  const made = emptyDots(rows.length);
  rows.forEach(([at, place, kind = 1, reach = 0], nth) => {
    made.at[nth] = at;
    made.place[nth] = place;
    made.kind[nth] = kind;
    made.reach[nth] = reach;
    made.row[nth] = nth;
  });
  made.count = rows.length;
  return made;
}

test("memory stands above the file, by address", () => {
  const places = new Places(file(), NOTHING);
  assert.equal(places.fileEnd, 5 * P);
  assert.equal(places.end, 8 * P);
  assert.equal(places.ofPage(2, false), 2 * P);
  assert.equal(places.ofPage(8, true), 6 * P);
  assert.deepEqual(places.pageAt(6 * P + 5), { page: 8, isMemory: true });
  assert.equal(places.ofAddress(6 * P + 7), 4 * P + 7);
  assert.equal(places.ofAddress(7 * P + 7), 5 * P + 7);
  assert.equal(places.ofAddress(5 * P), null);
  assert.deepEqual(places.addressesBetween(4 * P, 6 * P), [[6 * P, 7 * P], [7 * P, 8 * P]]);
  assert.equal(places.bandAt(5 * P)?.section.name, ".bss");
  assert.deepEqual(places.bandsOfPage(P).map((band) => band.section.name), [".text"]);
});

test("pages that events name beyond the file and its segments have a place", () => {
  const places = new Places({ ...file(), object: null, size: null }, { fileEnd: 9, memory: [100, 101, 500] });
  assert.equal(places.fileEnd, 9 * P);
  assert.equal(places.end, 12 * P);
  assert.deepEqual(places.pageAt(places.ofPage(500, true)), { page: 500, isMemory: true });
});

test("events become dots on the axis", () => {
  const trace = {
    at: Float64Array.of(1, 2, 3), page: Float64Array.of(1, 8, 2), pages: Float64Array.of(1, 1, 3), kind: Uint8Array.of(1, 8 + 32, 97), code: Float64Array.of(0, 0, 0),
  } as unknown as Trace;
  const head = { ...file(), events: [0, 3] as [number, number] };
  const places = new Places(head, pagesSeen(trace, head));
  const made = dotsOf(trace, head, places);
  assert.deepEqual([...made.place], [1.5 * P, 6.5 * P, 2.5 * P]);
  assert.deepEqual([...made.reach], [0, 0, 2 * P]);
  assert.deepEqual([...made.kind].map((kind) => DOT_KINDS[kind]), ["execute", "write", "call"]);
  assert.deepEqual([...filterDots(made, (nth) => nth !== 1).row].slice(0, 2), [0, 2]);
});

test("the weightiest kind stays on a pixel, and edges cut dots off", () => {
  const raster = new Raster();
  raster.begin(10, 10);
  const view = { begin: 0, end: 10, low: 0, high: 10, width: 10, height: 10 };
  raster.put(dots([0, 10, 0], [5, 5, 0], [5, 5, 1], [9.9, 0.05, 1]), view, 3, Uint8Array.of(7, 2));
  assert.equal(raster.ranks[5 * 10 + 5], 7);
  assert.equal(raster.ranks[4 * 10 + 4], 7);
  assert.equal(raster.ranks[0], 7);
  assert.equal(raster.ranks[9 * 10 + 9], 2);
  assert.equal(raster.ranks.filter((rank) => rank > 0).length, 9 + 4 + 4);
  raster.begin(10, 10);
  assert.ok(raster.ranks.every((rank) => rank === 0));
  raster.put(dots([5, 2, 1, 6]), view, 1, Uint8Array.of(7, 2));
  assert.equal(raster.ranks.filter((rank) => rank === 2).length, 7);
  assert.equal(pixelWord("#010203"), 0xff030201);
});

test("the nearest dot is found, and none where none is near", () => {
  const view = { begin: 0, end: 100, low: 0, high: 100, width: 100, height: 100 };
  const some = dots([10, 50], [12, 50], [50, 20, 1, 40]);
  assert.equal(nearest(some, view, 11.8, 51, 5)?.nth, 1);
  assert.equal(nearest(some, view, 51, 60, 5)?.nth, 2);
  assert.equal(nearest(some, view, 80, 80, 5), null);
  assert.equal(firstAtLeast(some.at, 3, 12), 1);
  assert.equal(firstAtLeast(some.at, 3, 51), 3);
});

test("symbols are found by address, with one that reaches into the stretch", () => {
  const trace = { symbolAddress: Float64Array.of(100, 200, 5000), symbolSize: Float64Array.of(10, 150, 0) } as unknown as Trace;
  const object = file().object;
  assert.ok(object);
  assert.deepEqual(symbolsBetween(trace, object, 300, 4000, 9), [1]);
  assert.deepEqual(symbolsBetween(trace, object, 100, 5001, 9), [0, 1, 2]);
  assert.deepEqual(symbolsBetween(trace, object, 100, 5001, 2), [0, 1]);
  assert.deepEqual(symbolsBetween(trace, object, 400, 4000, 9), []);
});

test("places of a partner move with their sections", () => {
  const [from, to] = [new Places(file(2), NOTHING), new Places(file(), NOTHING)];
  const move = placeMover(from, to);
  assert.equal(move(P + 10), P + 10);
  assert.equal(move(6 * P + 10), 4 * P + 10);
  assert.equal(move(7 * P + 10), 5 * P + 10);
  assert.equal(move(10), 10);
});

test("pages are gone, new, moved or as before; what only came from the disk was not used", () => {
  const fill = DOT_KINDS.indexOf("fill");
  const found = difference(dots([1, 0], [5, P], [6, 2 * P], [7, 2 * P], [8, 9 * P, fill]), dots([1.5, 0], [50, P], [60, 3 * P]), 10);
  assert.deepEqual(found.counts, { gone: 1, new: 1, moved: 1, same: 1 });
  const moved = [...found.dots.kind].indexOf(2);
  assert.equal(found.dots.at[moved], 5);
  assert.equal(found.to[moved], 50);
  assert.deepEqual([...found.dots.at].slice(0, found.dots.count), [1, 5, 6, 60]);
});

test("a page that was read ahead and touched later was used when it was touched", () => {
  const call = DOT_KINDS.indexOf("call");
  const found = difference(dots([5, 0]), dots([1, 0, call, P], [5, 0]), 2);
  assert.deepEqual(found.counts, { gone: 0, new: 1, moved: 0, same: 1 });
});

test("columns are counted, and gaps are where only others were busy", () => {
  const own = new Float64Array(10);
  const other = new Float64Array(10);
  countColumns(Float64Array.of(0, 0.5, 9, 9.5, 10), 0, 10, own);
  assert.deepEqual([...own], [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
  countColumns(Float64Array.of(2, 4, 4.5, 6.5), 0, 10, other);
  assert.deepEqual(gaps(own, [new Float64Array(10), other], 4), [{ from: 2, to: 7, category: 1 }]);
  assert.deepEqual(gaps(own, [new Float64Array(10), other], 6), [], "nothing is known of what is outside the others' events");
  assert.deepEqual(gaps(own, [new Float64Array(10)], 4), []);
});

test("the heat strip has a cell for each page of each section", () => {
  const places = new Places(file(), NOTHING);
  const moments = firstMoments(dots([5, P + 1], [3, P + 2], [7, 5 * P, 1, 2 * P], [1, 0, DOT_KINDS.indexOf("fill")]), places);
  assert.deepEqual([...moments], [Infinity, 3, Infinity, Infinity, Infinity, 7, 7, 7]);
  const layout = layOutHeat(places, moments, null, 900, 400);
  assert.deepEqual(layout.blocks.map(({ band, pages, touched }) => [band.section.name, pages, touched]), [[".text", 2, 1], [".data", 1, 0], [".bss", 3, 3]]);
  assert.equal(layout.across % 16, 0);
  const bss = layout.blocks[2];
  assert.ok(bss);
  const [x, y] = cellPlace(layout, bss, 6);
  assert.deepEqual(cellAt(layout, x + 1, y + 1), { block: 2, page: 6 });
  assert.equal(cellAt(layout, x + 3 * layout.cell, y + 1), null);
});

test("ticks stay below memory, which has one of its own", () => {
  const places = new Places(file(), NOTHING);
  const ticks = placeTicks(places, 0, places.end, 6);
  assert.equal(ticks[ticks.length - 1]?.label, "memory");
  assert.ok(ticks.slice(0, -1).every(({ place }) => place <= places.fileEnd));
  assert.ok(ticks.length <= 9);
});

test("no two ticks have one label, however large the file", () => {
  for (const [size, low, high] of [[110e6, 100.4e6, 103e6], [20e9, 19.99e9, 20e9], [3e12, 1e12, 1.003e12], [110e6, 0, 110e6], [9e15, 0, 9e15]] as const) {
    const places = new Places({ ...file(), object: null, size }, NOTHING);
    const labels = placeTicks(places, low, high, 7).map(({ label }) => label);
    assert.ok(labels.length >= 3, labels.join());
    assert.equal(new Set(labels).size, labels.length, labels.join());
  }
  const places = new Places({ ...file(), object: null, size: 110e6 }, NOTHING);
  assert.deepEqual(placeTicks(places, 100.9e6, 103.1e6, 4).map(({ label }) => label), ["101 MB", "102 MB", "103 MB"]);
  assert.deepEqual(placeTicks(places, 101.1e6, 103.3e6, 7).map(({ label }) => label), ["101.5 MB", "102 MB", "102.5 MB", "103 MB"]);
});

test("a file of more pages than can be drawn has no heat strip", () => {
  const of = (size: number) => new Places({ ...file(), object: null, size }, NOTHING);
  assert.equal(isDrawable(of(250e6), 1240, 2), true);
  assert.equal(isDrawable(of(300e9), 1240, 1), false);
  assert.equal(isDrawable(of(2 ** 63), 1240, 1), false);
  // What is said to fit does.
  for (let size = 1e8; size < 1e10; size *= 1.1) {
    const places = of(size);
    if (!isDrawable(places, 700, 1)) continue;
    assert.ok(layOutHeat(places, new Float64Array(places.end / P), null, 700, 420).height < 32_767, `${size}`);
  }
});
