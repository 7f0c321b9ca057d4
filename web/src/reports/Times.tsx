// The times of one measurement: dots with median and interval, the figures as a table, and the runs in their order.

import { useState } from "preact/hooks";

import { bytes, count } from "../format";
import { axisOver } from "./charts/axis";
import { DotRows, type LimitLine } from "./charts/DotRows";
import { MarkSign } from "./charts/Mark";
import { OrderPlot } from "./charts/OrderPlot";
import { PlainTable } from "./PlainTable";
import { RunPicker } from "./RunPicker";
import { labelOf, plusMinus, seconds, statesOf, timesForAxis } from "./measured";
import type { Measurement, State, Summary } from "./types";

export interface TimesProps {
  measurement: Measurement;
  /** Lines of some states. */
  limits?: Partial<Record<State, readonly LimitLine[]>>;
}

const NO_LIMITS: readonly LimitLine[] = [];

export function Distributions({ measurement, limits = {} }: TimesProps) {
  const [together, setTogether] = useState(false);
  const floor = measurement.launch_floor;
  const floorLine: LimitLine[] = floor === null ? [] : [{ seconds: floor, label: `starting true: ${seconds(floor)}`, isFloor: true }];
  const limitsOf = (state: State) => [...(limits[state] ?? NO_LIMITS), ...floorLine];
  const valuesOf = (states: readonly State[]) => [
    ...withIntervals(timesForAxis(measurement.samples.filter(({ state }) => states.includes(state))), measurement.summaries.filter(({ state }) => states.includes(state))),
    ...states.flatMap((state) => (limits[state] ?? NO_LIMITS).map((limit) => limit.seconds)),
  ];
  const states = statesOf(measurement);
  const chart = (shown: readonly State[], zero: boolean) => (
    <RunPicker key={shown.join()} measurement={measurement} runs={measurement.samples.filter(({ state }) => shown.includes(state))} label={`Runs as dots: ${shown.join(" and ")}`}>
      <DotRows
        measurement={measurement} axis={axisOver(valuesOf(shown), zero, 8)} namesState
        summaries={measurement.summaries.filter(({ state }) => shown.includes(state))}
        limits={shown.length === 1 && shown[0] ? limitsOf(shown[0]) : shown.flatMap((state) => [...(limits[state] ?? NO_LIMITS)]).concat(floorLine)}
      />
    </RunPicker>
  );
  return (
    <>
      <div class="report-tools">
        <label><input type="checkbox" checked={together} onChange={({ currentTarget }) => setTogether(currentTarget.checked)} /> {states.length > 1 ? "all states on one axis from zero" : "axis from zero"}</label>
        <Legend measurement={measurement} />
      </div>
      {together ? chart(states, true) : states.map((state) => chart([state], false))}
    </>
  );
}

/** An interval of few runs can be many times as wide as the times lie apart; then it ends at the edges. */
function withIntervals(times: readonly number[], summaries: readonly Summary[]): number[] {
  const room = Math.max(...times) - Math.min(...times);
  const ends = summaries.flatMap(({ mean_interval: interval }) => (interval ? [Math.max(0, interval.low), interval.high] : []));
  return [...times, ...ends.filter((end) => end >= Math.min(...times) - room && end <= Math.max(...times) + room)];
}

function Legend({ measurement }: { measurement: Measurement }) {
  const has = (use: string) => measurement.samples.some(({ used }) => used.use === use);
  const outliers = measurement.summaries.some((summary) => summary.outliers.length > 0);
  return (
    <ul class="report-legend" aria-label="Legend">
      {measurement.commands.map((_, command) => (
        <li key={command}><MarkSign command={command} use="counted" isOutlier={false} /> a run of {labelOf(measurement, command)}</li>
      ))}
      {outliers && <li><MarkSign command={0} use="counted" isOutlier /> far from the others</li>}
      {has("warm-up") && <li><MarkSign command={0} use="warm-up" isOutlier={false} /> warm-up, does not count</li>}
      {has("failed") && <li><MarkSign command={0} use="failed" isOutlier={false} /> failed</li>}
      {has("contradicts") && <li><MarkSign command={0} use="contradicts" isOutlier={false} /> contradicts its state</li>}
      <li><span class="report-key median" aria-hidden="true" /> median</li>
      <li><span class="report-key interval" aria-hidden="true" /> mean with its 95 % interval, pointed where it goes on beyond the axis</li>
    </ul>
  );
}

export function Order({ measurement }: { measurement: Measurement }) {
  const [zero, setZero] = useState(false);
  return (
    <>
      <div class="report-tools">
        <label><input type="checkbox" checked={zero} onChange={({ currentTarget }) => setZero(currentTarget.checked)} /> axis from zero</label>
      </div>
      {statesOf(measurement).map((state) => {
        const runs = measurement.samples.filter((run) => run.state === state);
        return (
          <div key={state}>
            <h3>{state}</h3>
            <RunPicker measurement={measurement} runs={runs} label={`Runs in their order: ${state}`}>
              <OrderPlot measurement={measurement} state={state} runs={runs} zero={zero} />
            </RunPicker>
          </div>
        );
      })}
    </>
  );
}

/** The figures, a row for each command in each state. */
export function Figures({ measurement }: { measurement: Measurement }) {
  // Without a run that counts there is no figure; that is another thing than a figure that was not recorded.
  const known = ({ counted }: Summary, value: number | null, shown: (value: number) => string = seconds) => (value === null ? (counted === 0 ? "–" : null) : shown(value));
  const interval = ({ counted, mean_interval: found }: Summary) => (found === null ? (counted === 0 ? "–" : "too few runs") : plusMinus(found));
  const row = (summary: Summary) => [
    `${summary.state}, ${labelOf(measurement, summary.command)}`,
    count(summary.counted),
    summary.failed + summary.contradicting === 0 ? "0" : `${count(summary.failed)} failed, ${count(summary.contradicting)} contradicting`,
    known(summary, summary.median), known(summary, summary.mean), interval(summary), known(summary, summary.min), known(summary, summary.max),
    summary.standard_deviation === null && summary.counted === 1 ? "too few runs" : known(summary, summary.standard_deviation),
    known(summary, summary.bytes_read, bytes), known(summary, summary.requests, count), known(summary, summary.major_faults, count),
  ];
  return (
    <PlainTable
      caption="Figures of each command in each state"
      columns={[
        { label: "Start" }, { label: "Runs", isNumber: true }, { label: "Left out", isNumber: true }, { label: "Median", isNumber: true }, { label: "Mean", isNumber: true }, { label: "95 % of the mean", isNumber: true },
        { label: "Least", isNumber: true }, { label: "Most", isNumber: true }, { label: "Std. deviation", isNumber: true }, { label: "Read", isNumber: true }, { label: "Requests", isNumber: true }, { label: "Major faults", isNumber: true },
      ]}
      rows={measurement.summaries.map(row)}
    />
  );
}
