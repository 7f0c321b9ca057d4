// The page of `coldstart inspect`: what in these files costs start-up time, and what each fix would save.

import { useMemo } from "preact/hooks";

import type { PageHead } from "../data/payload";
import { bytes, count } from "../format";
import { baseName, visible } from "../names";
import { Panel } from "../parts/Panel";
import { Table, type TableColumn } from "../table/Table";
import { FindingKinds, Findings } from "./Findings";
import type { Closure, Finding, InspectReportData, Survey } from "./inspectTypes";
import { FIGURES, figureInWords } from "./inspectWords";
import { Objects } from "./Objects";
import { PlainTable } from "./PlainTable";
import { ReportFrame } from "./ReportFrame";
import { addSpaces, SpaceBar, SpaceLegend } from "./SpaceBar";

/** Objects with a bar of their own, the largest. */
const BARS = 20;

export function InspectReport({ page, report }: { page: PageHead; report: InspectReportData }) {
  const findings = useMemo(() => [...report.objects.flatMap((object) => object.findings), ...report.closures.flatMap((closure) => closure.findings)], [report]);
  const { totals, compared_with: before } = report;
  const others = Object.values(report.other_files).reduce((sum, files) => sum + files, 0);
  const errors = report.errors + (before?.errors ?? 0);
  const isEmpty = report.objects.length === 0;
  const leftOut = report.passed_over.length + others > 0;
  return (
    <ReportFrame
      page={page}
      facts={[["Objects", count(totals.objects)], ["Size", bytes(totals.file_bytes)], ["Relocations", count(totals.relocations)], ["Private pages", count(totals.private_pages)], ["Lookups", count(totals.lookups)], ["Initialisers", count(totals.initialisers)], ["Seeks, modelled", count(totals.seeks)], ["Findings", count(findings.length)]]}
      warnings={errors > 0 ? [`${count(errors)} ${errors === 1 ? "file" : "files"} could not be inspected, so the figures are not complete; the command said which, and why`] : []}
      panels={[
        ...(before ? [{ id: "change", title: "Change" }] : []), ...(isEmpty ? [] : [{ id: "findings", title: "Findings" }, { id: "space", title: "Bytes" }, { id: "objects", title: "Objects" }]),
        ...(report.closures.length > 0 ? [{ id: "closure", title: "Loading" }] : []), ...(isEmpty ? [] : [{ id: "totals", title: "Figures" }]), ...(leftOut ? [{ id: "left-out", title: "Passed over" }] : []),
      ]}
    >
      {before && (
        <Panel id="change" title="Change" about="Against what --compare named; less is better in every row but those of packed relocations.">
          <Change before={before} now={report} />
        </Panel>
      )}
      {isEmpty && <p>No file here is one that a start loads, so there is nothing to tell of.</p>}
      {!isEmpty && <OfObjects report={report} findings={findings} />}
      {report.closures.length > 0 && (
        <Panel id="closure" title="Loading" about="What each program loads, in the order of loading, and how it was found.">
          {report.closures.map((closure) => <OfClosure key={closure.path} closure={closure} />)}
        </Panel>
      )}
      {!isEmpty && (
        <Panel id="totals" title="Figures" about="All objects together.">
          <PlainTable caption="Figures of all objects together" columns={[{ label: "Figure" }, { label: "All objects", isNumber: true }]} rows={FIGURES.map(({ key, label, isBytes }) => [label, figureInWords(totals[key], isBytes)])} />
        </Panel>
      )}
      {leftOut && (
        <Panel id="left-out" title="Passed over" about="Files of directories that no start loads.">
          <PassedOver survey={report} />
        </Panel>
      )}
    </ReportFrame>
  );
}

/** What is told of every object: findings, bytes, and all about each. */
function OfObjects({ report, findings }: { report: InspectReportData; findings: readonly Finding[] }) {
  return (
    <>
      <Panel id="findings" title="What could be better" about="Each kind of finding, the most worthwhile first. Modelled: nothing of the file is cached and readahead is 128 KiB; at most: the fix saves no more, and usually less.">
        <FindingKinds findings={findings} />
      </Panel>
      <Panel id="space" title="Where the bytes go" about={report.objects.length > 1 ? "All objects together, then the largest; bars are as long as the files are large." : undefined}>
        <Space survey={report} />
      </Panel>
      <Panel id="objects" title="Objects" about="Those with the most to gain stand first. Choose one, with the pointer or with the arrow keys and Enter, to see all about it below.">
        <Objects objects={report.objects} />
      </Panel>
    </>
  );
}

