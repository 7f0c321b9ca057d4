// Runs in the order in which they ran: drift, a slow first run, and times in which the machine was disturbed show here.

import { shortened } from "../../names";
import { beyondInWords, labelOf, medianOf, outliersOf, pointedRun, readyAfter, seconds, timesForAxis } from "../measured";
import type { Measurement, Sample, State } from "../types";
import { axisOver, timeTick } from "./axis";
import { Mark } from "./Mark";
import { useChartWidth } from "./useChartWidth";

/** Medians are named right of the plot, unless the page is narrow. */
const NARROW = 700;
const LEFT = 80;
const RIGHT = 205;
const TOP = 24;
const PLOT = 150;

export function OrderPlot({ measurement, state, runs, zero }: { measurement: Measurement; state: State; runs: readonly Sample[]; zero: boolean }) {
  const { element, width } = useChartWidth(280);
  const isNarrow = width < NARROW;
  const right = width - (isNarrow ? 12 : RIGHT);
  const outliers = outliersOf(measurement.summaries);
  const axis = axisOver(timesForAxis(runs), zero, 4);
  const tick = timeTick(axis);
  const first = runs[0]?.number ?? 1;
  const last = runs[runs.length - 1]?.number ?? first;
  const x = (number: number) => LEFT + 12 + (right - LEFT - 24) * (last > first ? (number - first) / (last - first) : 0.5);
  const y = (value: number) => TOP + PLOT * (1 - axis.at(value));
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.min(20, (right - LEFT) / 34)));
  const commands = [...new Set(runs.map((run) => run.command))].sort((a, b) => a - b);
  const isAbove = (run: Sample) => (readyAfter(run) ?? Infinity) > axis.high;
  const counted = (command: number) => runs.filter((run) => run.command === command && run.used.use === "counted");
  const medianOfCommand = (command: number) => medianOf(counted(command).flatMap((run) => run.seconds ?? []));
  const labels = apart(commands.flatMap((command) => {
    const median = medianOfCommand(command);
    return median === null ? [] : [{ command, median, at: y(median) + 4 }];
  }));
  return (
    <div ref={element}>
      <svg width={width} height={TOP + PLOT + 38} viewBox={`0 0 ${width} ${TOP + PLOT + 38}`} role="img" aria-label={`${state}: times of runs ${first} to ${last} in their order; the table of all runs has them as text`}>
        {axis.ticks.map((value) => (
          <g key={value}>
            <line class="report-grid" x1={LEFT} x2={right} y1={y(value)} y2={y(value)} />
            <text class="report-tick" x={LEFT - 8} y={y(value) + 4} text-anchor="end">{tick(value)}</text>
          </g>
        ))}
        {runs.filter((run) => (run.number - first) % step === 0).map((run) => (
          <text key={run.number} class="report-tick" x={x(run.number)} y={TOP + PLOT + 16} text-anchor="middle">{run.number}</text>
        ))}
        <text class="report-tick" x={(LEFT + right) / 2} y={TOP + PLOT + 33} text-anchor="middle">number of the run, in the order in which they ran</text>
        {!isNarrow && labels.map(({ command, median, at }) => (
          <text key={command} class="report-note" x={right + 6} y={at}><title>{labelOf(measurement, command)}</title>median {shortened(labelOf(measurement, command), 14)}: {seconds(median)}</text>
        ))}
        {commands.map((command) => {
          const median = medianOfCommand(command);
          const path = counted(command).flatMap((run) => (run.seconds === null ? [] : `${x(run.number).toFixed(1)},${y(run.seconds).toFixed(1)}`));
          return (
            <g key={command} class={`command-${command % 4}`}>
              <polyline class="report-path" points={path.join(" ")} />
              {median !== null && <line class="report-median-across" x1={LEFT} x2={right} y1={y(median)} y2={y(median)} />}
            </g>
          );
        })}
        {runs.map((run) => {
          const at = isAbove(run) ? TOP - 8 : y(readyAfter(run) ?? 0);
          return (
            <g key={run.number} onPointerEnter={() => (pointedRun.value = run.number)}>
              <circle class="report-target" cx={x(run.number)} cy={at} r={9} />
              <Mark x={x(run.number)} y={at} command={run.command} use={run.used.use} isOutlier={outliers.has(run.number)} isPointed={pointedRun.value === run.number} />
            </g>
          );
        })}
        {runs.some(isAbove) && <text class="report-tick" x={LEFT - 8} y={TOP - 4} text-anchor="end">{beyondInWords(runs.filter(isAbove))}</text>}
      </svg>
    </div>
  );
}

/** Moves labels down until none covers another. */
function apart<Label extends { at: number }>(labels: Label[]): Label[] {
  let free = -Infinity;
  return [...labels].sort((a, b) => a.at - b.at).map((label) => {
    const at = Math.max(label.at, free);
    free = at + 14;
    return { ...label, at };
  });
}
