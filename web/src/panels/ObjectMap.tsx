// The map of an object: time across, place in the file upwards, a dot for each first touch.

import { useMemo, useRef, useState } from "preact/hooks";

import type { AppProps } from "../App";
import { count, time } from "../format";
import { ChangeLegend } from "../map/ChangeLegend";
import { eventSentence } from "../map/describe";
import { DotLegend } from "../map/DotLegend";
import { categoryTimes } from "../map/elsewhere";
import { GoTo } from "../map/GoTo";
import { placeMover } from "../map/difference";
import { dotOfEvent, drawnDots } from "../map/drawn";
import { initialisersOf } from "../map/initialisers";
import { KEYS_HELP } from "../map/keys";
import { MapChart } from "../map/MapChart";
import { MapLanes } from "../map/MapLanes";
import { type ComparisonMode, differenceOf, isKnown, isPair, type MapSide, modelOf, modeOf, ofProcess, shownOf, toleranceNow } from "../map/model";
import { ObjectChooser } from "../map/ObjectChooser";
import { phaseRows } from "../map/phases";
import { SectionLegend } from "../map/SectionLegend";
import { pan, showAll, zoom } from "../map/view";
import { baseName } from "../names";
import { Panel } from "../parts/Panel";
import { letterOf } from "../parts/TraceBadge";
import { processWords, shownProcesses } from "../processes";
import { comparisonMode, hiddenDots, mark, movedBy, placeRange, selectedEvent, selectedFile, selectedProcess, timeRange, wholeTime } from "../state";
import { hasTouches } from "../timeline/density";
import { HoverLine } from "../timeline/HoverLine";
import { useWidth } from "../parts/useWidth";

/** Of the chart, in pixels. */
const LOW = 400;
const HIGH = 640;

/** Buttons for those who cannot drag. */
const PANS: readonly (readonly [sign: string, name: string, across: number, up: number])[] = [["←", "Move left", -0.25, 0], ["→", "Move right", 0.25, 0], ["↓", "Move down", 0, -0.25], ["↑", "Move up", 0, 0.25]];