/** Kinds of findings, of single objects and of all that a program loads. */
function kindsOf({ objects, closures }: Survey): string[] {
  return [...new Set([...objects, ...closures].flatMap(({ findings }) => findings.map(({ kind }) => kind)))].sort();
}

function Change({ before, now }: { before: Survey; now: Survey }) {
  const [first, second] = [kindsOf(before), kindsOf(now)];
  const gone = first.filter((kind) => !second.includes(kind));
  const found = second.filter((kind) => !first.includes(kind));
  return (
    <>
      {gone.length > 0 && <p>Findings that are gone: {gone.join(", ")}.</p>}
      {found.length > 0 && <p>New findings: {found.join(", ")}.</p>}
      <PlainTable
        caption="Figures before and now"
        columns={[{ label: "Figure" }, { label: "Before", isNumber: true }, { label: "Now", isNumber: true }, { label: "Difference", isNumber: true }]}
        rows={FIGURES.map(({ key, label, isBytes }) => {
          const difference = now.totals[key] - before.totals[key];
          const part = before.totals[key] > 0 ? ` (${difference > 0 ? "+" : ""}${((100 * difference) / before.totals[key]).toFixed(1)} %)` : "";
          return [label, figureInWords(before.totals[key], isBytes), figureInWords(now.totals[key], isBytes), difference === 0 ? "none" : `${difference > 0 ? "+" : ""}${figureInWords(difference, isBytes)}${part}`];
        })}
      />
    </>
  );
}

function Space({ survey: { objects } }: { survey: Survey }) {
  const largest = useMemo(() => [...objects].sort((a, b) => b.object.bytes - a.object.bytes).slice(0, BARS), [objects]);
  const all = useMemo(() => addSpaces(objects.map(({ space }) => space)), [objects]);
  const most = largest[0]?.object.bytes ?? 1;
  return (
    <>
      <SpaceBar space={all} />
      <SpaceLegend space={all} />
      {objects.length > 1 && (
        <ul class="report-space-list" aria-label="The largest objects">
          {largest.map((found) => (
            <li key={found.path}>
              <span class="name" title={visible(found.path)}>{baseName(found.path)}</span>
              <SpaceBar space={found.space} scale={found.object.bytes / Math.max(most, 1)} />
              <span class="figure">{bytes(found.object.bytes)}</span>
            </li>
          ))}
        </ul>
      )}
      {objects.length > BARS && <p class="report-small">The {BARS} largest of {count(objects.length)}; the table below has all.</p>}
    </>
  );
}

function OfClosure({ closure }: { closure: Closure }) {
  const columns = useMemo((): TableColumn[] => [
    { id: "order", label: "Order", width: "4.4rem", align: "right", text: (row) => count(row + 1), key: (row) => row + 1 },
    { id: "object", label: "Object", width: "minmax(14rem, 1.5fr)", text: (row) => visible(closure.objects[row]?.path ?? "") },
    { id: "found_by", label: "Found by", width: "minmax(9rem, 1fr)", text: (row) => visible(closure.objects[row]?.found_by ?? "") },
    { id: "needed_by", label: "Needed by", width: "minmax(12rem, 1fr)", text: (row) => (closure.objects[row]?.needed_by ? baseName(closure.objects[row]?.needed_by ?? "") : "nobody") },
    { id: "explanation", label: "How", width: "minmax(16rem, 2fr)", text: (row) => visible(closure.objects[row]?.explanation ?? "") },
  ], [closure]);
  const rules = Object.entries(closure.failed_probes_by_rule).map(([rule, probes]) => `${count(probes)} by ${visible(rule)}`);
  return (
    <>
      <h3>{visible(closure.path)}</h3>
      <p>{count(closure.objects.length)} objects, {bytes(closure.totals.file_bytes)}. The loader asks for {closure.failed_probes === 0 ? "no file in vain" : `${count(closure.failed_probes)} files in vain: ${rules.join(", ")}`}.</p>
      {closure.findings.length > 0 && <Findings findings={closure.findings} />}
      <Table label="loaded objects" rows={closure.objects.length} columns={columns} height={360} />
    </>
  );
}

function PassedOver({ survey }: { survey: Survey }) {
  const reasons = new Map<string, number>();
  for (const { reason } of survey.passed_over) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const rows = [...[...reasons].map(([reason, files]) => [`ELF: ${visible(reason)}`, files] as const), ...Object.entries(survey.other_files).map(([kind, files]) => [visible(kind), files] as const)].sort((a, b) => b[1] - a[1]);
  return <PlainTable caption="Files passed over" columns={[{ label: "What" }, { label: "Files", isNumber: true }]} rows={rows.map(([what, files]) => [what, count(files)])} />;
}
