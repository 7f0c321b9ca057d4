// Differences with their intervals, a row each, beside the line of "no difference" and, where one is set, that of the limit. Names and
// words stand in HTML, where they can be as long as they are.

import type { Verdict } from "../types";
import { type Axis, labelEvery } from "./axis";
import { IntervalBar } from "./IntervalBar";
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
  /** An axis over values that must stand on it, and ends of intervals that may lie outside. */
  axisOver: (must: readonly number[], may: readonly number[]) => Axis;
  tick: (axis: Axis) => (value: number) => string;
}

const SIDE = 34;
const HEIGHT = 34;
const MIDDLE = 20;

export function Intervals({ rows, same, sameLabel, axisOver, tick }: IntervalsProps) {
  const { element, width } = useChartWidth(240);
  const known = (values: readonly (number | null | undefined)[]) => values.filter((value) => value !== null && value !== undefined);
  const axis = axisOver(
    [...known(rows.flatMap((row) => [row.value, row.atLeast, row.limit?.value])), same],
    known(rows.flatMap((row) => [row.interval?.low, row.interval?.high, row.wide?.low, row.wide?.high])),
  );
  const label = tick(axis);
  const [from, to] = [SIDE, width - SIDE];
  const x = (value: number) => from + (to - from) * axis.at(value);
  const inside = (at: number) => Math.min(Math.max(at, from), to);
  const every = labelEvery(axis, to - from, 56);
  return (
    <ul class="report-intervals">
      {rows.map((row, place) => {
        const { value, interval, wide, atLeast = null, limit = null } = row;
        const before = limit !== null && axis.at(limit.value) > 0.6;
        return (
          <li key={place} class={`report-verdict-${row.verdict ?? "none"}`}>
            <span class="name">{row.name}</span>
            <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
              {axis.ticks.map((found) => <line key={found} class="report-grid" x1={x(found)} x2={x(found)} y1={0} y2={HEIGHT} />)}
              <line class="report-same" x1={x(same)} x2={x(same)} y1={0} y2={HEIGHT} />
              {wide && (
                <path class="report-wide" d={`M${inside(x(wide.low))},${MIDDLE}H${inside(x(wide.high))}${x(wide.high) > to ? "m-5,-4l5,4l-5,4" : ""}${x(wide.low) < from ? `M${from + 5},${MIDDLE - 4}l-5,4l5,4` : ""}`} />
              )}
              {interval && <IntervalBar low={x(interval.low)} high={x(interval.high)} from={from} to={to} y={MIDDLE - 5} height={10} />}
              {atLeast !== null && <path class="report-bound" d={`M${x(atLeast)},${MIDDLE - 7}V${MIDDLE + 7}M${x(atLeast)},${MIDDLE}H${width - 8}m-6,-4l6,4l-6,4`} />}
              {value !== null && <circle class="report-value" cx={x(value)} cy={MIDDLE} r={5} />}
              {limit && (
                <>
                  <line class="report-limit" x1={x(limit.value)} x2={x(limit.value)} y1={0} y2={HEIGHT} />
                  <text class="report-limit-name" x={x(limit.value) + (before ? -5 : 5)} y={10} text-anchor={before ? "end" : "start"}>{limit.label}</text>
                </>
              )}
            </svg>
            <p class="words">{row.text}</p>
          </li>
        );
      })}
      <li class="scale" aria-hidden="true">
        <div ref={element}>
          <svg width={width} height={32} viewBox={`0 0 ${width} 32`}>
            {axis.ticks.map((found, place) => place % every === 0 && <text key={found} class="report-tick" x={x(found)} y={12} text-anchor="middle">{label(found)}</text>)}
            <text class="report-note" x={x(same)} y={28} text-anchor={axis.at(same) > 0.8 ? "end" : axis.at(same) < 0.2 ? "start" : "middle"}>{sameLabel}</text>
          </svg>
        </div>
      </li>
    </ul>
  );
}
