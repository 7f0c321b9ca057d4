// The dots that the map shows now: what can be pointed at, chosen, and stepped through.

import { type Difference, wordsAt } from "./difference";
import type { Dots } from "./dots";
import { type ComparisonMode, isShownIn, type MapSide } from "./model";

/** Dots that lie over one another; those of a difference are of both traces. */
export interface DrawnDots {
  dots: Dots;
  /** Whose event a dot is. */
  side: (nth: number) => MapSide | undefined;
  /** What became of its page, where that is what the map shows. */
  change: (nth: number) => string | null;
}

/** One of them. */
export interface DrawnDot {
  drawn: DrawnDots;
  nth: number;
}

export function drawnDots(sides: readonly MapSide[], shown: readonly Dots[], mode: ComparisonMode, difference: Difference | null): DrawnDots[] {
  if (mode === "difference" && difference) {
    return [{ dots: difference.dots, side: (nth) => sides.find(({ number }) => number === difference.trace[nth]), change: (nth) => wordsAt(difference, nth) }];
  }
  return sides.flatMap((side, place) => {
    const dots = shown[place];
    return dots && isShownIn(mode, side.number) ? [{ dots, side: () => side, change: () => null }] : [];
  });
}

/** The first dot of an event; null: none is shown. */
export function dotOfEvent(all: readonly DrawnDots[], event: { trace: number; row: number } | null): DrawnDot | null {
  if (event === null) return null;
  for (const drawn of all) {
    const { dots, side } = drawn;
    const rows = dots.row.subarray(0, dots.count);
    for (let nth = rows.indexOf(event.row); nth >= 0; nth = rows.indexOf(event.row, nth + 1)) if (side(nth)?.number === event.trace) return { drawn, nth };
  }
  return null;
}

/** The dot of the next event in time, or of the one before; without one to begin at, the first or the last. An event may have several. */
export function dotBeside(all: readonly DrawnDots[], begin: DrawnDot | null, by: 1 | -1): DrawnDot | null {
  const drawn = begin?.drawn ?? all.find(({ dots }) => dots.count > 0);
  if (drawn === undefined) return null;
  const { dots, side } = drawn;
  const isSame = (nth: number) => begin !== null && dots.row[nth] === dots.row[begin.nth] && side(nth) === side(begin.nth);
  let nth = begin === null ? (by > 0 ? 0 : dots.count - 1) : begin.nth + by;
  while (nth >= 0 && nth < dots.count && isSame(nth)) nth += by;
  return nth >= 0 && nth < dots.count ? { drawn, nth } : begin;
}
