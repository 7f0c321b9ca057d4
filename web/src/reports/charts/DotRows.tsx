// Runs as dots on an axis of time, a row for each command: below them the median as a line, and the interval of the mean as a bar.

import { labelOf, outliersOf, pointedRun, seconds, span } from "../measured";
import type { Measurement, Sample, Summary } from "../types";
import { type Axis, timeTick } from "./axis";
import { Mark } from "./Mark";
import { useChartWidth } from "./useChartWidth";

/** A line across all rows: what must not be passed, or cannot be; `floor`: what no start can go below, which is no aim. */
export interface LimitLine { seconds: number; label: string; isFloor?: boolean }

export interface DotRowsProps {
  measurement: Measurement;
  /** A row each. */
  summaries: readonly Summary[];
  axis: Axis;
  limits: readonly LimitLine[];
  /** Whether the state stands in front of the command. */
  namesState: boolean;
}

const LEFT = 250;
/** Where runs stand that were never ready, and warm-ups that took longer than all that counts; without any, half a label. */
const WIDE_GUTTER = 84;
const GUTTER = 28;
const ROW = 78;
const TOP = 22;
const BOTTOM = 26;
const STEP = 9;
const LEVELS = 4;

export function DotRows({ measurement, summaries, axis, limits, namesState }: DotRowsProps) {
  const { element, width } = useChartWidth(640);
  const outliers = outliersOf(measurement.summaries);
  const tick = timeTick(axis);
  const runsOf = ({ command, state }: Summary) => measurement.samples.filter((run) => run.command === command && run.state === state);
  const isBeyond = (run: Sample) => run.seconds === null || run.seconds > axis.high;
  const beyond = summaries.flatMap(runsOf).filter(isBeyond);
  const gutter = beyond.length > 0 ? WIDE_GUTTER : GUTTER;
  const clamped = (at: number) => Math.min(Math.max(at, LEFT), width - gutter);
  const plot = width - LEFT - gutter;
  const x = (value: number) => LEFT + plot * axis.at(value);
  const bottom = TOP + ROW * summaries.length;
  const shownLimits = limits.filter((limit) => limit.seconds >= axis.low && limit.seconds <= axis.high);
  return (
    <div ref={element}>
      <svg width={width} height={bottom + BOTTOM} role="img" aria-label={summaries.map((summary) => inWords(measurement, summary)).join(". ")}>
        {axis.ticks.map((value) => (
          <g key={value}>
            <line class="report-grid" x1={x(value)} x2={x(value)} y1={TOP} y2={bottom} />
            <text class="report-tick" x={x(value)} y={bottom + 16} text-anchor="middle">{tick(value)}</text>
          </g>
        ))}
        {beyond.length > 0 && <text class="report-tick" x={width - gutter / 2} y={bottom + 16} text-anchor="middle">{beyond.some((run) => run.seconds === null) ? "never ready" : "longer"}</text>}
        {summaries.map((summary, row) => {
          const top = TOP + ROW * row;
          const base = top + ROW - 32;
          const { median, mean, mean_interval: interval } = summary;
          return (
            <g key={`${summary.state}${summary.command}`} class={`command-${summary.command % 4}`}>
              <line class="report-rule" x1={0} x2={width} y1={top} y2={top} />
              <text class="report-name" x={0} y={top + 20}>{namesState ? `${summary.state}, ` : ""}{labelOf(measurement, summary.command)}</text>
              <text class="report-note" x={0} y={top + 38}>{median === null ? "median not recorded" : `median ${seconds(median)}`}, {counted(summary)}</text>
              <text class="report-note" x={0} y={top + 54}>{interval === null ? "no interval: too few runs" : `mean, ${Math.round(interval.confidence * 100)} %: ${span(interval)}`}</text>
              {median !== null && <line class="report-median" x1={x(median)} x2={x(median)} y1={top + 6} y2={top + ROW - 6} />}
              {interval !== null && (
                <>
                  <rect class="report-interval" x={clamped(x(interval.low))} width={Math.max(2, clamped(x(interval.high)) - clamped(x(interval.low)))} y={top + ROW - 20} height={9} />
                  {mean !== null && <line class="report-mean" x1={x(mean)} x2={x(mean)} y1={top + ROW - 23} y2={top + ROW - 8} />}
                </>
              )}
              {placed(runsOf(summary), (run) => (run.seconds === null || isBeyond(run) ? width - gutter / 2 : x(run.seconds))).map(({ run, at, level }) => (
                <g key={run.number} onPointerEnter={() => (pointedRun.value = run.number)}>
                  <circle class="report-target" cx={at} cy={base - level * STEP} r={8} />
                  <Mark x={at} y={base - level * STEP} command={run.command} use={run.used.use} isOutlier={outliers.has(run.number)} isPointed={pointedRun.value === run.number} />
                </g>
              ))}
            </g>
          );
        })}
        {shownLimits.map(({ seconds: value, label, isFloor }) => (
          <g key={label} class={isFloor ? "report-floor" : undefined}>
            <line class="report-limit" x1={x(value)} x2={x(value)} y1={TOP - 4} y2={bottom} />
            <text class="report-limit-name" x={x(value) + (axis.at(value) > 0.6 ? -5 : 5)} y={TOP - 8} text-anchor={axis.at(value) > 0.6 ? "end" : "start"}>{label}</text>
          </g>
        ))}
        <line class="report-rule" x1={0} x2={width} y1={bottom} y2={bottom} />
      </svg>
    </div>
  );
}

/** Dots that would cover one another stand on one another, as far as there is room. */
function placed(runs: readonly Sample[], x: (run: Sample) => number): { run: Sample; at: number; level: number }[] {
  const ends: number[] = Array.from({ length: LEVELS }, () => -Infinity);
  const sorted = [...runs].sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity));
  return sorted.map((run, place) => {
    const at = x(run);
    let level = ends.findIndex((end) => at - end >= 9);
    if (level < 0) level = place % LEVELS;
    ends[level] = at;
    return { run, at, level };
  });
}

function counted({ counted: runs, failed, contradicting }: Summary): string {
  const left = failed + contradicting;
  return `${runs} ${runs === 1 ? "run" : "runs"}${left > 0 ? ` (+${left} left out)` : ""}`;
}

function inWords(measurement: Measurement, summary: Summary): string {
  const { median, mean_interval: interval } = summary;
  return `${summary.state}, ${labelOf(measurement, summary.command)}: median ${median === null ? "not recorded" : seconds(median)}${interval === null ? "" : `, mean with 95 % confidence ${span(interval)}`}, ${counted(summary)}`;
}
