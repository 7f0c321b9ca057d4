// Where it was measured, and how each state of the caches was made and checked: figures without that mean little.

import { bytes, count } from "../format";
import { visible } from "../names";
import { Facts } from "./Facts";
import { labelOf } from "./measured";
import type { Machine as MachineFacts, Measurement, Range, StateFacts, Summary } from "./types";
import { moment, overheadInWords, residencyInWords } from "./words";

export function Machine({ machine }: { machine: MachineFacts }) {
  const { frequency } = machine;
  const yes = (value: boolean | null) => (value === null ? NOT_TOLD : value ? "yes" : "no");
  return (
    <Facts
      rows={[
        ["Processors", `${machine.processor_count} x ${machine.processor || "processor"}${machine.is_virtual ? " (virtual machine)" : ""}`],
        ["Memory", bytes(machine.memory)],
        ["Kernel", `Linux ${machine.kernel}`],
        ["Disks", machine.devices.length === 0 ? null : machine.devices.map(disk).join("; ")],
        ["Frequency", frequency === null ? NOT_TOLD : frequencyInWords(frequency)],
        ["Slowed down by heat", machine.throttle_events === null ? NOT_TOLD : `${count(machine.throttle_events)} times while measuring`],
        ["On battery", yes(machine.on_battery)],
        ["Kernel takes out unused pages (DAMON)", yes(machine.proactive_reclaim)],
        ["Another coldstart measured meanwhile", yes(machine.another_measured)],
      ]}
    />
  );
}

/** What a machine has no means to tell; nothing was left unrecorded. */
const NOT_TOLD = "not told by this machine";

/** "intel_pstate, governor powersave, 0.8 to 4.9 GHz, turbo on, 1.9 GHz at the beginning, 3.2 GHz at the end" */
function frequencyInWords({ driver, governors, turbo, allowed, held, at_begin: begin, at_end: end }: NonNullable<MachineFacts["frequency"]>): string {
  const parts = [
    driver, governors.length === 0 ? "no governor" : `${governors.length > 1 ? "mixed governors" : "governor"} ${governors.join(", ")}`, held ? `held at ${gigahertz(held)}` : allowed && gigahertz(allowed),
    turbo && `turbo ${turbo === "mixed" ? "on for some" : turbo}`, begin && `${gigahertz(begin)} at the beginning`, end && `${gigahertz(end)} at the end`,
  ];
  return parts.filter(Boolean).join(", ");
}

function disk(device: MachineFacts["devices"][number]): string {
  const parts = [device.name, device.model, device.rotational === true ? "rotational" : null, device.read_ahead_kib === null ? null : `${count(device.read_ahead_kib)} KiB readahead`, device.scheduler && `scheduler ${device.scheduler}`];
  return parts.filter(Boolean).join(", ");
}

function gigahertz({ least, greatest }: Range): string {
  const word = (kilohertz: number) => (kilohertz / 1e6).toFixed(1);
  return word(least) === word(greatest) ? `${word(least)} GHz` : `${word(least)} to ${word(greatest)} GHz`;
}

/** How each state was made and checked; commands that share the facts share an entry. */
export function States({ measurement }: { measurement: Measurement }) {
  const seen = new Map<string, Summary[]>();
  for (const summary of measurement.summaries) {
    const key = JSON.stringify([summary.state, summary.counted === 0, summary.state_facts]);
    seen.set(key, [...(seen.get(key) ?? []), summary]);
  }
  const own = overheadInWords(measurement);
  return (
    <>
      <dl class="report-states">
        {[...seen.values()].map((summaries) => {
          const first = summaries[0];
          if (first === undefined) return null;
          const who = summaries.map(({ command }) => labelOf(measurement, command)).join(", ");
          return (
            <div key={`${first.state}${first.command}`}>
              <dt>{first.state}, {who}</dt>
              <dd>{first.counted === 0 ? <p>No run counts.</p> : <StateInWords facts={first.state_facts} />}</dd>
            </div>
          );
        })}
      </dl>
      <p class="report-small">{own ?? "What measuring itself takes was not recorded."}</p>
    </>
  );
}

function StateInWords({ facts }: { facts: StateFacts }) {
  const { saved_state: saved } = facts;
  const most = 12;
  return (
    <>
      <p>Made by: {facts.method ? visible(facts.method) : "not recorded"}.</p>
      <p>Checked: {residencyInWords(facts) ?? "what was in memory before the launch was not recorded"}.</p>
      {saved && (
        <p>
          Saved state {visible(saved.file)} of {moment(saved.saved_at) ?? "an unknown time"}: at least {count(saved.least_back)} of {count(saved.asked)} pages back, at most {count(saved.most_extra)} more of the same files
          {saved.lost_example !== null && `; ${count(saved.lost_pages)} of its pages are of ${count(saved.lost_files)} files gone or changed since: ${visible(saved.lost_example)}`}.
        </p>
      )}
      {facts.ways.map((way) => (
        <p key={way.way}>
          Metadata by {visible(way.way)}: {way.times > 0 ? `${way.unit === "bytes" ? bytes(way.before - way.after) : count(way.before - way.after)} of ${way.unit === "bytes" ? bytes(way.before) : `${count(way.before)} ${visible(way.unit)}`} evicted, in ${count(way.times)} ${way.times === 1 ? "time" : "times"}` : "not gone"}
          {way.refused !== null && `; refused: ${visible(way.refused)}`}.
        </p>
      ))}
      {facts.stayed.length > 0 && (
        <details>
          <summary>{count(facts.stayed.length)} {facts.stayed.length === 1 ? "file" : "files"} stayed in memory in part, mapped by running programs or not yet written</summary>
          <ul>
            {facts.stayed.slice(0, most).map(({ path, pages }) => (
              <li key={path}><code>{visible(path)}</code>, {count(pages)} pages</li>
            ))}
            {facts.stayed.length > most && <li>and {count(facts.stayed.length - most)} more</li>}
          </ul>
        </details>
      )}
    </>
  );
}
