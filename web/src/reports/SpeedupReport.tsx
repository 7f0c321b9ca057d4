// The page of `coldstart speedup`: what was tried, the best of it before against after, how it was proven, and the limit of all fixes.

import type { PageHead } from "../data/payload";
import { bytes } from "../format";
import { visible } from "../names";
import { Panel } from "../parts/Panel";
import { plainTick, ratioAxisOver } from "./charts/axis";
import { type IntervalRow, Intervals } from "./charts/Intervals";
import { Facts } from "./Facts";
import { MeasurementPanels, readinessOf } from "./MeasureReport";
import { ReportFrame } from "./ReportFrame";
import { labelOf, seconds } from "./measured";
import { Distributions, Figures } from "./Times";
import { PlainTable } from "./PlainTable";
import type { Advice, Comparison, LimitedBy, SpeedupReportData, SpeedupStep, Trial } from "./types";
import { verdictInWords, warningInWords } from "./words";

const LIMITS: Record<LimitedBy, string> = {
  computing: "computing", waiting: "waiting for children or timers", bytes: "bytes to read", seeks: "seeks", "single-reads": "single reads",
};

export function SpeedupReport({ page, report }: { page: PageHead; report: SpeedupReportData }) {
  const { measurement, cold, limit_seconds: limit } = report;
  const of = (command: number, state: string) => measurement.comparisons.find((found) => found.command === command && found.state === state);
  const answers = report.fixes.flatMap((fix, place) => [
    // What a fix gains is nothing to anybody who may not use it.
    ...(fix.proven ? [] : [`Do not use ${visible(fix.fix)}: the program is not the same with it`]),
    ...[cold, "hot"].flatMap((state) => sentence(fix, state, of(place + 1, state)) ?? []),
  ]);
  const rows = measurement.comparisons.map((found): IntervalRow => ({
    name: `${found.state}, ${labelOf(measurement, found.command)}`, text: ratioInWords(found), value: found.ratio, interval: found.interval, wide: found.wide_interval, verdict: found.verdict,
  }));
  const mbPerSecond = report.bytes_per_second > 0 ? `${Math.round(report.bytes_per_second / 1e6)} MB/s` : null;
  return (
    <ReportFrame
      page={page} answers={answers} warnings={measurement.warnings.map(warningInWords)}
      facts={[
        ["Program", measurement.commands[0] && <code>{visible(measurement.commands[0].command_line)}</code>],
        ...readinessOf(measurement),
        ["Limit", limit === null ? "not known: no hot run counts" : `${seconds(limit)}: a hot start, or the ${bytes(report.bytes)} that a start uses${mbPerSecond === null ? "" : ` at ${mbPerSecond}`}, whichever takes longer`],
        ["Limited by, before", report.limited_by === null ? null : LIMITS[report.limited_by]],
        ["Before", report.before_is_copied ? "with unchanged copies over the files that the fixes change, for a copy lies elsewhere on the disk than its original" : null],
        ["Both starts, traced", report.traces && <a href={report.traces.link}>{visible(report.traces.name)}</a>],
        ["Machine", `${measurement.machine.processor_count} x ${measurement.machine.processor || "processor"}, Linux ${measurement.machine.kernel}`],
      ]}
      panels={[
        { id: "tried", title: "What was tried" }, { id: "times", title: "Before and after" }, { id: "ratio", title: "Ratio" }, { id: "fixes", title: "Fixes" },
        ...(report.advice.length > 0 ? [{ id: "advice", title: "Advice" }] : []), { id: "causes", title: "Causes" }, { id: "order", title: "Order" },
        { id: "trust", title: "Machine and states" }, { id: "runs", title: "All runs" },
      ]}
    >
      <Panel id="tried" title="What was tried" about="Each fix alone, then those that pay together, in a few rounds against the plain start. The best is measured again below.">
        <Tried report={report} />
      </Panel>
      <Panel id="times" title="Before and after" about="Each run a dot. The limit: computing and reading overlap entirely, and only used bytes are read.">
        <Distributions measurement={measurement} limits={limit === null ? {} : { [cold]: [{ seconds: limit, label: `limit: ${seconds(limit)}` }] }} />
        <Figures measurement={measurement} />
      </Panel>
      <Panel id="ratio" title="Ratio" about="Time after divided by time before (geometric means): left of the line of 1 is faster. The bar is the 95 % interval, the thin line the 99 % interval by which the verdict goes.">
        <Intervals rows={rows} same={1} sameLabel="as fast" axisOver={ratioAxisOver} tick={plainTick} />
      </Panel>
      <Panel id="fixes" title="Fixes" about="The best of what was tried, whether the program is proven to be the same with it, what it costs, and what to do.">
        {report.fixes.length === 0 && <p>No fix is recommended: what was tried, and why not, is above.</p>}
        {report.fixes.map((fix, place) => {
          const after = measurement.summaries.find((summary) => summary.command === place + 1 && summary.state === cold)?.median ?? null;
          return <Fix key={place} fix={fix} measured={after} comparison={of(place + 1, cold)} hot={of(place + 1, "hot")} cold={cold} />;
        })}
      </Panel>
      {report.advice.length > 0 && (
        <Panel id="advice" title="Advice" about="What would help besides, and was not done. Savings are predicted for a plain cold start; a plan or an image already reads in a good order, so that less is left with them.">
          {report.advice.map((advice, place) => <Advised key={place} advice={advice} />)}
        </Panel>
      )}
      <MeasurementPanels measurement={measurement} />
    </ReportFrame>
  );
}

