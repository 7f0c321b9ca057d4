// Verdicts and warnings as sentences: the same words as the reports that `coldstart measure` prints
// (crates/profile/src/measurement/warning.rs).

import { bytes, count, minute } from "../format";
import { visible } from "../names";
import { seconds } from "./measured";
import type { Cause, Measurement, StateFacts, Verdict, Warning } from "./types";

const VERDICTS: Record<Verdict, string> = { faster: "faster", slower: "slower", "not-shown": "no difference shown", "too-few": "too few runs to say" };

export function verdictInWords(verdict: Verdict): string {
  return VERDICTS[verdict] ?? String(verdict);
}

/** "runs 1, 3 to 9": three and more in a row are drawn together. */
function runsInWords(samples: readonly number[]): string {
  const rows: [number, number][] = [];
  for (const sample of samples) {
    const last = rows[rows.length - 1];
    if (last && last[1] + 1 === sample) last[1] = sample;
    else rows.push([sample, sample]);
  }
  const words = rows.map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first} to ${last}`));
  return `${samples.length === 1 ? "run" : "runs"} ${words.join(", ")}`;
}

const DISTURBANCES: Record<Cause["what"], string> = {
  reading: "others read from the same devices",
  computing: "others computed more than in other runs",
  stealing: "the hypervisor gave the processors to others",
};

function explained(causes: readonly Cause[] | undefined): string {
  return (causes ?? []).map(({ what, samples }) => `; during ${runsInWords(samples)} ${DISTURBANCES[what] ?? what}`).join("");
}

/** A warning as a sentence; one that this page does not know is shown as its members. */
export function warningInWords(warning: Warning): string {
  const text = (name: string) => visible(String(warning[name] ?? "?"));
  const number = (name: string) => (typeof warning[name] === "number" ? (warning[name] as number) : NaN);
  const times = (value: number) => `${count(value)} ${value === 1 ? "time" : "times"}`;
  const runs = runsInWords(warning.samples ?? []);
  const [command, state, reason] = [text("command"), text("state"), text("reason")];
  switch (warning.kind) {
    case "first-run-slow": {
      const earlier = number("earlier_starts");
      const why = (warning.causes ?? []).length > 0 ? "" : earlier > 0 ? `, although it had been started ${times(earlier)} before` : ": something was still being set up";
      return `the first ${state} run of ${command} (run ${text("sample")}) took ${seconds(number("seconds"))}, the median is ${seconds(number("median"))}${why}${explained(warning.causes)}`;
    }
    case "outliers": return `${state} times of ${command} far from the others: ${runs}${explained(warning.causes)}`;
    case "interference": return `others read from the same devices during ${runs}, up to ${bytes(number("others_bytes"))}: the machine was not idle`;
    case "processors-busy": return `others used up to ${Math.round(number("most_part") * 100)} % of the processors during ${runs}: the machine was not idle`;
    case "time-stolen": return `the hypervisor gave up to ${seconds(number("most_seconds"))} of the processors' time to others during ${runs}`;
    case "another-measuring": return "another coldstart measured on this machine at the same time";
    case "frequency-varies": return `the processors' frequency may change between runs: governor ${visible(((warning["governors"] as string[] | undefined) ?? []).join(" and "))}${warning["turbo"] === true ? ", turbo on" : ""}`;
    case "frequency-not-held": return `the processors' frequency was not held all the time: ${reason}`;
    case "throttled": return `processors were slowed down because they were hot, ${times(number("events"))} while measuring`;
    case "on-battery": return "the machine ran on its battery";
    case "decaying-caches": return `the page cache lost up to ${count(number("pages"))} pages of ${command} between hot runs, which was warmed up again ${times(number("times"))}${warning["proactive_reclaim"] === true ? ": the kernel takes out what is not used for a while (DAMON)" : ""}`;
    case "state-unchecked": return `whether ${command} really started ${state} could only be told from what it read: ${reason}`;
    case "state-not-reached": return `there are no ${state} figures of ${command}: no run reached that state; ${reason}`;
    case "contradictions": return `not ${state}, and left out: ${runs} of ${command}; ${reason}`;
    case "failed-runs": return `${runs} of ${command}, ${state}, failed: it ${reason}${warning["gave_up"] === true ? "; further runs were not tried" : ""}`;
    case "read-ahead-changed": return `the readahead window of device ${text("device")} changed between runs: ${visible(((warning["kib"] as number[] | undefined) ?? []).join(", "))} KiB`;
    case "near-launch-floor": return `${command} takes ${seconds(number("median"))} ${state}, about as long as starting any process (${seconds(number("floor"))})`;
    case "missing-files": return `gone since ${command} was seen to read them: ${count(number("files"))} ${number("files") === 1 ? "file" : "files"}`;
    default: return visible(JSON.stringify(warning));
  }
}

/** What our own part of each time is; null where it was not found out. */
export function overheadInWords({ overhead, commands }: Measurement): string | null {
  if (!overhead) return null;
  const { floor, spawn, wake, readiness_step: steps } = overhead;
  const parts: string[] = [];
  if (spawn && wake) parts.push(`about ${seconds(spawn.median + wake.median)} of each time are our own (making a process and learning of its end)`);
  if (floor) parts.push(`starting true takes ${seconds(floor.median)} (${seconds(floor.low)} to ${seconds(floor.high)} in the middle half of ${floor.count} starts)`);
  steps.forEach((step, command) => {
    if (step !== null) parts.push(`whether ${visible(commands[command]?.label ?? "?")} is ready is looked at each ${seconds(step)}, by which its times may be too long`);
  });
  return parts.length === 0 ? null : `${parts.join("; ")}; nothing is subtracted`;
}

/** How many pages were in memory before each launch, and whether that was checked. */
export function residencyInWords({ resident_pages: resident, file_pages: pages, checked_before: checked }: StateFacts): string | null {
  if (resident === null || pages === null) return null;
  const [least, most] = resident;
  const range = least === most ? count(most) : `${count(least)} to ${count(most)}`;
  return `${range} of ${count(pages)} pages of its files in memory before the launch${checked ? "" : ", as far as the kernel tells"}`;
}

/** A moment; null if it is not known. */
export function moment(secondsSince1970: number | null | undefined): string | null {
  return secondsSince1970 ? minute(secondsSince1970) : null;
}
