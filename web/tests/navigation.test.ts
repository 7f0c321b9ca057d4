// Where one can go and how one comes back: addresses that hold what is shown, places on the map by name and number, processes of both traces.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { FileHead, PageHead, ProcessHead } from "../src/data/payload";
import { PAGE_SIZE, type Trace } from "../src/data/trace";
import { stretch, time } from "../src/format";
import { shareText } from "../src/map/drawHeat";
import { changeWords, difference } from "../src/map/difference";
import { dotBeside, dotOfEvent, drawnDots, type DrawnDot } from "../src/map/drawn";
import { emptyDots } from "../src/map/dots";
import { initialisersOf } from "../src/map/initialisers";
import { type MapSide, modelOf, modeOf } from "../src/map/model";
import { fileChoices } from "../src/map/ObjectChooser";
import { around, targetsOf, targetSentence } from "../src/map/targets";
import { Places } from "../src/map/places";
import { zoom } from "../src/map/view";
import { fragmentOf, type Shown, shownIn } from "../src/navigation/fragment";
import { shownProcesses, shownThreads } from "../src/processes";
import { LEAST_TIME, showTime, timeRange, wholeTime } from "../src/state";

const P = PAGE_SIZE;

function process(program: string): ProcessHead {
  return { number: 1, parent: null, program, arguments: [], began: 0, ended: null, executed: true };
}

function file(path: string, events: [number, number]): FileHead {
  return {
    path, category: "program", size: 4 * P, events, figures: null,
    object: {
      soname: null, buildId: null, symbols: [0, 3],
      segments: [{ address: 0x10000, offset: 0, fileSize: 4 * P, memorySize: 4 * P, flags: 5 }],
      sections: [
        { name: ".text", class: "code", address: 0x10000 + P, offset: P, size: 2 * P, zeroFilled: false, pages: null },
        { name: ".data\u202e", class: "data", address: 0x10000 + 3 * P, offset: 3 * P, size: P, zeroFilled: false, pages: null },
      ],
    },
  };
}

const NAMES = ["main", "domain", "maintain"];

function trace(files: FileHead[], programs: string[] = ["/bin/a", "/bin/b"]): Trace {
  return {
    head: { files, figures: [], processes: programs.map(process), threads: programs.map((_, place) => ({ number: place, process: place })), phases: [] },
    file: (place: number) => files[place],
    events: 4, at: Float64Array.of(1e6, 2e6, 3e6, 4e6), page: Float64Array.of(1, 2, 2, 3), pages: Float64Array.of(1, 1, 1, 1), kind: Uint8Array.of(17, 17, 1, 48),
    thread: Float64Array.of(0, 0, 1, 0), code: new Float64Array(4),
    symbolAddress: Float64Array.of(0x11000, 0x11010, 0x12000), symbolSize: Float64Array.of(16, 32, 0), symbolIsFunction: Uint8Array.of(1, 1, 1),
    symbolName: (row: number) => NAMES[row] ?? "",
  } as unknown as Trace;
}

const NOTHING: Shown = { panel: null, time: null, file: null, place: null, mode: null, movedBy: null, process: null, hidden: null, event: null };

test("what is shown comes back from its address", () => {
  const traces = [trace([file("/a b&c=d/#%é", [0, 4]), file("/twice", [0, 0]), file("/twice", [0, 0])]), trace([file("/only,b", [0, 4])])];
  const all: Shown[] = [
    NOTHING,
    { ...NOTHING, panel: "files", time: [1200, 5000], file: { trace: 0, place: 0 }, place: [-123, 4096] },
    { ...NOTHING, file: { trace: 0, place: 2 }, mode: "difference", movedBy: 1e9, hidden: [], process: { trace: 1, place: 1 }, event: { trace: 0, row: 3 } },
    { ...NOTHING, file: { trace: 1, place: 0 }, hidden: ["fill", "call"].sort() as Shown["hidden"], mode: "second" },
  ];
  for (const shown of all) assert.deepEqual({ ...shownIn(fragmentOf(shown, traces), traces) }, shown.hidden ? { ...shown, hidden: [...shown.hidden].sort() } : shown);
  assert.equal(fragmentOf({ ...NOTHING, time: [1.4, 2.6], file: { trace: 0, place: 1 } }, traces), "t=1-3&file=/twice");
});