function Advised({ advice: { why, commands, saved_seconds: saved } }: { advice: Advice }) {
  return (
    <section class="report-fix">
      <p>{visible(why)}{saved === null ? "." : `; predicted to save ${seconds(saved)}.`}</p>
      {commands.map((command, place) => <p key={place}><code>{visible(command)}</code></p>)}
    </section>
  );
}

function Fix({ fix, measured, comparison, hot, cold }: { fix: SpeedupStep; measured: number | null; comparison: Comparison | undefined; hot: Comparison | undefined; cold: string }) {
  // An index saves computing, too; other fixes save reading.
  const paysHot = fix.kinds.includes("index") && comparison?.verdict !== "slower" && hot?.verdict === "faster";
  const isFaster = comparison?.verdict === "faster" || paysHot;
  const advice = !fix.proven ? "Refused: the program is not the same with it. Do not use it." : isFaster ? null : `Not recommended: no gain has been shown from ${cold} on this machine.`;
  return (
    <section class={`report-fix ${fix.proven ? "proven" : "refused"}`}>
      <h3>{visible(fix.fix)}: {!fix.proven ? "NOT proven" : fix.unchecked.length === 0 ? "proven to change nothing else" : "proven as far as it can be"}</h3>
      <Facts rows={[
        [`Start from ${cold}`, `predicted ${fix.predicted === null ? "not recorded" : seconds(fix.predicted)}, measured ${measured === null ? "not recorded" : seconds(measured)} (median)`],
        ["Compared with before", comparison ? ratioInWords(comparison) : null],
        ["Limited by, with it", fix.limited_by === null ? null : LIMITS[fix.limited_by]],
        ["Costs", costInWords(fix)],
      ]} />
      <p>What was compared for the proof:</p>
      <ul class="report-notes">{fix.findings.map((finding) => <li key={finding}>{visible(finding)}</li>)}</ul>
      {fix.unchecked.length > 0 && <p>The program varies by itself, so this could not be checked:</p>}
      {fix.unchecked.length > 0 && <ul class="report-notes">{fix.unchecked.map((what) => <li key={what}>{visible(what)}</li>)}</ul>}
      {advice !== null ? <p class="report-answer">{advice}</p> : <p>{fix.cost.changed_files > 0 ? "Make the changes with" : fix.kinds.includes("index") ? "Install it with" : "Run from now on"}: <code>{visible(fix.command)}</code></p>}
    </section>
  );
}

