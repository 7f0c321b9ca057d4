// Findings: what, where, why it costs, what would mend it and what that saves.

import { count } from "../format";
import { visible } from "../names";
import { Bars } from "./charts/Bars";
import type { Finding, Saving } from "./inspectTypes";
import { addSavings, certaintyInWords, fixInWords, readable, savingInWords, weight } from "./inspectWords";
import { PlainTable } from "./PlainTable";

export function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return <p class="report-small">No findings: nothing here costs a start more than it must, as far as is known.</p>;
  return (
    <ul class="report-findings">
      {findings.map((finding, place) => (
        <li key={place}>
          <p><strong>{visible(finding.kind)}</strong>: {readable(finding.what)}.</p>
          <p>Where: {readable(finding.place)}. Why it costs: {readable(finding.why)}.</p>
          <p>Saves: {saved(finding)}. Fix: {finding.fixes.map(fixInWords).join("; or ")}.{finding.condition !== "" && ` Mind: ${readable(finding.condition)}.`}</p>
        </li>
      ))}
    </ul>
  );
}

function saved({ saves, certainty }: Finding): string {
  const words = savingInWords(saves);
  return words === null ? "cannot be told from the file" : `${words} (${certaintyInWords(certainty)})`;
}

interface Kind { kind: string; objects: number; saves: Saving; first: Finding }

/** Each kind of finding: how many have it, and what all its fixes would save together. */
export function FindingKinds({ findings }: { findings: readonly Finding[] }) {
  const kinds = new Map<string, Kind>();
  for (const finding of findings) {
    const known = kinds.get(finding.kind);
    if (known) {
      known.objects += 1;
      known.saves = addSavings(known.saves, finding.saves);
    } else kinds.set(finding.kind, { kind: finding.kind, objects: 1, saves: finding.saves, first: finding });
  }
  const rank = ({ kind, saves }: Kind) => (kind === "missing-library" ? Infinity : weight(saves));
  const all = [...kinds.values()].sort((a, b) => rank(b) - rank(a));
  if (all.length === 0) return <p>No findings: nothing here costs a start more than it must, as far as is known.</p>;
  const savings: { key: keyof Saving; label: string }[] = [
    { key: "seeks", label: "Seeks saved" }, { key: "private_pages", label: "Private pages saved" }, { key: "lookups", label: "Lookups saved" }, { key: "read_pages", label: "Pages that need not be read" },
  ];
  return (
    <>
      <PlainTable
        caption="Kinds of findings"
        columns={[{ label: "Finding" }, { label: "Found", isNumber: true }, { label: "Fixes save together" }, { label: "Figures" }, { label: "First fix" }]}
        rows={all.map(({ kind, objects, saves, first }) => {
          const [fix] = first.fixes;
          return [visible(kind), count(objects), savingInWords(saves) ?? "nothing is promised", certaintyInWords(first.certainty), fix ? fixInWords(fix) : null];
        })}
      />
      <div class="report-causes">
        {savings.map(({ key, label }) => {
          const rows = all.filter(({ saves }) => saves[key] > 0);
          if (rows.length === 0) return null;
          return (
            <section key={key}>
              <h3>{label}</h3>
              <Bars label={label} rows={[...rows].sort((a, b) => b.saves[key] - a.saves[key]).map(({ kind, saves }) => ({ name: visible(kind), value: saves[key], text: count(saves[key]) }))} />
            </section>
          );
        })}
      </div>
    </>
  );
}
