// Differences with their intervals, a row each, beside the line of "no difference" and, where one is set, that of the limit.

import type { Verdict } from "../types";
import { type Axis, axisOver } from "./axis";
import { useChartWidth } from "./useChartWidth";

export interface IntervalRow {
  name: string;
  /** What the row says, in words. */
  text: string;
  value: number | null;
  interval: { low: number; high: number } | null;
  /** Of a greater confidence. */
  wide: { low: number; high: number } | null;
  /** The true value is at least this, with the promised confidence. */
  atLeast?: number | null;
  limit?: { value: number; label: string } | null;
  verdict: Verdict | null;
}

export interface IntervalsProps {
  rows: readonly IntervalRow[];
  /** The value that means no difference. */
  same: number;
  sameLabel: string;
  tick: (axis: Axis) => (value: number) => string;
}

const LEFT = 250;
const RIGHT = 30;
const ROW = 50;
/** Lines across end here, above the words. */
const LINES = 30;
const TOP = 22;

export function Intervals({ rows, same, sameLabel, tick }: IntervalsProps) {
  const { element, width } = useChartWidth(640);
  const values = rows.flatMap((row) => [row.value, row.interval?.low, row.interval?.high, row.wide?.low, row.wide?.high, row.atLeast, row.limit?.value].filter((value) => value !== null && value !== undefined));
  const axis = axisOver([...values, same], false);
  const label = tick(axis);
  const x = (value: number) => LEFT + (width - LEFT - RIGHT) * Math.min(Math.max(axis.at(value), 0), 1);
  const bottom = TOP + ROW * rows.length;
  return (
    <div ref={element}>
      <svg width={width} height={bottom + 24} role="img" aria-label={rows.map(({ name, text }) => `${name}: ${text}`).join(". ")}>
        {axis.ticks.map((value) => (
          <text key={value} class="report-tick" x={x(value)} y={bottom + 16} text-anchor="middle">{label(value)}</text>
        ))}
        <text class="report-note" x={x(same)} y={TOP - 8} text-anchor="middle">{sameLabel}</text>
        {rows.map((row, place) => {
          const top = TOP + ROW * place;
          const middle = top + 18;
          return (
            <g key={row.name} class={`report-verdict-${row.verdict ?? "none"}`}>
              <line class="report-rule" x1={0} x2={width} y1={top} y2={top} />
              {axis.ticks.map((value) => <line key={value} class="report-grid" x1={x(value)} x2={x(value)} y1={top} y2={top + LINES} />)}
              <line class="report-same" x1={x(same)} x2={x(same)} y1={top} y2={top + LINES} />
              <text class="report-name" x={0} y={middle + 4}>{row.name}</text>
              {row.wide && <line class="report-wide" x1={x(row.wide.low)} x2={x(row.wide.high)} y1={middle} y2={middle} />}
              {row.interval && <rect class="report-interval" x={x(row.interval.low)} width={Math.max(2, x(row.interval.high) - x(row.interval.low))} y={middle - 5} height={10} />}
              {row.atLeast !== null && row.atLeast !== undefined && (
                <path class="report-bound" d={`M${x(row.atLeast)},${middle - 7}V${middle + 7}M${x(row.atLeast)},${middle}H${width - RIGHT}m-6,-4l6,4l-6,4`} />
              )}
              {row.value !== null && <circle class="report-value" cx={x(row.value)} cy={middle} r={5} />}
              {row.limit && (
                <>
                  <line class="report-limit" x1={x(row.limit.value)} x2={x(row.limit.value)} y1={top + 3} y2={top + LINES} />
                  <text class="report-limit-name" x={x(row.limit.value) + (axis.at(row.limit.value) > 0.7 ? -5 : 5)} y={top + 12} text-anchor={axis.at(row.limit.value) > 0.7 ? "end" : "start"}>{row.limit.label}</text>
                </>
              )}
              <text class="report-note" x={LEFT} y={top + 43}>{row.text}</text>
            </g>
          );
        })}
        <line class="report-rule" x1={0} x2={width} y1={bottom} y2={bottom} />
      </svg>
    </div>
  );
}
