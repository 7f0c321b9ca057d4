// With two traces and what differs between them on the map: what the colours mean, and how many pages of each.

import { count, time } from "../format";
import { colour, ink } from "../theme";
import { CHANGE_WORDS, CHANGES, type Change, type Difference } from "./difference";
import { DotShape } from "./DotShape";

const TOLERANCES = [1e5, 1e6, 1e7, 1e8, 1e9];

export interface ChangeLegendProps {
  difference: Difference;
  /** Nanoseconds. */
  tolerance: number;
  onTolerance: (tolerance: number) => void;
}

export function ChangeLegend({ difference, tolerance, onTolerance }: ChangeLegendProps) {
  const tints: Record<Change, string> = { gone: colour("traces", "a"), new: colour("traces", "b"), moved: ink("text"), same: ink("elsewhere") };
  return (
    <div class="dot-legend">
      {CHANGES.map((change) => (
        <span key={change} class="change">
          <DotShape shape="square" colour={tints[change]} />
          {CHANGE_WORDS[change]} <span class="number">{count(difference.counts[change])} pages</span>
        </span>
      ))}
      <label>
        moved means by more than
        <select value={String(tolerance)} onChange={({ currentTarget }) => onTolerance(Number(currentTarget.value))}>
          {[...new Set([...TOLERANCES, tolerance])].sort((left, right) => left - right).map((each) => <option key={each} value={String(each)}>{time(each)}</option>)}
        </select>
      </label>
    </div>
  );
}
