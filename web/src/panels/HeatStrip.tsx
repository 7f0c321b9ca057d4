// The heat strip: which pages of each section were touched, and when first.

import { useMemo, useRef } from "preact/hooks";

import type { AppProps } from "../App";
import { PAGE_SIZE } from "../data/trace";
import { count, time } from "../format";
import type { HeatData, HeatMode } from "../map/drawHeat";
import { firstMoments, isDrawable, layOutHeat, usesOf } from "../map/heat";
import { HeatCanvas } from "../map/HeatCanvas";
import { heatColours } from "../map/heatScale";
import { isKnown, type MapModel, modelOf, ofProcess } from "../map/model";
import { Panel } from "../parts/Panel";
import { letterOf } from "../parts/TraceBadge";
import { processWords } from "../processes";
import { comparisonMode, selectedFile, selectedProcess } from "../state";
import { colour, ink, isDark } from "../theme";
import { useWidth } from "../parts/useWidth";

/** Of all cells together, in pixels: more is scrolled. */
const WISH = 420;

const MODE_WORDS: Record<HeatMode, string> = { first: "A", second: "B", difference: "the difference" };

export function HeatStrip({ page, traces }: AppProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const ofBoth = modelOf(page, traces, selectedFile.value);
  const process = selectedProcess.value;
  // Whoever is chosen: what a process left alone was touched by others, and not merely read.
  const use = useMemo(() => usedIn(ofBoth), [ofBoth]);
  const whole = useMemo(() => ofBoth && ofKnown(ofBoth, use), [ofBoth, use]);
  const model = whole && ofProcess(whole, process);
  const chosenMode = comparisonMode.value;
  const isPair = model !== null && model.sides.length > 1;
  const mode: HeatMode = !isPair ? "first" : chosenMode === "both" ? "difference" : chosenMode;
  const isTooLarge = model !== null && width > 0 && !isDrawable(model.places, width, window.devicePixelRatio || 1);
  const touches = useMemo(() => (model && width > 0 && !isTooLarge ? model.sides.map((side) => firstMoments(side.all, model.places, use)) : null), [model, use, width > 0, isTooLarge]);
  const data = useMemo((): HeatData | null => {
    const [moments, second = null] = touches ?? [];
    if (!model || !moments || !use) return null;
    return { layout: layOutHeat(model.places, moments, second, width, WISH), use, moments, second, mode, range: rangeOf(mode === "second" && second ? second : moments) };
  }, [model, use, touches, width, mode]);
  const tools = isPair && (
    <label>
      Show
      <select value={mode} onChange={({ currentTarget }) => (comparisonMode.value = currentTarget.value as HeatMode)}>
        {(["first", "second", "difference"] as const).map((each) => <option key={each} value={each}>{MODE_WORDS[each]}</option>)}
      </select>
    </label>
  );
  const only = ofBoth !== null && whole?.sides.length === 1 && ofBoth.sides.length > 1 ? whole.sides[0] : undefined;
  const alone = only && use ? ` Of ${letterOf(only.number)} alone: what was ${use} was not recorded of ${letterOf(1 - only.number)}.` : "";
  const about = `A cell is a page of 4 KiB; 16 of them, 64 KiB, are one step of the grid. Of the file on the map${process === null ? "" : `, ${processWords(traces, process)}`}.${alone}`;
  return (
    <Panel id="heat" title="Heat strip" about={about} tools={tools}>
      {data && (mode === "difference" ? <ChangeKey use={data.use} /> : <HeatKey use={data.use} range={data.range} />)}
      {model && data === null && width > 0 && <p class="empty">{isTooLarge ? `It has ${count(Math.ceil(model.places.end / PAGE_SIZE))} pages, more than can be drawn.` : touchesWords(model)}</p>}
      {model === null && <p class="empty">The trace has no files.</p>}
      <div ref={frame} class="heat">{data && model && width > 0 && <HeatCanvas data={data} model={model} width={width - 14} />}</div>
    </Panel>
  );
}

/** What the strip is of: touches if any side has them, else reads. */
function usedIn(model: MapModel | null): "touched" | "read" | null {
  const uses = model?.sides.map((side) => usesOf(side.all)) ?? [];
  return uses.includes("touched") ? "touched" : uses.includes("read") ? "read" : null;
}

/** Only the sides of which that was recorded: of the others it is not known that nothing was used. */
function ofKnown(model: MapModel, use: "touched" | "read" | null): MapModel {
  const sides = use === null ? model.sides : model.sides.filter(({ trace }) => isKnown(trace, use));
  return sides.length === model.sides.length ? model : { ...model, sides };
}

function HeatKey({ use, range }: { use: string; range: readonly [number, number] }) {
  return (
    <p class="heat-key">
      first {use} at {time(range[0])}
      <span class="heat-scale" style={{ background: `linear-gradient(90deg, ${heatColours(isDark.value).filter((_, nth) => nth % 7 === 0).join(", ")})` }} />
      {time(range[1])}
      <span class="swatch" /> not {use}
    </p>
  );
}

function ChangeKey({ use }: { use: string }) {
  return (
    <p class="heat-key">
      <span class="swatch" style={{ background: colour("traces", "a") }} /> {use} in A only
      <span class="swatch" style={{ background: colour("traces", "b") }} /> in B only
      <span class="swatch" style={{ background: ink("elsewhere") }} /> in both
      <span class="swatch" /> in neither
    </p>
  );
}

/** Why there is nothing to show. */
function touchesWords({ sides }: MapModel): string {
  const isRecorded = sides.some(({ trace: { head } }) => head.run.layers.some((layer) => layer === "pages" || layer === "functions"));
  return isRecorded ? "No page of this file was touched or read." : "Touches of pages were not recorded, and nothing of this file was read.";
}

/** From the first touch to the last. */
function rangeOf(moments: Float64Array): [number, number] {
  let [early, late] = [Infinity, 0];
  for (const at of moments) {
    if (at === Infinity) continue;
    early = Math.min(early, at);
    late = Math.max(late, at);
  }
  return early === Infinity ? [0, 1] : [early, Math.max(late, early + 1)];
}
