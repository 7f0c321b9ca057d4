// Where the time went, as far as the runs tell: processors, waiting for the disk, faults. Medians of the runs that count.

import { bytes, count } from "../format";
import { Bars } from "./charts/Bars";
import { labelOf, medianOf, seconds } from "./measured";
import type { Measurement, Sample, Summary } from "./types";

export function Causes({ measurement }: { measurement: Measurement }) {
  return (
    <div class="report-causes">
      {measurement.summaries.map((summary) => (
        <section key={`${summary.state}${summary.command}`}>
          <h3>{summary.state}, {labelOf(measurement, summary.command)}</h3>
          <OfStart measurement={measurement} summary={summary} />
        </section>
      ))}
    </div>
  );
}

function OfStart({ measurement, summary }: { measurement: Measurement; summary: Summary }) {
  const runs = measurement.samples.filter((run) => run.command === summary.command && run.state === summary.state && run.used.use === "counted");
  if (runs.length === 0) return <p class="report-small">No run counts.</p>;
  const median = (value: (run: Sample) => number | null) => medianOf(runs.flatMap((run) => value(run) ?? []));
  const time = (name: string, value: number | null, colour: string) => ({ name, value, colour, text: value === null ? "not recorded" : seconds(value) });
  const figure = (value: number | null, shown: (value: number) => string) => (value === null ? "not recorded" : shown(value));
  return (
    <>
      <Bars
        label={`Where the time of ${labelOf(measurement, summary.command)} went, ${summary.state}`}
        rows={[
          time("time to ready", summary.median, "var(--text)"),
          time("in user mode", median((run) => run.user_seconds), "var(--dots-execute)"),
          time("in the kernel", median((run) => run.system_seconds), "var(--dots-write)"),
          time("whole machine", median((run) => run.processors?.busy_seconds ?? null), "var(--elsewhere)"),
        ]}
      />
      <p class="report-small">
        Its processes had {figure(summary.bytes_read, bytes)} read from disks, and {figure(summary.major_faults, count)} of their faults waited for that, {figure(median((run) => run.minor_faults), count)} did
        not. The disks completed {figure(summary.requests, count)} read requests until ready, whoever made them.
      </p>
    </>
  );
}
