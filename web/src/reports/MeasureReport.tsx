// The page of `coldstart measure`: every run as a dot, comparisons with their intervals, and how far it can be trusted.

import type { PageHead } from "../data/payload";
import { count } from "../format";
import { visible } from "../names";
import { Panel } from "../parts/Panel";
import { Causes } from "./Causes";
import { answers, Comparisons } from "./Comparisons";
import type { FactRow } from "./Facts";
import { conclusion, Gate } from "./Gate";
import { Machine, States } from "./Machine";
import { PlainTable } from "./PlainTable";
import { ReportFrame } from "./ReportFrame";
import { Runs } from "./Runs";
import { labelOf } from "./measured";
import { Distributions, Figures, Order } from "./Times";
import type { Measurement, MeasureReportData } from "./types";
import { moment, warningInWords } from "./words";

export function MeasureReport({ page, report }: { page: PageHead; report: MeasureReportData }) {
  const hasComparisons = report.comparisons.length > 0;
  const said = report.gate ? conclusion(report.gate) : null;
  const panels = [
    { id: "times", title: "Times" },
    ...(hasComparisons ? [{ id: "comparisons", title: "Comparison" }] : []),
    ...(report.gate ? [{ id: "gate", title: "Baseline" }] : []),
    { id: "causes", title: "Causes" },
    { id: "order", title: "Order" },
    { id: "trust", title: "Machine and states" },
    { id: "runs", title: "All runs" },
  ];
  return (
    <ReportFrame page={page} facts={facts(report)} answers={[...(said === null ? [] : [said]), ...answers(report)]} warnings={report.warnings.map(warningInWords)} panels={panels}>
      <Panel id="times" title="Times to ready" about="Each run a dot, those that do not count marked.">
        <Distributions measurement={report} />
        <Figures measurement={report} />
      </Panel>
      {hasComparisons && (
        <Panel id="comparisons" title="Comparison" about={`All against ${labelOf(report, 0)}, in alternating order.`}>
          <Comparisons measurement={report} />
        </Panel>
      )}
      {report.gate && (
        <Panel id="gate" title="Against the baseline" about="Time now divided by the time of the baseline.">
          <Gate gate={report.gate} />
        </Panel>
      )}
      <MeasurementPanels measurement={report} programs={report.programs} />
    </ReportFrame>
  );
}

/** What is told of every measurement, also of that inside a speedup's story. */
export function MeasurementPanels({ measurement, programs }: { measurement: Measurement; programs?: MeasureReportData["programs"] }) {
  return (
    <>
      <Panel id="causes" title="Where the time went" about="Medians of the runs that count. Processor time, reads and faults are those of all its processes, on all processors, until they had ended. What is left of the time to ready was waiting, for the disk or for others, if the program computes in one thread and ends when it is ready. The whole machine's processor time is until ready, in steps of mostly 10 ms.">
        <Causes measurement={measurement} />
      </Panel>
      <Panel id="order" title="Order of the runs" about="Drift and disturbances show here; a line joins the runs of one command that count, its median is dotted.">
        <Order measurement={measurement} />
      </Panel>
      <Panel id="trust" title="Machine and states">
        <Machine machine={measurement.machine} />
        <h3>How each state was made and checked</h3>
        <States measurement={measurement} />
        <h3>Commands</h3>
        <PlainTable
          caption="Commands"
          columns={[{ label: "Command" }, { label: "Command line" }, { label: "Ready at" }, { label: "Files it reads", isNumber: true }, ...(programs ? [{ label: "Program" }, { label: "Build id or hash" }] : [])]}
          rows={measurement.commands.map((command, place) => {
            const program = programs?.[place];
            const identity = program?.content_hash ?? program?.build_id;
            return [
              visible(command.label), <code>{visible(command.command_line)}</code>, visible(command.readiness), command.file_count === 0 ? null : count(command.file_count),
              ...(programs ? [program ? <code>{visible(program.path)}</code> : null, identity ? <code>{visible(identity.slice(0, 16))}</code> : null] : []),
            ];
          })}
        />
      </Panel>
      <Panel id="runs" title="All runs">
        <Runs measurement={measurement} />
      </Panel>
    </>
  );
}

/** What "ready" means, unless it is that the program has ended. */
export function readinessOf({ commands }: Measurement): FactRow[] {
  return [...new Set(commands.map(({ readiness }) => readiness))].filter((readiness) => readiness !== "exit").map((readiness) => ["Ready at", readiness]);
}

function facts(report: MeasureReportData): FactRow[] {
  const { machine } = report;
  return [
    ...report.commands.map((command): FactRow => [visible(command.label), <code>{visible(command.command_line)}</code>]),
    ...readinessOf(report),
    ["Measured", moment(report.measured_at)],
    ["Label", report.label ?? "none"],
    ["In the history", report.number === undefined ? "not kept" : `#${report.number}`],
    ["Machine", `${machine.processor_count} x ${machine.processor || "processor"}, Linux ${machine.kernel}`],
  ];
}
