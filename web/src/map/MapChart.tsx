// The map's chart: drawn again, once a frame at most, whenever what it shows changes. The pointer's box and rings lie over it, so moving
// the pointer draws nothing anew.

import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";

import { AXIS_HEIGHT, makePlot } from "../charts/plot";
import { LEFT_MARGIN, RIGHT_MARGIN } from "../charts/margins";
import { mark, placeRange, selectedEvent, showTime, timeRange } from "../state";
import { isDark } from "../theme";
import { nearest } from "./dots";
import { dotOfEvent, type DrawnDot, drawnDots } from "./drawn";
import { EventBox } from "./EventBox";
import { isPan, listenOnMap, pointOf } from "./gestures";
import { mapKey } from "./keys";
import { MapPainter, type Scene } from "./painter";
import { placeTicks } from "./placeTicks";
import { PlaceBox } from "./PlaceBox";
import type { Places } from "./places";
import { placesShown, showPlaces } from "./view";

/** How near the pointer must be to a dot, in pixels. */
const NEAR = 12;

/** Marks the first picture, for those who measure how long a page takes to open. */
const DRAWN = "coldstart-map-drawn";

/** Where the pointer is, in pixels of the plot. What it is at is looked up anew with each picture: below a pointer at rest the map can zoom,
 * and another file can come. */
interface Pointed {
  x: number;
  y: number;
}

export function MapChart({ scene, width, height }: { scene: Scene; width: number; height: number }) {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [isTold, setTold] = useState(false);
  const now = useRef(scene);
  now.current = scene;
  const requested = useRef(0);
  const drawn = useRef("");

  const request = () => {
    if (requested.current !== 0) return;
    requested.current = requestAnimationFrame(() => {
      requested.current = 0;
      const chart = plot.current;
      if (chart === null) return;
      const [begin, end] = timeRange.value;
      const [low, high] = placesShown(now.current.model.places);
      const { x, y } = chart.scales as Record<"x" | "y", uPlot.Scale>;
      if (x.min === begin && x.max === end && y.min === low && y.max === high) chart.redraw(false, true);
      else chart.batch(() => {
        chart.setScale("x", { min: begin, max: end });
        chart.setScale("y", { min: low, max: high });
      });
      drawn.current = stateKey();
      if (performance.getEntriesByName(DRAWN).length === 0) performance.mark(DRAWN);
    });
  };

  // Before the page is painted: the first thing to be seen has the map in it.
  useLayoutEffect(() => {
    const parent = root.current;
    if (parent === null || width === 0) return undefined;
    const painter = new MapPainter();
    const chart = makePlot(parent, {
      width, height,
      placeTicks: (low, high, most) => placeTicks(now.current.model.places, low, high, most),
      drawGround: (drawn) => painter.ground(drawn, now.current),
      drawDots: (drawn) => painter.foreground(drawn, now.current),
      onBox: (time, place) => {
        if (time) showTime(...time);
        if (place) showPlaces(now.current.model.places, ...place);
      },
      isBox: (event) => event.button === 0 && !isPan(event),
    });
    plot.current = chart;
    request();
    let told: ReturnType<typeof setTimeout> | undefined;
    let waiting = 0;
    let point: [number, number] | null = null;
    const stop = listenOnMap(chart.over, parent, {
      places: () => now.current.model.places,
      onMove: (to) => {
        point = to;
        // The pointer reports more often than the screen is drawn.
        if (waiting === 0) waiting = requestAnimationFrame(() => {
          waiting = 0;
          setPointed(point === null ? null : { x: point[0], y: point[1] });
        });
      },
      onClick: (x, y) => {
        const dot = dotAt(now.current, width, height, x, y);
        const side = dot?.drawn.side(dot.nth);
        selectedEvent.value = dot && side ? { trace: side.number, row: dot.drawn.dots.row[dot.nth] ?? 0 } : null;
      },
      onPlainWheel: () => {
        setTold(true);
        clearTimeout(told);
        told = setTimeout(() => setTold(false), 1200);
      },
    });
    return () => {
      stop();
      clearTimeout(told);
      cancelAnimationFrame(waiting);
      cancelAnimationFrame(requested.current);
      requested.current = 0;
      chart.destroy();
      plot.current = null;
    };
  }, [width, height]);

  useLayoutEffect(request, [scene]);
  useSignalEffect(() => {
    if (stateKey() !== drawn.current) request();
  });

  const { model } = scene;
  const drawnNow = drawnOf(scene);
  const [across, down] = [width - LEFT_MARGIN - RIGHT_MARGIN, height - AXIS_HEIGHT];
  const ring = ({ drawn: { dots }, nth }: DrawnDot, name: string) => {
    const [x, y] = pointOf(model.places, dots.at[nth] ?? 0, dots.place[nth] ?? 0, across, down);
    return x < 0 || x > across || y < 0 || y > down ? null : <div class={name} style={{ transform: `translate(${LEFT_MARGIN + x}px, ${y}px)` }} />;
  };
  const chosenDot = dotOfEvent(drawnNow, selectedEvent.value);
  const dot = pointed && dotAt(scene, width, height, pointed.x, pointed.y);
  const marked = markOf(model.places, down);
  const side = dot?.drawn.side(dot.nth);
  return (
    <div
      ref={root} class="map-chart" tabIndex={0} role="application" aria-roledescription="map of first touches" aria-describedby="map-keys map-status"
      aria-label={`Map of ${model.sides[0]?.file.path ?? "a file"}: time across, place in the file upwards`} style={{ height: `${height}px` }}
      onKeyDown={(event) => event.target === event.currentTarget && mapKey(event, model.places, drawnNow) && event.preventDefault()}
    >
      {marked && <div class="map-mark" style={{ left: `${LEFT_MARGIN}px`, width: `${across}px`, top: `${marked[0]}px`, height: `${marked[1] - marked[0]}px` }} />}
      {dot && ring(dot, "map-ring")}
      {chosenDot && ring(chosenDot, "map-ring chosen")}
      {pointed && (
        <div class="tip map-tip" style={{
          ...(LEFT_MARGIN + pointed.x > width / 2 ? { right: `${across - pointed.x + RIGHT_MARGIN + 14}px` } : { left: `${LEFT_MARGIN + pointed.x + 14}px` }),
          ...(pointed.y > down / 2 ? { bottom: `${height - pointed.y + 10}px` } : { top: `${pointed.y + 14}px` }),
        }}>
          {side && dot ? <EventBox side={side} row={dot.drawn.dots.row[dot.nth] ?? 0} change={dot.drawn.change(dot.nth)} isComparison={model.isComparison} /> : <PlaceBox model={model} x={pointed.x / across} y={1 - pointed.y / down} />}
        </div>
      )}
      {isTold && <p class="map-told">Hold Ctrl and turn the wheel to zoom</p>}
    </div>
  );
}

