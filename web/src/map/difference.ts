// What differs between two starts on the map of one object: pages of only one of them, and pages that were touched at another time.

import { DOT_KINDS, PAGE_SIZE } from "../data/trace";
import { time } from "../format";
import { type Dots, emptyDots } from "./dots";
import type { Places } from "./places";

/** What became of a page from the first trace to the second. */
export const CHANGES = ["gone", "new", "moved", "same"] as const;
export type Change = (typeof CHANGES)[number];

export const CHANGE_WORDS: Record<Change, string> = { gone: "only in A", new: "only in B", moved: "at another time", same: "as before" };

const BECAME: Record<Change, string> = { gone: "gone: only in A", new: "new: only in B", moved: "moved", same: "as before" };

/** What became of a page: "moved: 12.3 ms later in B". */
export function changeWords(change: Change, before: number, after: number): string {
  return change === "moved" ? `moved: ${time(Math.abs(after - before))} ${after > before ? "later" : "earlier"} in B` : BECAME[change];
}

/** The same of one dot of a difference. */
export function wordsAt({ dots, to }: Difference, nth: number): string {
  return changeWords(CHANGES[dots.kind[nth] ?? 0] ?? "same", dots.at[nth] ?? 0, to[nth] ?? 0);
}

/** First touches of pages; `kind` of the dots is a place in CHANGES. Of moved pages, `to` is the moment in the second trace. */
export interface Difference {
  dots: Dots;
  to: Float64Array;
  /** Which trace each dot's row is of. */
  trace: Uint8Array;
  counts: Record<Change, number>;
}

/** Puts a place of one file's axis onto that of its partner: by section and the distance from its beginning, so that a section which moved
 * as a whole stays the same; without such a section, the same place. */
export function placeMover(from: Places, to: Places): (place: number) => number {
  const named = new Map(to.bands.map((band) => [band.section.name, band]));
  const pairs = from.bands.flatMap((band) => {
    const partner = named.get(band.section.name);
    return partner ? [{ begin: band.begin, end: band.end, by: partner.begin - band.begin }] : [];
  });
  let last = pairs[0];
  return (place) => {
    // Neighbours are mostly in the same section.
    if (last === undefined || place < last.begin || place >= last.end) last = pairs.find((pair) => place >= pair.begin && place < pair.end);
    if (last !== undefined) return place + last.by;
    return place >= from.fileEnd ? place - from.fileEnd + to.fileEnd : place;
  };
}

/** Compares first touches page by page; both on one axis. Moved means by more than `tolerance` nanoseconds. */
export function difference(first: Dots, second: Dots, tolerance: number): Difference {
  const earlier = firstOfPages(first);
  const later = firstOfPages(second);
  const room = earlier.size + later.size;
  const found: Difference = { dots: emptyDots(room), to: new Float64Array(room), trace: new Uint8Array(room), counts: { gone: 0, new: 0, moved: 0, same: 0 } };
  const entries: { of: Dots; nth: number; page: number; to: number; change: Change; trace: number }[] = [];
  for (const [page, nth] of earlier) {
    const partner = later.get(page);
    const at = first.at[nth] ?? 0;
    const to = partner === undefined ? at : (second.at[partner] ?? 0);
    entries.push({ of: first, nth, page, to, trace: 0, change: partner === undefined ? "gone" : Math.abs(to - at) > tolerance ? "moved" : "same" });
  }
  for (const [page, nth] of later) if (!earlier.has(page)) entries.push({ of: second, nth, page, to: second.at[nth] ?? 0, trace: 1, change: "new" });
  entries.sort((left, right) => (left.of.at[left.nth] ?? 0) - (right.of.at[right.nth] ?? 0));
  entries.forEach(({ of, nth, page, to, change, trace }, place) => {
    found.dots.at[place] = of.at[nth] ?? 0;
    // A read of many pages is a dot on each of them.
    found.dots.place[place] = (of.reach[nth] ?? 0) > 0 ? (page + 0.5) * PAGE_SIZE : (of.place[nth] ?? 0);
    found.dots.row[place] = of.row[nth] ?? 0;
    found.dots.kind[place] = CHANGES.indexOf(change);
    found.to[place] = to;
    found.trace[place] = trace;
    found.counts[change] += 1;
  });
  found.dots.count = entries.length;
  return found;
}

const CALL = DOT_KINDS.indexOf("call");
const FILL = DOT_KINDS.indexOf("fill");
const FUNCTION = DOT_KINDS.indexOf("function");

/** The first touch of each page, or read of it where it was not touched: page on the axis to the dot. A page that was read before it was
 * touched, by a prefetcher say, was used when it was touched; what merely came from the disk was not used. */
function firstOfPages(dots: Dots): Map<number, number> {
  const pages = new Map<number, number>();
  for (const isOfReads of [false, true]) {
    for (let nth = 0; nth < dots.count; nth += 1) {
      const kind = dots.kind[nth];
      if (kind === FILL || kind === FUNCTION || (kind === CALL) !== isOfReads) continue;
      const page = Math.floor((dots.place[nth] ?? 0) / PAGE_SIZE);
      const end = page + (dots.reach[nth] ?? 0) / PAGE_SIZE;
      for (let each = page; each <= end; each += 1) if (!pages.has(each)) pages.set(each, nth);
    }
  }
  return pages;
}
