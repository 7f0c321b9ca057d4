// The page of `coldstart survey report`: what a set of packages would gain, by fix and by package.

import { useMemo } from "preact/hooks";

import type { PageHead } from "../data/payload";
import { bytes, count } from "../format";
import { visible } from "../names";
import { Panel } from "../parts/Panel";
import { Table, type TableColumn } from "../table/Table";
import { Bars } from "./charts/Bars";
import { fixInWords } from "./inspectWords";
import { PlainTable } from "./PlainTable";
import { ReportFrame } from "./ReportFrame";
import type { FixGain, Gain, PackageGain, SurveyReportData } from "./surveyTypes";

/** Packages with a bar. */
const BARS = 20;

export function SurveyReport({ page, report }: { page: PageHead; report: SurveyReportData }) {
  const { totals } = report;
  const modules = Object.entries(report.modules);
  const missing = report.shards - report.complete_shards;
  const warnings = [
    ...(missing > 0 ? [`${count(missing)} of ${count(report.shards)} shards are not there yet, so the figures are not complete`] : []),
    ...(totals.problems > 0 ? [`${count(totals.problems)} ${totals.problems === 1 ? "file" : "files"} could not be read, or not whole`] : []),
  ];
  return (
    <ReportFrame
      page={page}
      facts={[
        ["Objects", count(totals.objects)], ["Programs", count(totals.programs)], ["Packages", count(report.all_packages)], ["Size", bytes(totals.file_bytes)], ["Relocations", count(totals.relocations)],
        ["Their tables", bytes(totals.relocation_bytes)], ["Objects with RELR", count(totals.packed_objects)], ["Private pages", count(totals.private_pages)], ["Initialisers", count(totals.initialisers)], ["Failed probes", count(totals.failed_probes)],
      ]}
      warnings={warnings}
      panels={[{ id: "fixes", title: "Fixes" }, { id: "packages", title: "Packages" }, ...(modules.length > 0 ? [{ id: "modules", title: "Modules" }] : []), ...(report.problems.length > 0 ? [{ id: "problems", title: "Problems" }] : [])]}
    >
      <Panel id="fixes" title="What each fix would save" about="Sums over all objects, the most first. An object that several programs load counts once, so a start gains only what its own objects do.">
        <Fixes fixes={report.fixes} />
      </Panel>
      <Panel id="packages" title="What each package would gain" about={`All fixes of all objects of a package.${report.packages.length < report.all_packages ? ` The ${count(report.packages.length)} with the most to gain; the tables of the survey have all.` : ""}`}>
        <PackageBars packages={report.packages} />
        <Packages packages={report.packages} />
      </Panel>
      {modules.length > 0 && (
        <Panel id="modules" title="Modules of interpreters" about="Files that an index of modules would answer for.">
          <PlainTable caption="Modules by language" columns={[{ label: "Language" }, { label: "Modules", isNumber: true }]} rows={modules.map(([language, files]) => [visible(language), count(files)])} />
        </Panel>
      )}
      {report.problems.length > 0 && (
        <Panel id="problems" title="What could not be read" about={report.problems.length < totals.problems ? `The first ${count(report.problems.length)}; the table problems has all.` : undefined}>
          <PlainTable caption="Problems" columns={[{ label: "Where" }, { label: "Problem" }]} rows={report.problems.map(({ place, problem }) => [visible(place), visible(problem)])} />
        </Panel>
      )}
    </ReportFrame>
  );
}

function Fixes({ fixes }: { fixes: readonly FixGain[] }) {
  if (fixes.length === 0) return <p>Nothing here costs a start more than it must, as far as is known.</p>;
  const numbers = ["Objects", "Packages", "Bytes", "Private pages", "Seeks, modelled", "Lookups", "Failed probes"].map((label) => ({ label, isNumber: true }));
  return (
    <PlainTable
      caption="Fixes"
      columns={[{ label: "Fix" }, ...numbers]}
      rows={fixes.map(({ fix, by, objects, packages, saves }) => [fixInWords({ by, text: fix }), count(objects), count(packages), bytes(saves.bytes), count(saves.private_pages), count(saves.seeks), count(saves.lookups), count(saves.probes)])}
    />
  );
}

function nameOf({ package: name }: PackageGain): string {
  return name === null ? "objects of no package" : visible(name);
}

function PackageBars({ packages }: { packages: readonly PackageGain[] }) {
  const most = packages.filter(({ saves }) => saves.bytes > 0).sort((a, b) => b.saves.bytes - a.saves.bytes).slice(0, BARS);
  if (most.length === 0) return null;
  return <Bars label="Bytes saved in packages" rows={most.map((gain) => ({ name: nameOf(gain), value: gain.saves.bytes, text: bytes(gain.saves.bytes), colour: "var(--phases-relocation)" }))} />;
}

function Packages({ packages }: { packages: readonly PackageGain[] }) {
  const columns = useMemo((): TableColumn[] => {
    const number = (id: string, label: string, explanation: string, width: string, value: (gain: PackageGain) => number, isBytes = false): TableColumn => ({
      id, label, explanation, width, align: "right", key: (row) => { const gain = packages[row]; return gain ? value(gain) : null; },
      text: (row) => { const gain = packages[row]; return gain ? (isBytes ? bytes(value(gain)) : count(value(gain))) : null; },
    });
    const saving = (id: keyof Gain, label: string, explanation: string, isBytes = false) => number(id, label, explanation, "5.4rem", ({ saves }) => saves[id], isBytes);
    return [
      { id: "package", label: "Package", width: "minmax(12rem, 1.6fr)", text: (row) => { const gain = packages[row]; return gain ? nameOf(gain) : null; } },
      number("objects", "Objects", "ELF objects of the package", "4.8rem", ({ objects }) => objects),
      number("file_bytes", "Size", "size of its objects", "5.2rem", ({ file_bytes }) => file_bytes, true),
      number("modules", "Modules", "files that interpreters load", "5.2rem", ({ modules }) => modules),
      saving("bytes", "Bytes", "bytes no longer stored or read", true),
      saving("private_pages", "Private", "pages of 4 KiB no longer private to each process"),
      saving("seeks", "Seeks", "requests from a cold cache that are not behind the one before, by the model"),
      saving("lookups", "Lookups", "symbol lookups avoided"),
      saving("probes", "Probes", "failed probes avoided"),
      { id: "weight", label: "Gain", explanation: "all of it as one number to sort by, in bytes", align: "right", width: "5.4rem", text: (row) => bytes(packages[row]?.saves.weight ?? 0), key: (row) => packages[row]?.saves.weight ?? null },
      { id: "best_fix", label: "Best fix", width: "minmax(10rem, 1.2fr)", text: (row) => visible(packages[row]?.best_fix ?? "none") },
    ];
  }, [packages]);
  return <Table label="packages" rows={packages.length} columns={columns} height={520} order={{ column: "weight", descending: true }} />;
}