function drawnOf({ model, shown, mode, difference }: Scene) {
  return drawnDots(model.sides, shown, mode, difference);
}

/** The dot at a point of a chart of that size; null: none is near. */
function dotAt(scene: Scene, width: number, height: number, x: number, y: number): DrawnDot | null {
  const [begin, end] = timeRange.value;
  const [low, high] = placesShown(scene.model.places);
  const view = { begin, end, low, high, width: width - LEFT_MARGIN - RIGHT_MARGIN, height: height - AXIS_HEIGHT };
  let [found, least]: [DrawnDot | null, number] = [null, Infinity];
  for (const drawn of drawnOf(scene)) {
    const near = nearest(drawn.dots, view, x, y, NEAR);
    if (near !== null && near.distance < least) [found, least] = [{ drawn, nth: near.nth }, near.distance];
  }
  return found;
}

/** What a picture depends on beside its scene; whoever reads it in an effect is called again when it changes. */
function stateKey(): string {
  return `${timeRange.value.join()} ${placeRange.value?.join() ?? ""} ${isDark.value}`;
}

/** Where the stretch stands that was gone to, in pixels from above; null: nothing of it is seen. */
function markOf(places: Places, height: number): [top: number, bottom: number] | null {
  if (mark.value === null) return null;
  const [low, high] = placesShown(places);
  const at = (place: number) => ((high - place) / (high - low)) * height;
  const [top, bottom] = [Math.max(at(mark.value.high), 0), Math.min(at(mark.value.low), height)];
  return bottom < 0 || top > height ? null : [Math.min(top, bottom - 2), bottom];
}