export function ObjectMap({ page, traces }: AppProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [isHigh, setIsHigh] = useState(false);
  const model = modelOf(page, traces, selectedFile.value);
  const mode = model ? modeOf(model, comparisonMode.value) : "first";
  const tolerance = toleranceNow();
  const shown = model ? shownOf(model, hiddenDots.value, selectedProcess.value) : null;
  const difference = shown && mode === "difference" ? differenceOf(shown, tolerance) : null;
  // Whose phases and other files stand around the dots: with both traces shown, A's.
  const main = (mode === "second" ? model?.sides[1] : undefined) ?? model?.sides[0];
  const categories = useMemo(() => (main ? categoryTimes(main.trace) : []), [main?.trace]);
  // Without touches nobody knows which files were in use between two reads.
  const hasGaps = main !== undefined && hasTouches(main.trace);
  const process = selectedProcess.value;
  const rows = useMemo(() => (main ? phaseRows(main.trace, main.filePlace, shownProcesses(traces, main.number, process)) : null), [main, process]);
  const initialisers = useMemo(() => {
    if (!model || !main) return [];
    const moved = main.places === model.places ? (place: number) => place : placeMover(main.places, model.places);
    const placeOf = (address: number) => {
      const place = main.places.ofAddress(address);
      return place === null ? null : moved(place);
    };
    return initialisersOf(main.trace, main.filePlace, shownProcesses(traces, main.number, process), placeOf);
  }, [model, main, process]);
  const scene = useMemo(() => (model && shown ? { model, shown, mode, difference, categories, hasGaps, initialisers } : null), [model, shown, mode, difference, categories, hasGaps, initialisers]);
  const chosen = selectedEvent.value;
  const side = model?.sides.find(({ number, file }) => chosen !== null && number === chosen.trace && chosen.row >= file.events[0] && chosen.row < file.events[0] + file.events[1]);
  const chosenDot = model && shown && difference ? dotOfEvent(drawnDots(model.sides, shown, mode, difference), chosen) : null;
  const change = chosenDot && chosenDot.drawn.change(chosenDot.nth);
  const [begin, end] = timeRange.value;
  const places = model?.places;
  const tools = (
    <>
      {traces.length > 1 && (
        <label>
          Show
          <select value={mode} disabled={(model?.sides.length ?? 0) < 2} onChange={({ currentTarget }) => (comparisonMode.value = currentTarget.value as ComparisonMode)}>
            <option value="both">A, and B lighter</option>
            <option value="first">A</option>
            <option value="second">B</option>
            <option value="difference" disabled={model === null || !isPair(model)}>the difference</option>
          </select>
        </label>
      )}
      <ObjectChooser page={page} traces={traces} />
      {model && <GoTo model={model} />}
      <span class="buttons">
        {places && PANS.map(([sign, name, across, up]) => <button key={name} type="button" aria-label={name} title={name} onClick={() => pan(places, across, up)}>{sign}</button>)}
      </span>
      <span class="buttons">
        <button type="button" onClick={() => places && zoom(places, { time: 0.5, place: 0.5 })}>Zoom in</button>
        <button type="button" onClick={() => places && zoom(places, { time: 2, place: 2 })}>Zoom out</button>
        <button type="button" disabled={placeRange.value === null && begin === wholeTime.value[0] && end === wholeTime.value[1]} onClick={showAll} title="The whole time and the whole file (0)">Show all</button>
        <button type="button" aria-pressed={isHigh} onClick={() => setIsHigh(!isHigh)}>Taller</button>
      </span>
    </>
  );
  const own = model?.sides[0];
  const noPartner = model?.isComparison === true && model.sides.length < 2;
  const about = model && own && `${baseName(own.file.path)}: ${model.sides.map((each) => `${model.sides.length > 1 ? `${letterOf(each.number)} ` : ""}${amountWords(each)}`).join(", ")}${own.file.object ? "" : "; no ELF file, so without sections"}.${process === null ? "" : ` Shown: ${processWords(traces, process)}.`}`;
  return (
    <Panel id="map" title="Map" about={about} tools={tools}>
      {model && shown && (mode === "difference" && difference
        ? <ChangeLegend difference={difference} tolerance={tolerance} onTolerance={(chosen) => (movedBy.value = chosen)} />
        : <DotLegend model={ofProcess(model, process)} />)}
      {noPartner && own && <p class="caveat">{letterOf(1 - own.number)} has nothing of this file: the map shows {letterOf(own.number)} alone.</p>}
      <div ref={frame} class="map">
        {main && rows && <MapLanes side={main} rows={rows} categories={categories} width={width} />}
        {scene && width > 0 && <MapChart scene={scene} width={width} height={isHigh ? HIGH : LOW} />}
        <HoverLine width={width} />
      </div>
      {own?.file.object && model && <SectionLegend model={model} hasInitialisers={initialisers.length > 0} hasOthers={hasGaps} />}
      <p id="map-status" class="map-status" role="status" aria-live="polite">
        {chosen && side ? `${change === null ? "" : `${change}. `}${eventSentence(side.trace, chosen.row, side.places, side.file.events[0])}` : (mark.value?.sentence ?? "")}
      </p>
      <p id="map-keys" class="map-keys">
        {KEYS_HELP.map(([keys, what]) => <span key={keys}><kbd>{keys}</kbd> {what}</span>)}
        <span>{time(end - begin)} shown</span>
      </p>
    </Panel>
  );
}

/** "1 234 first touches", or what else happened to a file of which none were seen. */
function amountWords({ file, all, trace }: MapSide): string {
  const touches = file.figures?.touches ?? 0;
  const isRecorded = isKnown(trace, "touched");
  if (all.count === 0 && !isRecorded) return "touches of pages were not recorded";
  const [number, what] = touches > 0 || all.count === 0 ? [touches, "first touch"] : [all.count, "event"];
  return `${count(number)} ${what}${number === 1 ? "" : what === "event" ? "s" : "es"}`;
}
