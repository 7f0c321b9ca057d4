// How times went: the mean of each measurement with its interval, oldest left. They stand at even distances and not by their dates,
// as in the picture of `--svg`: a pause of a month would squeeze all others together.

import { visible } from "../../names";
import { plusMinus, seconds } from "../measured";
import type { Series, SeriesPoint } from "../types";
import { moment, verdictInWords } from "../words";
import { axisOver, timeTick } from "./axis";
import { useChartWidth } from "./useChartWidth";

const LEFT = 80;
const RIGHT = 20;
const TOP = 16;
const PLOT = 180;
/** A label takes this much room. */
const LABEL = 118;

export interface TrendProps { series: Series; pointed: number | null; onPoint: (place: number) => void }

export function Trend({ series: { points }, pointed, onPoint }: TrendProps) {
  const { element, width } = useChartWidth(280);
  const axis = axisOver(points.flatMap(({ mean, median, interval }) => [mean, median, ...(interval ? [Math.max(interval.low, 0), interval.high] : [])]), false, 5);
  const tick = timeTick(axis);
  const step = (width - LEFT - RIGHT) / Math.max(points.length, 1);
  const x = (place: number) => LEFT + step * (place + 0.5);
  const y = (value: number) => TOP + PLOT * (1 - Math.min(Math.max(axis.at(value), 0), 1));
  const labelled = Math.max(1, Math.ceil(LABEL / step));
  return (
    <div ref={element}>
      <svg width={width} height={TOP + PLOT + 40} viewBox={`0 0 ${width} ${TOP + PLOT + 40}`} role="img" aria-label={`Mean times of ${points.length} measurements, oldest first; the table below has them as text`}>
        {axis.ticks.map((value) => (
          <g key={value}>
            <line class="report-grid" x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text class="report-tick" x={LEFT - 8} y={y(value) + 4} text-anchor="end">{tick(value)}</text>
          </g>
        ))}
        <polyline class="report-path command-0" points={points.map(({ mean }, place) => `${x(place).toFixed(1)},${y(mean).toFixed(1)}`).join(" ")} />
        {points.map((point, place) => (
          <g key={point.number} class="command-0" onPointerEnter={() => onPoint(place)}>
            {point.is_other_program && (
              <>
                <line class="report-change" x1={x(place) - step / 2} x2={x(place) - step / 2} y1={TOP} y2={TOP + PLOT} />
                <text class="report-note" x={x(place) - step / 2 + 4} y={TOP + 10}>other program</text>
              </>
            )}
            {point.interval && <line class="report-whisker" x1={x(place)} x2={x(place)} y1={y(point.interval.low)} y2={y(point.interval.high)} />}
            <line class="report-median-short" x1={x(place) - 6} x2={x(place) + 6} y1={y(point.median)} y2={y(point.median)} />
            {pointed === place && <circle class="report-halo" cx={x(place)} cy={y(point.mean)} r={9} />}
            <circle class="report-target" cx={x(place)} cy={y(point.mean)} r={10} />
            <circle class="report-dot" cx={x(place)} cy={y(point.mean)} r={4} />
            {place % labelled === 0 && x(place) <= width - LABEL / 2 && (
              <>
                <text class="report-tick" x={x(place)} y={TOP + PLOT + 17} text-anchor="middle">{moment(point.measured_at)?.slice(0, 16) ?? "no date"}</text>
                <text class="report-tick" x={x(place)} y={TOP + PLOT + 33} text-anchor="middle">{nameOf(point)}</text>
              </>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

function nameOf({ label, number }: SeriesPoint): string {
  const shown = label === null ? "" : visible(label);
  return shown === "" ? `#${number}` : shown.length > 16 ? `${shown.slice(0, 15)}…` : shown;
}

/** All that is known of a point. */
export function pointInWords(point: SeriesPoint): string {
  const change = point.change && `; ${point.change.ratio >= 1 ? "+" : ""}${((point.change.ratio - 1) * 100).toFixed(1)} % against the one before: ${verdictInWords(point.change.verdict)}`;
  return `#${point.number}${point.label === null ? "" : ` ${visible(point.label)}`}, ${moment(point.measured_at) ?? "no date"}: mean ${seconds(point.mean)}${point.interval ? ` ${plusMinus(point.interval)} (95 %)` : ""}, median ${seconds(point.median)}, ${point.runs} ${point.runs === 1 ? "run" : "runs"}${change ?? ""}`;
}