test("nonsense in an address says nothing", () => {
  const traces = [trace([file("/a", [0, 4])])];
  const nonsense = ["#", "#t=", "#t=5-5", "#t=9-1", "#t=NaN-Infinity", "#t=1e3-2e3", "#t=99999999999999999999-1", "#%E0%A4%A", "#file=%", "#process=a2", "#process=c0", "#process=a-1", "#event=a4", "#event=b0", "#show=nothing", "#show=difference", "#y=--1", "#=&=&&==", "#t=1-2-3"];
  for (const fragment of nonsense) assert.deepEqual({ ...shownIn(fragment, traces), panel: null }, NOTHING, fragment);
  assert.deepEqual(shownIn("#file=/gone&y=1-2&t=3-4", traces), { ...NOTHING, time: [3, 4] }, "places of a file that is not there");
  assert.deepEqual(shownIn("#map", traces), { ...NOTHING, panel: "map" });
  assert.deepEqual(shownIn("#hide=fill,no such kind", traces).hidden, ["fill"]);
  assert.equal(shownIn("#show=constructor", [...traces, ...traces]).mode, null);
});

test("files of either trace can be on the map", () => {
  const traces = [trace([file("/both", [0, 4]), file("/a", [0, 4]), file("/unused", [0, 0])]), trace([file("/b", [0, 4]), file("/both", [0, 4])])];
  const page = { comparison: { partners: [1, null, null], caveats: [] } } as unknown as PageHead;
  assert.deepEqual(fileChoices(page, traces).map(({ file: { trace, place }, words }) => [trace, place, words]), [
    [0, 0, "A 4, B 4 other events"], [0, 1, "only in A: 4 other events"], [1, 0, "only in B: 4 other events"],
  ]);
  const onlyB = modelOf(page, traces, { trace: 1, place: 0 });
  assert.deepEqual(onlyB?.sides.map(({ number }) => number), [1]);
  assert.equal(onlyB && modeOf(onlyB, "difference"), "second");
  const both = modelOf(page, traces, { trace: 0, place: 0 });
  assert.deepEqual(both?.sides.map(({ number, filePlace }) => [number, filePlace]), [[0, 0], [1, 1]]);
  assert.equal(both && modeOf(both, "difference"), "difference");
  // A page that was not looked for is not gone.
  const bare = traces[0] as Trace;
  bare.head.figures.push({ title: "", note: "", figures: [{ key: "touches.all", label: "", value: null, unit: "count", lessIsBetter: true }] });
  assert.equal(both && modeOf(both, "difference"), "both");
  assert.equal(both && modeOf(both, "second"), "second");
});

test("a process is shown with its like in the other trace", () => {
  const traces = [trace([], ["/bin/sh", "/opt/x", "/bin/sh"]), trace([], ["/tmp/copy/x", "/bin/sh", "/bin/sh"])];
  assert.deepEqual(shownProcesses(traces, 0, { trace: 0, place: 0 }), [true, false, false]);
  assert.deepEqual(shownProcesses(traces, 1, { trace: 0, place: 0 }), [false, true, true]);
  assert.deepEqual(shownProcesses(traces, 0, { trace: 1, place: 0 }), [false, true, false]);
  assert.deepEqual([...(shownThreads(traces, 1, { trace: 0, place: 1 }) ?? [])], [1, 0, 0]);
  assert.equal(shownProcesses(traces, 0, null), null);
});

test("sections, symbols, pages, offsets and addresses can be gone to", () => {
  const model = modelOf({} as PageHead, [trace([file("/a", [0, 4])])], { trace: 0, place: 0 });
  assert.ok(model);
  const found = (query: string) => targetsOf(model, query).map(({ kind, name }) => `${kind} ${name}`);
  assert.deepEqual(found(""), ["section .text", "section .data\\u{202e}"]);
  assert.deepEqual(found("MAIN"), ["symbol main", "symbol maintain", "symbol domain"]);
  assert.deepEqual(found("3"), ["page 3", "offset 0x3"]);
  assert.deepEqual(found("page 3"), ["page 3"]);
  assert.deepEqual(found("0x11010"), ["address 0x11010"]);
  assert.deepEqual(found("page 4"), []);
  assert.deepEqual(found("nothing like it"), []);
  const [main] = targetsOf(model, "main");
  assert.deepEqual(main && [main.low, main.high, main.where], [P, P + 16, ".text, page 1, offset 0x1000"]);
  assert.deepEqual(main && around(main), [P - P / 2, P + 16 + P / 2]);
  assert.equal(main && targetSentence(model, main), "symbol main, .text, page 1, offset 0x1000; 1 event on its pages, the first at 1.000 ms.");
});

