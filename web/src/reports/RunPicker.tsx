// The frame of a chart of runs: the pointer or the arrow keys choose a run, and the line below says what it was.

import type { ComponentChildren } from "preact";

import { outliersOf, pointedRun, runInWords } from "./measured";
import type { Measurement, Sample } from "./types";

export interface RunPickerProps {
  measurement: Measurement;
  /** Those of the chart, in the order in which arrow keys walk. */
  runs: readonly Sample[];
  /** What the chart shows. */
  label: string;
  children: ComponentChildren;
}

export function RunPicker({ measurement, runs, label, children }: RunPickerProps) {
  const place = runs.findIndex(({ number }) => number === pointedRun.value);
  const run = runs[place];
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: place + 1, ArrowLeft: place < 0 ? runs.length - 1 : place - 1, Home: 0, End: runs.length - 1 };
    const to = steps[event.key];
    if (to !== undefined) pointedRun.value = runs[Math.min(Math.max(to, 0), runs.length - 1)]?.number ?? null;
    else if (event.key === "Escape") pointedRun.value = null;
    else return;
    event.preventDefault();
  };
  return (
    <div class="report-picker">
      <div class="report-chart" role="group" tabIndex={0} aria-label={`${label}. Arrow keys walk through the runs.`} onKeyDown={onKeyDown} onPointerLeave={() => (pointedRun.value = null)}>
        {children}
      </div>
      <p class="report-readout" role="status">
        {run ? runInWords(measurement, run, outliersOf(measurement.summaries).has(run.number)) : <span class="hint">Point at a run, or focus the chart and press the arrow keys.</span>}
      </p>
    </div>
  );
}
