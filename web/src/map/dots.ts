// The dots of one object: events as columns, made once when an object is chosen, so that drawing a frame allocates nothing.

import type { FileHead } from "../data/payload";
import { DOT_KINDS, type DotKind, dotOf, KIND, PAGE_SIZE, type Trace } from "../data/trace";
import { firstNot } from "../halving";
import { type PagesSeen, Places } from "./places";

/** Dots in order of time. */
export interface Dots {
  count: number;
  /** Nanoseconds since the launch. */
  at: Float64Array;
  /** Where the dot stands, in bytes of the axis: the middle of its page, or a function's first byte. */
  place: Float64Array;
  /** Bytes upwards that the event reaches over beyond one page; 0: a page. */
  reach: Float64Array;
  /** A place in DOT_KINDS. */
  kind: Uint8Array;
  /** The event's row in the trace. */
  row: Uint32Array;
}

/** Which page numbers a file's events name, to lay out its axis. */
export function pagesSeen(trace: Trace, file: FileHead): PagesSeen {
  let fileEnd = 0;
  const memory = new Set<number>();
  const [first, count] = file.events;
  for (let row = first; row < first + count; row += 1) {
    const page = trace.page[row] ?? 0;
    if (isMemory(trace.kind[row] ?? 0)) memory.add(page);
    else fileEnd = Math.max(fileEnd, page + (trace.pages[row] ?? 1));
  }
  return { fileEnd, memory: [...memory] };
}

/** Whether the event is of zero-filled memory, whose pages are numbered by address. */
export function isMemory(kind: number): boolean {
  return kind < KIND.function && (kind & KIND.zeroFilled) !== 0;
}

/** All dots of a file, on its axis; `moved` puts the places of another trace's file onto this axis. */
export function dotsOf(trace: Trace, file: FileHead, places: Places, moved: (place: number) => number = (place) => place): Dots {
  const [first, count] = file.events;
  // Moments are the trace's own: they stand together already.
  const dots: Dots = { ...emptyDots(count, trace.at.subarray(first, first + count)), count };
  const kinds = Uint8Array.from({ length: 256 }, (_, kind) => DOT_KINDS.indexOf(dotOf(kind)));
  for (let nth = 0; nth < count; nth += 1) {
    const row = first + nth;
    const kind = trace.kind[row] ?? 0;
    const pages = trace.pages[row] ?? 1;
    const begin = places.ofPage(trace.page[row] ?? 0, isMemory(kind));
    const code = kind === KIND.function ? (trace.code[row] ?? 0) : 0;
    const exact = code > 0 ? places.ofAddress(trace.symbolAddress[code - 1] ?? -1) : null;
    dots.place[nth] = moved(exact ?? begin + PAGE_SIZE / 2);
    dots.reach[nth] = pages > 1 ? (pages - 1) * PAGE_SIZE : 0;
    dots.kind[nth] = kinds[kind] ?? 0;
    dots.row[nth] = row;
  }
  return dots;
}

export function emptyDots(room: number, at: Float64Array = new Float64Array(room)): Dots {
  return { count: 0, at, place: new Float64Array(room), reach: new Float64Array(room), kind: new Uint8Array(room), row: new Uint32Array(room) };
}

/** Only the dots for which `keep` says so. */
export function filterDots(dots: Dots, keep: (nth: number) => boolean): Dots {
  const kept = emptyDots(dots.count);
  let count = 0;
  for (let nth = 0; nth < dots.count; nth += 1) {
    if (!keep(nth)) continue;
    kept.at[count] = dots.at[nth] ?? 0;
    kept.place[count] = dots.place[nth] ?? 0;
    kept.reach[count] = dots.reach[nth] ?? 0;
    kept.kind[count] = dots.kind[nth] ?? 0;
    kept.row[count] = dots.row[nth] ?? 0;
    count += 1;
  }
  kept.count = count;
  return kept;
}

/** How many dots of each kind there are, hidden ones included. */
export function countKinds(dots: Dots): ReadonlyMap<DotKind, number> {
  const counts = new Uint32Array(DOT_KINDS.length);
  for (let nth = 0; nth < dots.count; nth += 1) {
    const kind = dots.kind[nth] ?? 0;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return new Map(DOT_KINDS.map((kind, nth) => [kind, counts[nth] ?? 0]));
}

/** The first of sorted numbers that is not below a value; `count` if there is none. */
export function firstAtLeast(sorted: Float64Array, count: number, value: number): number {
  return firstNot((place) => (sorted[place] ?? 0) < value, 0, count);
}

/** The dot nearest to a point and how far it is, in pixels; null if none is nearer than `within`. */
export function nearest(dots: Dots, view: DotView, x: number, y: number, within: number): { nth: number; distance: number } | null {
  const perPixel = (view.end - view.begin) / view.width;
  const upPerPixel = (view.high - view.low) / view.height;
  const last = firstAtLeast(dots.at, dots.count, view.begin + (x + within) * perPixel);
  let best = -1;
  let least = within * within;
  for (let nth = firstAtLeast(dots.at, dots.count, view.begin + (x - within) * perPixel); nth < last; nth += 1) {
    const across = ((dots.at[nth] ?? 0) - view.begin) / perPixel - x;
    const place = dots.place[nth] ?? 0;
    const bottom = (view.high - place) / upPerPixel;
    const top = (view.high - place - (dots.reach[nth] ?? 0)) / upPerPixel;
    const down = y > bottom ? y - bottom : y < top ? top - y : 0;
    const distance = across * across + down * down;
    if (distance <= least) {
      least = distance;
      best = nth;
    }
  }
  return best < 0 ? null : { nth: best, distance: Math.sqrt(least) };
}

/** What part of time and places is shown on how many pixels. */
export interface DotView {
  begin: number;
  end: number;
  low: number;
  high: number;
  width: number;
  height: number;
}