test("initialisers stand where their code is", () => {
  const phase = { process: 0, kind: "initialiser", file: 0, name: "i\u0007", begin: 1, end: 2, own: 1, parent: null, known: "exactly" } as const;
  const head = { phases: [{ ...phase, address: 7 }, { ...phase, address: null }, { ...phase, address: 7, file: 1 }, { ...phase, address: 7, kind: "main" }, { ...phase, address: 9, process: 1 }] };
  const of = (shown: boolean[] | null) => initialisersOf({ head } as unknown as Trace, 0, shown, (address) => address * 2);
  assert.deepEqual(of([true, false]), [{ begin: 1, end: 2, place: 14, name: "i\\u{7}" }]);
  assert.equal(of(null).length, 2);
});

test("each page of a read of many is a page of its own in the difference", () => {
  const dots = { ...emptyDots(1), count: 1 };
  dots.place[0] = P / 2;
  dots.reach[0] = 2 * P;
  const { dots: found } = difference(dots, emptyDots(0), 0);
  assert.deepEqual([...found.place].slice(0, found.count), [0.5 * P, 1.5 * P, 2.5 * P]);
});

test("stepping through a difference leaves no event twice, and says what became of each page", () => {
  const sides = [0, 1].map((number) => ({ number }) as MapSide);
  const dots = (...all: [row: number, at: number, page: number, reach: number][]) => {
    const made = { ...emptyDots(all.length), count: all.length };
    all.forEach(([row, at, page, reach], nth) => { [made.row[nth], made.at[nth], made.place[nth], made.reach[nth]] = [row, at, (page + 0.5) * P, reach * P]; });
    return made;
  };
  // A reads three pages at once, then touches another; B touches that one later, and one of its own.
  const shown = [dots([7, 1e6, 0, 2], [8, 5e6, 9, 0]), dots([3, 9e6, 9, 0], [4, 9e6, 20, 0])];
  const found = difference(shown[0] ?? emptyDots(0), shown[1] ?? emptyDots(0), 1e6);
  const drawn = drawnDots(sides, shown, "difference", found);
  const seen: string[] = [];
  const told = (dot: DrawnDot | null) => dot && `${dot.drawn.side(dot.nth)?.number === 0 ? "A" : "B"}${dot.drawn.dots.row[dot.nth]} ${dot.drawn.change(dot.nth)}`;
  let now = dotBeside(drawn, null, 1);
  for (let step = 0; step < 4; step += 1) {
    seen.push(told(now) ?? "");
    // What is chosen is an event, not a dot.
    now = dotBeside(drawn, dotOfEvent(drawn, now && { trace: now.drawn.side(now.nth)?.number ?? 0, row: now.drawn.dots.row[now.nth] ?? 0 }), 1);
  }
  assert.deepEqual(seen, ["A7 gone: only in A", "A8 moved: 4.00 ms later in B", "B4 new: only in B", "B4 new: only in B"]);
  assert.equal(told(dotBeside(drawn, dotOfEvent(drawn, { trace: 0, row: 8 }), -1)), "A7 gone: only in A");
  const second = drawnDots(sides, shown, "second", null);
  assert.equal(told(dotBeside(second, null, 1)), "B3 null", "what is not shown is not stepped through");
});

test("changes, shares and moments are told in words that are true", () => {
  assert.equal(changeWords("moved", 1e6, 3e6), "moved: 2.00 ms later in B");
  assert.equal(changeWords("moved", 3e6, 1e6), "moved: 2.00 ms earlier in B");
  assert.equal(changeWords("gone", 0, 0), "gone: only in A");
  assert.deepEqual([[0, 9], [1, 1000], [999, 1000], [9, 9], [1, 2]].map(([part = 0, whole = 1]) => shareText(part, whole)), ["0 %", "<1 %", ">99 %", "100 %", "50 %"]);
  assert.deepEqual([999_400, 999_600, 9_996_000, 99_960_000, 2_892_435_000].map(time), ["999 µs", "1.00 ms", "10.0 ms", "100 ms", "2.89 s"]);
  assert.equal(stretch(287_668_419, 287_673_916), "287.66842 to 287.67392 ms");
  assert.equal(stretch(0, 2e9), "0.00 to 2.00 s");
});

test("zooming in stays where it is when there is nothing nearer", () => {
  const places = new Places(file("/a", [0, 0]), { fileEnd: 0, memory: [] });
  wholeTime.value = [0, 1e9];
  showTime(5e8, 5e8 + 3 * LEAST_TIME);
  for (let step = 0; step < 9; step += 1) zoom(places, { time: 0.5, place: 1 }, 1, 0.5);
  assert.deepEqual(timeRange.value, [5e8 + 2 * LEAST_TIME, 5e8 + 3 * LEAST_TIME]);
});
