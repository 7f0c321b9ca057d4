// The table of all runs, those that do not count included.

import { useMemo } from "preact/hooks";

import { bytes, count } from "../format";
import { visible } from "../names";
import { Table, type TableColumn } from "../table/Table";
import { endInWords, labelOf, outliersOf, pointedRun, requestsOf, seconds } from "./measured";
import type { Measurement, Sample } from "./types";

export function Runs({ measurement }: { measurement: Measurement }) {
  const columns = useMemo(() => columnsOf(measurement), [measurement]);
  const selected = measurement.samples.findIndex(({ number }) => number === pointedRun.value);
  return (
    <Table
      label="runs" rows={measurement.samples.length} columns={columns} height={420} empty="No run was recorded."
      selected={selected < 0 ? null : selected} onPoint={(row) => (pointedRun.value = row === null ? null : (measurement.samples[row]?.number ?? null))}
    />
  );
}

/** As wide as the longest of its texts asks for, within reason. */
function fitted(texts: readonly string[], least: number, share: string): string {
  const longest = texts.reduce((most, text) => Math.max(most, text.length), 0);
  return `minmax(${Math.min(Math.max(least, 0.5 * longest + 1.1), 18).toFixed(1)}rem, ${share})`;
}

function columnsOf(measurement: Measurement): TableColumn[] {
  const { samples, summaries } = measurement;
  const outliers = outliersOf(summaries);
  const number = (id: string, label: string, explanation: string, width: string, value: (run: Sample) => number | null, shown: (value: number) => string = count): TableColumn => {
    const of = (row: number) => {
      const run = samples[row];
      return run === undefined ? null : value(run);
    };
    return {
      id, label, explanation, width, align: "right", key: of,
      text: (row) => {
        const found = of(row);
        return found === null ? null : shown(found);
      },
    };
  };
  const word = (id: string, label: string, least: number, share: string, value: (run: Sample) => string): TableColumn => ({
    id, label, width: fitted([...new Set(samples.map(value))], least, share),
    text: (row) => {
      const run = samples[row];
      return run === undefined ? null : value(run);
    },
  });
  return [
    number("number", "Run", "in the order in which they ran", "3.6rem", (run) => run.number),
    word("command", "Command", 5.2, "6.5rem", (run) => labelOf(measurement, run.command)),
    word("state", "State", 4, "5rem", (run) => run.state),
    word("used", "Counts", 6, "1.3fr", (run) => {
      const use = run.used.use === "counted" ? "yes" : run.used.use === "warm-up" ? "no: warm-up" : `no: ${visible(run.used.reason ?? run.used.use)}`;
      return outliers.has(run.number) ? `${use}, far from the others` : use;
    }),
    number("seconds", "Time", "from the launch to readiness; of failed runs, to their end", "5.6rem", (run) => run.seconds, seconds),
    number("user_seconds", "User", "processor time in user mode, of all its processes until they had ended", "5.6rem", (run) => run.user_seconds, seconds),
    number("system_seconds", "Kernel", "processor time in the kernel, likewise", "5.6rem", (run) => run.system_seconds, seconds),
    number("bytes_read", "Read", "bytes that its processes had read from disks by readiness", "5.6rem", (run) => run.bytes_read, bytes),
    number("requests", "Requests", "read requests that the disks completed until readiness, whoever made them", "5.4rem", requestsOf),
    number("major_faults", "Major", "page faults by readiness that waited for the disk", "4.4rem", (run) => run.major_faults),
    number("minor_faults", "Minor", "page faults by readiness that were served from memory", "4.8rem", (run) => run.minor_faults),
    number("resident_pages", "Resident", "pages of its files in memory before the launch", "5.2rem", (run) => run.residency?.resident_pages ?? null),
    number("busy_seconds", "All CPU", "processor time of the whole machine between launch and readiness", "5.4rem", (run) => run.processors?.busy_seconds ?? null, seconds),
    word("end", "End", 8, "0.6fr", endInWords),
    number("round", "Round", "runs of one round ran close together and are compared with one another", "4.4rem", (run) => run.round),
    number("attempt", "Try", "2 and more: the run before had contradicted its state", "3.2rem", (run) => run.attempt),
  ];
}
