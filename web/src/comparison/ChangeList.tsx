// The greatest changes of one measure, each with a bar to the left for less or to the right for more.

import { changeText, percentText, type Unit, valueText } from "../parts/change";
import { NotRecorded } from "../parts/NotRecorded";
import { visible } from "../names";
import type { ChangeRow } from "./changes";

export interface ChangeListProps {
  id: string;
  title: string;
  unit: Unit;
  rows: readonly ChangeRow[];
  /** Why the values of both must not be compared; null: they may be. */
  reason: string | null;
}

export function ChangeList({ id, title, unit, rows, reason }: ChangeListProps) {
  const isComparable = reason === null;
  const most = rows.reduce((high, { before, after }) => Math.max(high, Math.abs((after ?? 0) - (before ?? 0))), 0);
  return (
    <div role="group" class="change-list" aria-labelledby={`change-${id}`}>
      <h3 id={`change-${id}`}>{title}</h3>
      {reason !== null && rows.length > 0 && <p class="note not-comparable">Not comparable: {reason}.</p>}
      {rows.length === 0 ? (
        <p class="empty">No change, or not recorded in both.</p>
      ) : (
        <table>
          <thead><tr><th scope="col">What</th><th scope="col">A</th><th scope="col">B</th>{isComparable && <><th scope="col">Change</th><th scope="col"><span class="unseen">Less or more</span></th></>}</tr></thead>
          <tbody>
            {rows.map(({ name, title: whole, before, after }) => {
              const change = (after ?? 0) - (before ?? 0);
              const percent = percentText(before, after);
              return (
                <tr key={whole + name}>
                  <th scope="row" title={visible(whole)}>{visible(name)}</th>
                  <td>{before === null ? <NotRecorded /> : valueText(before, unit)}</td>
                  <td>{after === null ? <NotRecorded /> : valueText(after, unit)}</td>
                  {isComparable && (
                    <>
                      <td>{changeText(before, after, unit)}{percent !== null && <span class="percent"> {percent}</span>}</td>
                      <td class="change-bar" aria-label={change < 0 ? "less" : "more"}>
                        <span class={change < 0 ? "less" : "more"} style={{ width: `${most === 0 ? 0 : (Math.abs(change) / most) * 50}%` }} />
                      </td>
                    </>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </div>
  );
}
