// Which figures of two traces may be held against each other. The caveats of a page are sentences for people; this is the part of them that
// makes a difference of two figures meaningless rather than uncertain.

import type { RunHead } from "../data/payload";

/** Counted or summed from touches: depends on every touch being seen. */
const FROM_TOUCHES = /^(touches|seeks\.touches|pages)\.|^bytes\.(touched|wasted)$/;
const FROM_FUNCTIONS = /^(functions|seeks\.functions)\./;
/** What was in the caches before decides it alone. */
const FROM_DISK = /^(bytes\.filled|touches\.major)(\.|$)|^(requests\.disk|bytes\.wasted)$/;
/** How a run's state is called of which nobody knows what was in the caches. */
const AS_THEY_WERE = "the caches as they were";
const TIMES = /^time\./;
/** Files are known by what was recorded of them. */
const FROM_LAYERS = /^count\.files$/;

/** Why a figure (by its stable name) must not be compared; null: it may be. */
export function whyNotComparable(key: string, first: RunHead, second: RunHead): string | null {
  if (FROM_TOUCHES.test(key) && first.pages !== second.pages) return "touches were seen page by page in one and in part in the other";
  if (FROM_TOUCHES.test(key) || FROM_FUNCTIONS.test(key)) {
    if (first.lostEvents + second.lostEvents > 0) return "events were lost";
    if (!first.complete || !second.complete) return "one of the recordings broke off";
  }
  if (FROM_LAYERS.test(key) && !isSameLayers(first, second)) return "not the same was recorded of both";
  if ((TIMES.test(key) || FROM_DISK.test(key)) && first.state !== second.state) return `A began ${first.state}, B ${second.state}`;
  if (FROM_DISK.test(key) && first.state === AS_THEY_WERE) return "both began with the caches as they were";
  if (TIMES.test(key) && ["pages", "functions"].some((layer) => first.layers.includes(layer as "pages") !== second.layers.includes(layer as "pages"))) {
    return "more was recorded of one, which takes time";
  }
  return null;
}

/** Whether the same was recorded of both: what one lacks may merely not have been looked for. */
export function isSameLayers(first: RunHead, second: RunHead): boolean {
  return [...first.layers].sort().join() === [...second.layers].sort().join();
}
