// The pages in view on the map, as a table: what the dots say, in words.

import { useMemo, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";

import type { AppProps } from "../App";
import { count, time } from "../format";
import { changeColumns, type ChangeRows } from "../map/changeColumns";
import type { Difference } from "../map/difference";
import { inView } from "../map/drawDots";
import { type Dots, filterDots } from "../map/dots";
import { differenceOf, isShownIn, modelOf, modeOf, shownOf, toleranceNow } from "../map/model";
import { pageColumns, type PageRows } from "../map/pageColumns";
import { placesShown } from "../map/view";
import { Panel } from "../parts/Panel";
import { comparisonMode, hiddenDots, hoverTime, placeRange, selectedEvent, selectedFile, selectedProcess, timeRange } from "../state";
import { Table } from "../table/Table";

/** The table follows the map when it has come to rest for so long, in milliseconds: filling it anew each frame would make panning slow. */
const REST = 150;

export function Pages({ page, traces }: AppProps) {
  const model = modelOf(page, traces, selectedFile.value);
  const shown = model ? shownOf(model, hiddenDots.value, selectedProcess.value) : [];
  const mode = model ? modeOf(model, comparisonMode.value) : "first";
  const [view, setView] = useState(() => ({ time: timeRange.peek(), place: placeRange.peek() }));
  useSignalEffect(() => {
    const next = { time: timeRange.value, place: placeRange.value };
    const wait = setTimeout(() => setView(next), REST);
    return () => clearTimeout(wait);
  });
  const rows = useMemo((): PageRows | null => {
    if (model === null) return null;
    const [low, high] = placesShown(model.places, view.place);
    const bounds = { begin: view.time[0], end: view.time[1], low, high };
    const parts = model.sides.flatMap((side, nth) => {
      const dots = shown[nth];
      if (dots === undefined || !isShownIn(mode, side.number)) return [];
      return [{ side, dots: within(dots, bounds) }];
    });
    return { parts, count: parts.reduce((sum, part) => sum + part.dots.count, 0) };
  }, [model, shown, mode, view]);
  const tolerance = toleranceNow();
  const difference = model && mode === "difference" ? differenceOf(shown, tolerance) : null;
  const changes = useMemo((): ChangeRows | null => {
    if (difference === null || model === null) return null;
    const [low, high] = placesShown(model.places, view.place);
    return { difference, places: changesWithin(difference, { begin: view.time[0], end: view.time[1], low, high }) };
  }, [difference, model, view]);
  const columns = useMemo(() => (rows ? pageColumns(rows, traces.length > 1) : []), [rows, traces]);
  const ofChanges = useMemo(() => (changes && model ? changeColumns(changes, model) : []), [changes, model]);
  const chosen = selectedEvent.value;
  const selected = useMemo(() => (rows && chosen ? rowOf(rows, chosen.trace, chosen.row) : null), [rows, chosen]);
  if (rows === null) return <Panel id="pages" title="Pages"><p class="empty">The trace has no files.</p></Panel>;
  const isRecorded = model?.sides.some(({ trace: { head } }) => head.run.layers.some((layer) => layer !== "phases")) === true;
  const empty = isRecorded ? "Nothing of this file is in view on the map." : "Pages were not recorded: the trace has phases alone.";
  if (changes !== null) {
    const { dots, trace } = changes.difference;
    const found = chosen ? changes.places.findIndex((nth) => trace[nth] === chosen.trace && dots.row[nth] === chosen.row) : -1;
    return (
      <Panel id="pages" title="Pages" about={`${count(changes.places.length)} ${changes.places.length === 1 ? "page" : "pages"} in view on the map, and what became of each from A to B; moved means by more than ${time(tolerance)}. A click, or Enter, marks one there.`}>
        <Table
          key="changes" label="pages" rows={changes.places.length} columns={ofChanges} height={320} selected={found < 0 ? null : found} empty={empty}
          onChoose={(row) => { const nth = changes.places[row] ?? 0; selectedEvent.value = { trace: trace[nth] ?? 0, row: dots.row[nth] ?? 0 }; }}
          onPoint={(row) => (hoverTime.value = row === null ? null : (dots.at[changes.places[row] ?? 0] ?? null))}
        />
      </Panel>
    );
  }
  const choose = (row: number) => {
    const found = partOf(rows, row);
    if (found) selectedEvent.value = { trace: found.trace, row: found.event };
  };
  const point = (row: number | null) => {
    const found = row === null ? null : partOf(rows, row);
    hoverTime.value = found ? found.at : null;
  };
  return (
    <Panel id="pages" title="Pages" about={`${count(rows.count)} ${rows.count === 1 ? "event" : "events"} in view on the map. A click, or Enter, marks one there.`}>
      <Table label="pages" rows={rows.count} columns={columns} height={320} selected={selected} onChoose={choose} onPoint={point} empty={empty} />
    </Panel>
  );
}

/** Which pages of a difference are in view at one of their two moments. */
function changesWithin({ dots, to }: Difference, bounds: { begin: number; end: number; low: number; high: number }): Uint32Array {
  const found = new Uint32Array(dots.count);
  let all = 0;
  const isIn = (at: number) => at >= bounds.begin && at < bounds.end;
  for (let nth = 0; nth < dots.count; nth += 1) {
    const place = dots.place[nth] ?? 0;
    if (place >= bounds.low && place <= bounds.high && (isIn(dots.at[nth] ?? 0) || isIn(to[nth] ?? 0))) found[all++] = nth;
  }
  return found.slice(0, all);
}

function within(dots: Dots, bounds: { begin: number; end: number; low: number; high: number }): Dots {
  if (inView(dots, bounds, Infinity) === dots.count) return dots;
  return filterDots(dots, (nth) => {
    const [at, place] = [dots.at[nth] ?? 0, dots.place[nth] ?? 0];
    return at >= bounds.begin && at < bounds.end && place + (dots.reach[nth] ?? 0) >= bounds.low && place <= bounds.high;
  });
}

function partOf({ parts }: PageRows, row: number): { trace: number; event: number; at: number } | null {
  for (const { side, dots } of parts) {
    if (row < dots.count) return { trace: side.number, event: dots.row[row] ?? 0, at: dots.at[row] ?? 0 };
    row -= dots.count;
  }
  return null;
}

function rowOf({ parts }: PageRows, trace: number, event: number): number | null {
  let before = 0;
  for (const { side, dots } of parts) {
    const nth = side.number === trace ? dots.row.subarray(0, dots.count).indexOf(event) : -1;
    if (nth >= 0) return before + nth;
    before += dots.count;
  }
  return null;
}
