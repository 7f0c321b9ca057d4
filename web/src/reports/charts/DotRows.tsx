// Runs as dots on an axis of time, a row for each command: below them the median as a line, and the interval of the mean as a bar.

import { beyondInWords, labelOf, outliersOf, plusMinus, pointedRun, readyAfter, seconds } from "../measured";
import type { Measurement, Sample, Summary } from "../types";
import { type Axis, labelEvery, timeTick } from "./axis";
import { IntervalBar } from "./IntervalBar";
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

/** Words stand left of the dots, or above them where the page is narrow. */
const NARROW = 700;
const LEFT = 250;
const HEAD = 50;
/** Where runs stand that failed, and warm-ups that took longer than all that counts; without any, half a label. */
const WIDE_GUTTER = 84;
const GUTTER = 28;
const ROW = 78;
const TOP = 22;
/** Each label of a line across stands below the one before, since the lines may lie close together. */
const LABEL = 13;
const BOTTOM = 26;
const STEP = 9;
/** Dots on one another for which every row has room, and the most: rows grow where runs lie close together. */
const LEVELS = 4;
const MOST_LEVELS = 12;

export function DotRows({ measurement, summaries, axis, limits, namesState }: DotRowsProps) {
  const { element, width } = useChartWidth(280);
  const isNarrow = width < NARROW;
  const left = isNarrow ? GUTTER : LEFT;
  const head = isNarrow ? HEAD : 0;
  const outliers = outliersOf(measurement.summaries);
  const tick = timeTick(axis);
  const runsOf = ({ command, state }: Summary) => measurement.samples.filter((run) => run.command === command && run.state === state);
  const isBeyond = (run: Sample) => (readyAfter(run) ?? Infinity) > axis.high;
  const beyond = summaries.flatMap(runsOf).filter(isBeyond);
  const gutter = beyond.length > 0 ? WIDE_GUTTER : GUTTER;
  const right = width - gutter;
  const plot = right - left;
  const x = (value: number) => left + plot * axis.at(value);
  const every = labelEvery(axis, plot, 56);
  const dots = summaries.map((summary) => placed(runsOf(summary), (run) => (isBeyond(run) ? width - gutter / 2 : x(readyAfter(run) ?? 0))));
  const levels = dots.flat().reduce((most, { level }) => Math.max(most, level + 1), LEVELS);
  const plotHeight = ROW + STEP * (levels - LEVELS);
  const rowHeight = plotHeight + head;
  const shownLimits = limits.filter((limit) => limit.seconds >= axis.low && limit.seconds <= axis.high);
  const first = TOP + LABEL * Math.max(0, shownLimits.length - 1);
  const bottom = first + rowHeight * summaries.length;
  return (
    <div ref={element}>
      <svg width={width} height={bottom + BOTTOM} viewBox={`0 0 ${width} ${bottom + BOTTOM}`} role="img" aria-label={summaries.map((summary) => inWords(measurement, summary)).join(". ")}>
        {axis.ticks.map((value, place) => (
          <g key={value}>
            <line class="report-grid" x1={x(value)} x2={x(value)} y1={first} y2={bottom} />
            {place % every === 0 && (beyond.length === 0 || x(value) < right - GUTTER) && <text class="report-tick" x={x(value)} y={bottom + 16} text-anchor="middle">{tick(value)}</text>}
          </g>
        ))}
        {beyond.length > 0 && <text class="report-tick" x={width - gutter / 2} y={bottom + 16} text-anchor="middle">{beyondInWords(beyond)}</text>}
        {summaries.map((summary, row) => {
          const line = first + rowHeight * row;
          const top = line + head;
          const base = top + plotHeight - 32;
          const { median, mean, mean_interval: interval } = summary;
          return (
            <g key={`${summary.state}${summary.command}`} class={`command-${summary.command % 4}`}>
              <line class="report-rule" x1={0} x2={width} y1={line} y2={line} />
              <text class="report-name" x={0} y={line + 20}>{namesState ? `${summary.state}, ` : ""}{labelOf(measurement, summary.command)}</text>
              <text class="report-note" x={0} y={line + 38}>{median === null ? counted(summary) : `median ${seconds(median)}, ${counted(summary)}`}</text>
              <text class="report-note" x={0} y={line + 54}>{interval === null ? "too few runs for an interval" : `mean ${mean === null ? "" : `${seconds(mean)} `}${plusMinus(interval)} (${Math.round(interval.confidence * 100)} %)`}</text>
              {median !== null && <line class="report-median" x1={x(median)} x2={x(median)} y1={top + 6} y2={top + plotHeight - 6} />}
              {interval !== null && (
                <>
                  <IntervalBar low={x(interval.low)} high={x(interval.high)} from={left} to={right} y={top + plotHeight - 20} height={9} />
                  {mean !== null && <line class="report-mean" x1={x(mean)} x2={x(mean)} y1={top + plotHeight - 23} y2={top + plotHeight - 8} />}
                </>
              )}
              {dots[row]?.map(({ run, at, level }) => (
                <g key={run.number} onPointerEnter={() => (pointedRun.value = run.number)}>
                  <circle class="report-target" cx={at} cy={base - level * STEP} r={8} />
                  <Mark x={at} y={base - level * STEP} command={run.command} use={run.used.use} isOutlier={outliers.has(run.number)} isPointed={pointedRun.value === run.number} />
                </g>
              ))}
            </g>
          );
        })}
        {shownLimits.map(({ seconds: value, label, isFloor }, place) => (
          <g key={label} class={isFloor ? "report-floor" : undefined}>
            <line class="report-limit" x1={x(value)} x2={x(value)} y1={TOP - 4 + LABEL * place} y2={bottom} />
            <text class="report-limit-name" x={x(value) + (axis.at(value) > 0.6 ? -5 : 5)} y={TOP - 8 + LABEL * place} text-anchor={axis.at(value) > 0.6 ? "end" : "start"}>{label}</text>
          </g>
        ))}
        <line class="report-rule" x1={0} x2={width} y1={bottom} y2={bottom} />
      </svg>
    </div>
  );
}

/** Dots that would cover one another stand on one another, as far as there is room. */
function placed(runs: readonly Sample[], x: (run: Sample) => number): { run: Sample; at: number; level: number }[] {
  const ends: number[] = Array.from({ length: MOST_LEVELS }, () => -Infinity);
  const sorted = [...runs].sort((a, b) => x(a) - x(b));
  return sorted.map((run, place) => {
    const at = x(run);
    let level = ends.findIndex((end) => at - end >= 9);
    if (level < 0) level = place % MOST_LEVELS;
    ends[level] = at;
    return { run, at, level };
  });
}

function counted({ counted: runs, failed, contradicting }: Summary): string {
  const left = failed + contradicting;
  return `${runs === 0 ? "no run counts" : `${runs} ${runs === 1 ? "run" : "runs"}`}${left > 0 ? ` (+${left} left out)` : ""}`;
}

function inWords(measurement: Measurement, summary: Summary): string {
  const { median, mean, mean_interval: interval } = summary;
  return `${summary.state}, ${labelOf(measurement, summary.command)}: ${median === null ? "" : `median ${seconds(median)}`}${interval === null ? "" : `, mean ${mean === null ? "" : `${seconds(mean)} `}${plusMinus(interval)} with 95 % confidence`}${median === null ? "" : ", "}${counted(summary)}`;
}
