// Commands of one measurement against one another.

import { axisOver, plainTick, ratioAxisOver, timeTick } from "./charts/axis";
import { type IntervalRow, Intervals } from "./charts/Intervals";
import { count } from "../format";
import { labelOf, seconds, span } from "./measured";
import type { Interval, Measurement } from "./types";
import { verdictInWords } from "./words";

/** "(95 %: 0.640 to 0.750)" */
export function bracket(interval: Interval | null, shown: (value: number) => string): string {
  return interval === null ? "" : ` (${Math.round(interval.confidence * 100)} %: ${shown(interval.low)} to ${shown(interval.high)})`;
}

/** As `coldstart measure` prints it. Of few runs an interval may end thousands of times away: there decimals say nothing. */
export function ratio(value: number): string {
  if (value > 0 && value < 0.0005) return "less than 0.001";
  return value >= 1000 ? count(value) : value.toFixed(3);
}

/** The sentences that answer the question, for the top of the page. */
export function answers(measurement: Measurement): string[] {
  return measurement.comparisons.map(({ state, command, baseline, ratio: value, interval, verdict }) => {
    const [other, first] = [labelOf(measurement, command), labelOf(measurement, baseline)];
    if (value === null) return `${state}: ${other} and ${first} cannot be compared, one of them has no times`;
    return `${state}: ${other} takes ${ratio(value)} of the time of ${first}${bracket(interval, ratio)}: ${verdictInWords(verdict)}`;
  });
}

export function Comparisons({ measurement }: { measurement: Measurement }) {
  const ratios = measurement.comparisons.map((found): IntervalRow => ({
    name: `${found.state}: ${labelOf(measurement, found.command)} / ${labelOf(measurement, found.baseline)}`,
    text: found.ratio === null ? "cannot be compared: one side has no times" : `${ratio(found.ratio)} of the time${bracket(found.interval, ratio)}${bracket(found.wide_interval, ratio)}: ${verdictInWords(found.verdict)}; ${found.samples} ${found.method === "paired-by-round" ? "pairs of one round" : "runs a side, unpaired"}`,
    value: found.ratio, interval: found.interval, wide: found.wide_interval, verdict: found.verdict,
  }));
  const costs = measurement.input_output.map((found): IntervalRow => ({
    name: `${labelOf(measurement, found.command)} - ${labelOf(measurement, found.baseline)}, ${found.cold} - hot`,
    text: `being cold costs ${seconds(found.command_cost)} instead of ${seconds(found.baseline_cost)}: ${seconds(found.difference)}${found.interval === null ? "" : ` (95 %: ${span(found.interval)})`}: ${verdictInWords(found.verdict)}`,
    value: found.difference, interval: found.interval, wide: found.wide_interval, verdict: found.verdict,
  }));
  return (
    <>
      <p class="report-small">The dot is the ratio of the times (of their geometric means), the bar its 95 % interval, the thin line the 99 % interval by which the verdict goes: left of the line of 1 is faster.</p>
      <Intervals rows={ratios} same={1} sameLabel="as fast" axisOver={ratioAxisOver} tick={plainTick} />
      {costs.length > 0 && (
        <>
          <h3>What being cold costs: I/O alone</h3>
          <Intervals rows={costs} same={0} sameLabel="no difference" axisOver={(must, may) => axisOver([...must, ...may], false)} tick={timeTick} />
        </>
      )}
    </>
  );
}
