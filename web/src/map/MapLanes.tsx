// Above the map: the phases of the process, and when the program was busy with other files.

import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { baseName } from "../names";
import { timeRange } from "../state";
import { isDark } from "../theme";
import { prepare } from "../timeline/canvas";
import { scaleOf } from "../timeline/scale";
import { drawLanes, lanesHeight } from "./drawLanes";
import type { CategoryTimes } from "./elsewhere";
import type { MapSide } from "./model";
import type { PhaseRows } from "./phases";

export interface MapLanesProps {
  side: MapSide;
  rows: PhaseRows;
  categories: readonly CategoryTimes[];
  width: number;
}

export function MapLanes({ side, rows, categories, width }: MapLanesProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = lanesHeight(rows, categories);
  const process = side.trace.head.processes[rows.process];
  const name = process ? `${baseName(process.program)} (${process.number})` : "the process";
  // Of several processes it is not plain whose phases these are.
  const labels = { outer: process && side.trace.head.processes.length > 1 ? baseName(process.program) : "phases", own: "of this object" };
  const draw = useRef(() => undefined as void);
  const requested = useRef(0);
  draw.current = () => {
    const context = canvas.current && width > 0 ? prepare(canvas.current, width, height) : null;
    if (context) drawLanes(context, scaleOf(timeRange.value, width), rows, categories, labels, { category: side.file.category, times: side.all.at });
  };
  const request = () => {
    if (requested.current === 0) requested.current = requestAnimationFrame(() => {
      requested.current = 0;
      draw.current();
    });
  };
  useLayoutEffect(request, [side, rows, categories, width]);
  useSignalEffect(() => {
    void timeRange.value;
    void isDark.value;
    request();
  });
  return (
    <canvas
      ref={canvas} class="map-lanes" role="img" title={rows.outer.length > 0 ? `Phases of ${name}${side.file.events[1] > 0 ? ", which used the file most" : ""}` : undefined}
      aria-label={`Phases of ${name}, and how busy the program was with other files: ${categories.map(({ label, times }) => `${label} ${times.length} events`).join(", ")}`}
    />
  );
}