function Tried({ report }: { report: SpeedupReportData }) {
  const isHot = report.trials.some((trial) => trial.hot_comparison !== undefined);
  const measuredCells = (trial: Trial | undefined) => [
    ...tried(trial?.median ?? null, trial?.comparison ?? null), ...(isHot ? tried(trial?.hot_median ?? null, trial?.hot_comparison ?? null) : []),
  ];
  const rows = report.prospects.map((prospect) => {
    // The last one: the best is measured again beside the sets.
    const trial = report.trials.filter(({ name }) => name === prospect.name).at(-1);
    return [visible(prospect.name), prospect.predicted === null ? "" : seconds(prospect.predicted), ...measuredCells(trial), visible(whyNot(trial) ?? prospect.why)];
  });
  const together = report.trials.filter(({ kinds }) => kinds.length > 1);
  const sets = together.map((trial) => [visible(trial.name), "", ...measuredCells(trial), visible(whyNot(trial) ?? "")]);
  const columns = [
    { label: "Fix" }, { label: "Predicted", isNumber: true }, { label: `Measured, ${report.cold}`, isNumber: true }, { label: "Of the time before (95 %)", isNumber: true },
    ...(isHot ? [{ label: "Measured, hot", isNumber: true }, { label: "Of the hot time before (95 %)", isNumber: true }] : []),
    { label: "What it does, or why it was not tried" },
  ];
  return (
    <>
      <PlainTable caption="Fixes, alone and together" columns={columns} rows={[...rows, ...sets]} />
      {report.no_private_view !== undefined && <p>No fix that changes files was tried: {visible(report.no_private_view)}</p>}
    </>
  );
}

function tried(median: number | null, found: Comparison | null): [string, string] {
  const ratio = found === null || found.ratio === null ? "" : `${found.ratio.toFixed(2)}${found.interval === null ? "" : ` (${found.interval.low.toFixed(2)} to ${found.interval.high.toFixed(2)})`}`;
  return [median === null ? "" : seconds(median), ratio];
}

function whyNot(trial: Trial | undefined): string | undefined {
  return trial?.refused === undefined ? undefined : `refused: ${trial.refused}`;
}

/** "53 kB of disk for the plan, 18.5 MB of memory; 3 files changed (2.1 MB smaller)" */
function costInWords({ kinds, cost }: SpeedupStep): string {
  const parts = [
    ...(kinds.includes("prefetch") ? [`${bytes(cost.plan_bytes)} of disk for the plan, and ${bytes(cost.memory_bytes)} of memory for the pages that it reads, as a start does without it`] : []),
    ...(kinds.includes("image") ? [`${bytes(cost.image_bytes)} of disk for the image, and ${bytes(cost.memory_bytes)} of memory, where its pages lie twice`] : []),
    ...(kinds.includes("index") ? [`${bytes(cost.index_bytes)} of disk for the index`] : []),
    ...(cost.changed_files > 0 ? [`${cost.changed_files} ${cost.changed_files === 1 ? "file" : "files"} changed (${bytes(cost.saved_bytes)} smaller)`] : []),
  ];
  return parts.length === 0 ? "nothing" : parts.join("; ");
}

function ratioInWords({ ratio, interval, verdict, samples }: Comparison): string {
  if (ratio === null) return "cannot be compared: one side has no times";
  return `${ratio.toFixed(3)} of the time before${interval === null ? "" : ` (95 %: ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})`}: ${verdictInWords(verdict)}; ${samples} pairs`;
}

/** "cold: 3.70 times as fast with prefetch (95 %: 3.60 to 3.90)" */
function sentence(fix: SpeedupStep, state: string, comparison: Comparison | undefined): string | null {
  if (comparison === undefined) return null;
  const { ratio, interval, verdict } = comparison;
  if (ratio === null || ratio <= 0) return `${state}: cannot be compared, one side has no times`;
  if (verdict === "faster") {
    const range = interval !== null && interval.low > 0 ? ` (95 %: ${(1 / interval.high).toFixed(2)} to ${(1 / interval.low).toFixed(2)})` : "";
    return `${state}: ${(1 / ratio).toFixed(2)} times as fast with ${visible(fix.fix)}${range}`;
  }
  const range = interval === null ? "" : ` (95 %: ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})`;
  return `${state}: ${ratio.toFixed(3)} of the time with ${visible(fix.fix)}${range}: ${verdictInWords(verdict)}`;
}
