// Commands against one another, against what was measured before, and against the limit that was set.

import { plainTick, timeTick } from "./charts/axis";
import { type IntervalRow, Intervals } from "./charts/Intervals";
import { labelOf, seconds, span } from "./measured";
import { visible } from "../names";
import type { Gate as GateData, Interval, Measurement } from "./types";
import { verdictInWords } from "./words";

/** "(95 %: 0.640 to 0.750)" */
function bracket(interval: Interval | null, shown: (value: number) => string): string {
  return interval === null ? "" : ` (${Math.round(interval.confidence * 100)} %: ${shown(interval.low)} to ${shown(interval.high)})`;
}

const ratio = (value: number) => value.toFixed(3);

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
      <p class="report-small">The dot is the ratio of the times, the bar its 95 % interval, the thin line the 99 % interval by which the verdict goes.</p>
      <Intervals rows={ratios} same={1} sameLabel="as fast" tick={plainTick} />
      {costs.length > 0 && (
        <>
          <h3>What being cold costs: I/O alone</h3>
          <Intervals rows={costs} same={0} sameLabel="no difference" tick={timeTick} />
        </>
      )}
    </>
  );
}

/** What a gate concludes, in a sentence; null where nothing depends on it. */
export function conclusion(gate: GateData): string | null {
  if (gate.fail_if_slower === null) return null;
  const slower = gate.states.filter((answer) => answer.is_slower === true).map(({ label, state }) => `${visible(label)} ${state}`);
  const by = gate.fail_if_slower === 0 ? "slower" : `more than ${gate.fail_if_slower} % slower`;
  return slower.length === 0 ? `Passed: nothing is shown to be ${by}.` : `Failed: ${slower.join(" and ")} is shown to be ${by}.`;
}

export function Gate({ gate }: { gate: GateData }) {
  const rows = gate.states.map((answer): IntervalRow => {
    const basis = answer.pairs !== null ? `${answer.pairs} pairs of runs` : answer.sessions !== null ? `${answer.sessions} earlier ${answer.sessions === 1 ? "session" : "sessions"}` : "runs of two sides";
    const parts = [`${ratio(answer.ratio)} of the time${bracket(answer.interval, ratio)}`];
    if (answer.verdict !== null) parts.push(verdictInWords(answer.verdict));
    if (answer.at_least !== null) parts.push(`at least ${ratio(answer.at_least)}`);
    if (answer.limit !== null) parts.push(`allowed ${ratio(answer.limit)}: ${answer.is_slower === true ? "slower than allowed" : "not shown to be slower"}`);
    if (answer.detectable !== null) parts.push(`would be found: ${((answer.detectable - 1) * 100).toFixed(1)} % slower`);
    parts.push(basis);
    return {
      name: `${answer.state}, ${visible(answer.label)}`, text: parts.join("; "),
      value: answer.ratio, interval: answer.interval, wide: null, atLeast: answer.at_least,
      limit: answer.limit === null ? null : { value: answer.limit, label: `limit ${ratio(answer.limit)}` },
      verdict: answer.is_slower === true ? "slower" : answer.verdict,
    };
  });
  const said = conclusion(gate);
  return (
    <>
      <p>Against {visible(gate.baseline)}{gate.baseline_numbers.length > 0 && `: ${gate.baseline_numbers.map((number) => `#${number}`).join(", ")} of the history`}. {said !== null && <strong>{said}</strong>}</p>
      <Intervals rows={rows} same={1} sameLabel="as fast" tick={plainTick} />
      {gate.error_rate !== null && <p class="report-small">The arrow begins at what the ratio is shown to be at least. In {gate.error_rate} % of such gates a program that is no slower than allowed would be called slower. What would be found: a slowdown that such a gate finds in 80 % of cases.</p>}
      {gate.notes.length > 0 && <ul class="report-notes">{gate.notes.map((note) => <li key={note}>{visible(note)}</li>)}</ul>}
    </>
  );
}
