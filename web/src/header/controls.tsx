// The controls of the bar, each a component of its own: while time is zoomed only the range is drawn again, not thousands of processes to choose from.

import type { ProcessHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { count, stretch, time } from "../format";
import { baseName } from "../names";
import { goBack, hasPast } from "../navigation/past";
import { letterOf } from "../parts/TraceBadge";
import { processCount } from "../processes";
import { type ChosenProcess, selectedProcess, timeRange, wholeTime } from "../state";
import { chooseTheme, type Theme, theme } from "../theme";

/** The stretch of time that all panels show, and the way back to all of it. */
export function Range() {
  const [begin, end] = timeRange.value;
  const [first, last] = wholeTime.value;
  const isWhole = begin <= first && end >= last;
  return (
    <span class="range">
      <span class="unseen">Time shown: </span>
      <output>{isWhole ? `all ${time(end - begin)}` : stretch(begin, end)}</output>
      <button type="button" disabled={!hasPast()} title="Shows what was shown before (Backspace)" onClick={goBack}>Back</button>
      <button type="button" disabled={isWhole} onClick={() => (timeRange.value = wholeTime.value)}>Whole time</button>
    </span>
  );
}

/** Browsers measure every option of a list, which takes seconds for thousands; the names in the timeline choose too. */
const MOST_OPTIONS = 300;

/** Whose events are shown: of a process, and of its like in the other trace. */
export function ProcessChoice({ traces }: { traces: Trace[] }) {
  const chosen = selectedProcess.value;
  const several = traces.length > 1;
  const choose = (value: string) => {
    const [trace = 0, place = 0] = value.split(" ").map(Number);
    selectedProcess.value = value === "" ? null : { trace, place };
  };
  const explanation = several ? "Of the other trace, processes of the same program are shown with it" : undefined;
  return (
    <label title={explanation}>
      Process
      <select value={chosen === null ? "" : `${chosen.trace} ${chosen.place}`} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">{several ? `all: ${traces.map(({ head }, trace) => `${letterOf(trace)} ${count(processCount(head))}`).join(", ")}` : `all ${traces.map(({ head }) => count(processCount(head))).join()}`}</option>
        {traces.map(({ head }, trace) => {
          const options = processOptions(head.processes, trace, traces.length, chosen);
          return several ? <optgroup key={trace} label={`${letterOf(trace)}, with its like in ${letterOf(1 - trace)}`}>{options}</optgroup> : options;
        })}
      </select>
    </label>
  );
}

function processOptions(processes: readonly ProcessHead[], trace: number, traces: number, chosen: ChosenProcess | null) {
  const most = MOST_OPTIONS / traces;
  const letter = traces > 1 ? `${letterOf(trace)}: ` : "";
  return (
    <>
      {processes.map((process, place) => (place < most || (chosen?.trace === trace && chosen.place === place)) && (
        <option key={place} value={`${trace} ${place}`}>{letter}{processName(process)}</option>
      ))}
      {processes.length > most && <option disabled>more: click their names in the timeline</option>}
    </>
  );
}

function processName(process: ProcessHead): string {
  return `${baseName(process.program)} (${process.number}${process.executed ? "" : ", forked"})`;
}

const THEMES: readonly [Theme, string][] = [["system", "as the system"], ["light", "light"], ["dark", "dark"]];

/** Light or dark. */
export function ThemeChoice() {
  return (
    <label>
      Colours
      <select value={theme.value} onChange={({ currentTarget }) => chooseTheme(currentTarget.value as Theme)}>
        {THEMES.map(([chosen, words]) => (
          <option key={chosen} value={chosen}>{words}</option>
        ))}
      </select>
    </label>
  );
}
