// When the program was busy with other files than the one on the map, by category. Moments are sorted once; a frame halves its way to the
// edges of each column, so that a million events cost no more than a thousand.

import type { FileHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { firstAtLeast } from "./dots";

export type Category = FileHead["category"];

const CATEGORIES: readonly { id: Category; label: string }[] = [
  { id: "program", label: "program" },
  { id: "system", label: "system" },
  { id: "profile", label: "profile" },
  { id: "data", label: "data" },
  { id: "metadata", label: "metadata" },
  { id: "memory", label: "memory" },
];

/** Moments of one category's events, sorted. */
export interface CategoryTimes {
  id: Category;
  label: string;
  times: Float64Array;
}

/** Moments of all files' events by category; categories without events are left out. */
export function categoryTimes(trace: Trace): CategoryTimes[] {
  return CATEGORIES.flatMap(({ id, label }) => {
    const files = trace.head.files.filter((file) => file.category === id && file.events[1] > 0);
    const times = merged(files.map(({ events: [first, count] }) => trace.at.subarray(first, first + count)));
    return times.length > 0 ? [{ id, label, times }] : [];
  });
}

/** From so many lists on, sorting all of them together is faster. */
const MANY = 9;

/** Sorted lists as one: of few, two by two. */
function merged(lists: Float64Array[]): Float64Array {
  if (lists.length >= MANY) {
    const all = new Float64Array(lists.reduce((sum, list) => sum + list.length, 0));
    let end = 0;
    for (const list of lists) {
      all.set(list, end);
      end += list.length;
    }
    return all.sort();
  }
  let rest = lists;
  while (rest.length > 1) {
    const next: Float64Array[] = [];
    for (let nth = 0; nth < rest.length; nth += 2) next.push(mergedPair(rest[nth] as Float64Array, rest[nth + 1] ?? new Float64Array(0)));
    rest = next;
  }
  return rest[0] ?? new Float64Array(0);
}

function mergedPair(left: Float64Array, right: Float64Array): Float64Array {
  if (right.length === 0) return left;
  const both = new Float64Array(left.length + right.length);
  let [nth, other] = [0, 0];
  for (let place = 0; place < both.length; place += 1) {
    const takesLeft = other >= right.length || (nth < left.length && (left[nth] as number) <= (right[other] as number));
    both[place] = (takesLeft ? left[nth++] : right[other++]) as number;
  }
  return both;
}

/** How many of sorted moments fall into each of `counts.length` equal columns of a stretch of time. */
export function countColumns(times: Float64Array, begin: number, end: number, counts: Float64Array): void {
  const step = (end - begin) / counts.length;
  let before = firstAtLeast(times, times.length, begin);
  for (let column = 0; column < counts.length; column += 1) {
    const behind = firstFrom(times, before, begin + step * (column + 1));
    counts[column] = behind - before;
    before = behind;
  }
}

/** As `firstAtLeast`, where the answer is known to be not far behind `from`: steps that double, then halving. */
function firstFrom(times: Float64Array, from: number, value: number): number {
  let step = 1;
  let low = from;
  let high = from;
  while (high < times.length && (times[high] as number) < value) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = Math.min(high, times.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A stretch of columns in which nothing of the object happened, and something of others. */
export interface Gap {
  from: number;
  to: number;
  /** A place in the categories: what most of it was spent in. */
  category: number;
}

/** Finds those stretches. `own` are the object's columns, `others` those of the categories without it; gaps narrower than `least` are left out. */
export function gaps(own: Float64Array, others: readonly Float64Array[], least: number): Gap[] {
  const found: Gap[] = [];
  let from = 0;
  const isQuiet = (column: number) => others.every((counts) => (counts[column] ?? 0) === 0);
  const close = (to: number) => {
    // From the first event of others to the last: before and behind them nothing is known, and the start may be over.
    while (from < to && isQuiet(from)) from += 1;
    while (from < to && isQuiet(to - 1)) to -= 1;
    if (to - from >= least) {
      const sums = others.map((counts) => counts.subarray(from, to).reduce((sum, count) => sum + count, 0));
      const most = Math.max(0, ...sums);
      if (most > 0) found.push({ from, to, category: sums.indexOf(most) });
    }
  };
  for (let column = 0; column < own.length; column += 1) {
    if ((own[column] ?? 0) === 0) continue;
    close(column);
    from = column + 1;
  }
  close(own.length);
  return found;
}
