// Against what was measured before, and against the limit that was set: the answer, and what it takes for granted. The same words as
// in crates/cli/src/commands/measure/gate_report.rs.

import { visible } from "../names";
import { plainTick, ratioAxisOver } from "./charts/axis";
import { type IntervalRow, Intervals } from "./charts/Intervals";
import { bracket, ratio } from "./Comparisons";
import type { Gate as GateData, GateState } from "./types";
import { verdictInWords } from "./words";

/** What a gate concludes, in a sentence; null where nothing depends on it. */
export function conclusion(gate: GateData): string | null {
  if (gate.fail_if_slower === null) return null;
  const slower = gate.states.filter((answer) => answer.is_slower === true).map(({ label, state }) => `${visible(label)} ${state}`);
  const by = gate.fail_if_slower === 0 ? "slower" : `more than ${gate.fail_if_slower} % slower`;
  return slower.length === 0 ? `Passed: nothing is shown to be ${by}.` : `Failed: ${slower.join(" and ")} is shown to be ${by}.`;
}

const MORE = "Several baselines (--against last:10) are told apart from chance far better.";

/** What the error rate means, and on which assumption. */
export function meaning({ error_rate: rate, states }: GateData): string {
  const allowed = states.some((answer) => answer.is_allowance);
  const fromSessions = states.some((answer) => answer.sessions !== null);
  if (rate === null) return allowed ? `One earlier session does not tell how much sessions differ. ${MORE}` : "";
  const shared = states.length > 1 ? ` (${(rate / states.length).toFixed(3)} % for each of ${states.length} tests)` : "";
  const spread = 100 * Math.max(0, ...states.map((answer) => answer.session_spread ?? 0));
  const assumption = allowed
    ? `as long as sessions differ by no more than an allowance of ${spread.toFixed(0)} % (standard deviation): ${states.some(({ sessions }) => sessions === 1) ? "one earlier session does" : "so few earlier sessions do"} not tell how much they do. ${MORE}`
    : fromSessions
      ? `as long as this session differs from the earlier ones as they differ from one another (up to ${spread.toFixed(1)} %, standard deviation) and the machine is not busy in one session of many: that would be taken for a slower program.`
      : "as long as nothing but the commands differs between runs of a round, which take turns.";
  return `In ${rate} % of such gates${shared} a program that is no slower than allowed would be called slower, ${assumption} What would be found: a slowdown that such a gate finds in 80 % of cases.`;
}

function basis({ pairs, sessions }: GateState): string {
  if (pairs !== null) return `${pairs} pairs of runs`;
  return sessions === null ? "runs of two sides" : `${sessions} earlier ${sessions === 1 ? "session" : "sessions"}`;
}

function row(answer: GateState): IntervalRow {
  const parts = [`${ratio(answer.ratio)} of the time${bracket(answer.interval, ratio)}`];
  if (answer.verdict !== null) parts.push(verdictInWords(answer.verdict));
  if (answer.at_least !== null) parts.push(`at least ${ratio(answer.at_least)}`);
  if (answer.limit !== null) parts.push(`allowed ${ratio(answer.limit)}: ${answer.is_slower === true ? "slower than allowed" : "not shown to be slower"}`);
  if (answer.detectable !== null) parts.push(`would be found: ${((answer.detectable - 1) * 100).toFixed(1)} % slower`);
  parts.push(basis(answer));
  return {
    name: `${answer.state}, ${visible(answer.label)}`, text: parts.join("; "),
    value: answer.ratio, interval: answer.interval, wide: null, atLeast: answer.at_least,
    limit: answer.limit === null ? null : { value: answer.limit, label: `limit ${ratio(answer.limit)}` },
    verdict: answer.is_slower === true ? "slower" : answer.verdict,
  };
}

export function Gate({ gate }: { gate: GateData }) {
  const said = conclusion(gate);
  const slowerThanSessions = gate.states.some((answer) => answer.is_slower === true && answer.sessions !== null);
  const meant = meaning(gate);
  return (
    <>
      <p>Against {visible(gate.baseline)}{gate.baseline_numbers.length > 0 && `: ${gate.baseline_numbers.map((number) => `#${number}`).join(", ")} of the history`}. {said !== null && <strong>{said}</strong>}</p>
      <Intervals rows={gate.states.map(row)} same={1} sameLabel="as fast" axisOver={ratioAxisOver} tick={plainTick} />
      {gate.error_rate !== null && <p class="report-small">The arrow begins at what the ratio is shown to be at least; the program is slower than allowed where it begins right of the limit.</p>}
      {meant !== "" && <p class="report-small">{meant}</p>}
      {slowerThanSessions && (
        <p class="report-small">
          Other work on the machine can last a whole session and looks the same. Before acting on it, measure both programs side by side: <code>coldstart measure --compare NEW --fail-if-slower PERCENT -- OLD</code>
        </p>
      )}
      {gate.notes.length > 0 && <ul class="report-notes">{gate.notes.map((note) => <li key={note}>{visible(note)}</li>)}</ul>}
    </>
  );
}
