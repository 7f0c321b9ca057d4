// What all panels show at first: the whole time of the traces, and the object of which most was touched.

import type { PageHead } from "./data/payload";
import type { Trace } from "./data/trace";
import { followAddress } from "./navigation/address";
import { followViews } from "./navigation/past";
import { type ChosenFile, chooseFile, timeRange, wholeTime } from "./state";

/** Sets the shared state for these traces; once, before the first panel is shown. */
export function begin(page: PageHead, traces: readonly Trace[]): void {
  let end = 1;
  for (const { head, at } of traces) {
    end = Math.max(end, head.run.endedAt, head.run.readyAt ?? 0);
    for (const phase of head.phases) end = Math.max(end, phase.end);
    for (const { events } of head.files) end = Math.max(end, events[1] > 0 ? (at[events[0] + events[1] - 1] ?? 0) : 0);
  }
  // A little air behind the last mark, so that its label has room.
  wholeTime.value = [0, end * 1.01];
  timeRange.value = wholeTime.value;
  chooseFile(firstFile(page, traces));
  followAddress(traces);
  followViews();
}

/** The file that is on the map at first: where nothing was seen of the first trace's files, of phases alone say, the second decides. */
export function firstFile(page: PageHead, traces: readonly Trace[]): ChosenFile {
  const first = mostTouched(traces[0]);
  const second = first.events > 0 ? null : mostTouched(traces[1]);
  if (second === null || second.events === 0) return { trace: 0, place: first.place };
  // A file of both is the first trace's.
  const partner = page.comparison?.partners.indexOf(second.place) ?? -1;
  return partner < 0 ? { trace: 1, place: second.place } : { trace: 0, place: partner };
}

function mostTouched(trace: Trace | undefined): { place: number; events: number } {
  const best = { place: 0, events: 0, touches: 0, isObject: false };
  trace?.head.files.forEach(({ events: [, events], figures, object }, place) => {
    const isObject = object !== null;
    const touches = figures?.touches ?? 0;
    const isMore = touches === best.touches ? events > best.events : touches > best.touches;
    // Objects have sections and names; other files do where there is nothing else.
    if (events > 0 && (isObject !== best.isObject ? isObject : isMore)) Object.assign(best, { place, events, touches, isObject });
  });
  return best;
}
