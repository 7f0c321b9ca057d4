// What was started, in a few words: the command, when, on what machine, with what in the caches, and when it was ready.

import type { TraceHead } from "../data/payload";
import { minute } from "../format";
import { commandLine, shortened, visible } from "../names";
import { TraceBadge } from "../parts/TraceBadge";

/** Longer commands are folded. */
const SHOWN = 110;

export function RunFacts({ head, trace }: { head: TraceHead; trace: number | null }) {
  const { run } = head;
  const command = commandLine(run.command);
  const most = trace === null ? SHOWN : SHOWN / 2;
  return (
    <div class="run">
      <p class="command">
        {trace !== null && <TraceBadge trace={trace} />} <code title={command}>{shortened(command, most)}</code>
        {command.length > most && (
          <details class="whole">
            <summary>whole command</summary>
            <code>{command}</code>
          </details>
        )}
      </p>
      <dl class="facts">
        <Fact name="Ready" value={visible(run.ready)} />
        <Fact name="Caches" value={visible(run.state)} />
        <Fact name="When" value={minute(run.started) ?? "not known"} />
        <Fact name="Machine" value={`${visible(run.kernel)}, ${run.processors} ${run.processors === 1 ? "processor" : "processors"}`} />
      </dl>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd title={value}>{value}</dd>
    </div>
  );
}
