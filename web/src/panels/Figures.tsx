// The figures of the start, in their groups, each with what it rests on.

import { useMemo } from "preact/hooks";

import type { AppProps } from "../App";
import { Caveats } from "../comparison/Caveats";
import { whyNotComparable } from "../comparison/comparable";
import { type FigurePair, pairGroups } from "../comparison/figures";
import { changeText, percentText, valueText, verdictOf } from "../parts/change";
import { NotRecorded } from "../parts/NotRecorded";
import { Panel } from "../parts/Panel";
import { TraceBadge } from "../parts/TraceBadge";

export function Figures({ page, traces }: AppProps) {
  const groups = useMemo(() => pairGroups(traces.map(({ head }) => head.figures)), [traces]);
  const isComparison = traces.length > 1;
  const caveats = page.comparison?.caveats ?? [];
  const [first, second] = traces;
  const reasonOf = ({ key }: FigurePair) => (first && second ? whyNotComparable(key, first.head.run, second.head.run) : null);
  return (
    <Panel id="figures" title="Figures" about="A dash: not recorded, which is not the same as zero.">
      <Caveats caveats={caveats} />
      <div class={isComparison ? "figures two" : "figures"}>
        {groups.map(({ title, note, figures }, place) => (
          <div key={place} role="group" class="figure-group" aria-labelledby={`figures-${place}`}>
            <h3 id={`figures-${place}`}>{title}</h3>
            {note !== "" && <p class="note">{note}</p>}
            <table>
              <thead class={isComparison ? undefined : "unseen"}>
                <tr>
                  <th scope="col">Figure</th>
                  {traces.map((_, trace) => (
                    <th key={trace} scope="col">{isComparison ? <TraceBadge trace={trace} /> : "Value"}</th>
                  ))}
                  {isComparison && <><th scope="col">Change</th><th scope="col">Verdict</th></>}
                </tr>
              </thead>
              <tbody>
                {figures.map((figure) => (
                  <tr key={figure.key}>
                    <th scope="row">{figure.label}</th>
                    {traces.map((_, trace) => (
                      <td key={trace}><Value figure={figure} trace={trace} /></td>
                    ))}
                    {isComparison && <Change figure={figure} reason={reasonOf(figure)} />}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ))}
      </div>
    </Panel>
  );
}

function Value({ figure, trace }: { figure: FigurePair; trace: number }) {
  const value = figure.values[trace] ?? null;
  return value === null ? <NotRecorded /> : <>{valueText(value, figure.unit)}</>;
}

function Change({ figure, reason }: { figure: FigurePair; reason: string | null }) {
  const [before = null, after = null] = figure.values;
  if (reason !== null && before !== null && after !== null) return <td colSpan={2} class="not-comparable" title={reason}>not comparable: {reason}</td>;
  const change = changeText(before, after, figure.unit);
  const percent = percentText(before, after);
  const verdict = verdictOf(before, after, figure.lessIsBetter);
  return (
    <>
      <td>{change === null ? <NotRecorded reason="one of them was not recorded" /> : change}{percent !== null && change !== "no change" && <span class="percent"> {percent}</span>}</td>
      <td class={`verdict ${verdict ?? ""}`}>{verdict === "better" ? "✓ better" : verdict === "worse" ? "✗ worse" : verdict === "same" ? "= same" : ""}</td>
    </>
  );
}
