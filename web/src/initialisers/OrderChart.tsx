// Address against order of one object's initialisers: a line that rises runs forward through the file, as readahead likes it; one that falls runs backward.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { count, hex, time } from "../format";
import { visible } from "../names";
import { colour, ink, isDark } from "../theme";
import { prepare } from "../timeline/canvas";
import { zoomTo } from "../timeline/keys";
import { useWidth } from "../parts/useWidth";
import { type InitialiserGroup, type InitialiserRow, groupSentence } from "./rows";

const HEIGHT = 190;
const LEFT = 88;
const EDGE = 10;
const FOOT = 20;

export function OrderChart({ group, pointed }: { group: InitialiserGroup; pointed: InitialiserRow | null }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const [near, setNear] = useState<InitialiserRow | null>(null);
  const dark = isDark.value;
  const known = group.rows.filter(({ phase }) => phase.address !== null);
  const low = known.reduce((least, { phase }) => Math.min(least, phase.address ?? least), Infinity);
  const high = known.reduce((most, { phase }) => Math.max(most, phase.address ?? most), -Infinity);
  const place = ({ nth, phase }: InitialiserRow): [number, number] => [
    LEFT + ((nth - 0.5) / group.rows.length) * (width - LEFT - EDGE),
    EDGE + (high === low ? 0.5 : (high - (phase.address ?? low)) / (high - low)) * (HEIGHT - EDGE - FOOT),
  ];
  const marked = near ?? pointed;

  useLayoutEffect(() => {
    const context = canvas.current && width > 0 ? prepare(canvas.current, width, HEIGHT) : null;
    if (context === null || known.length === 0) return;
    context.fillStyle = ink("line");
    context.fillRect(LEFT - 4, EDGE - 4, 1, HEIGHT - EDGE - FOOT + 8);
    context.fillRect(LEFT - 4, HEIGHT - FOOT + 4, width - LEFT, 1);
    context.fillStyle = ink("muted");
    context.textAlign = "right";
    context.fillText(hex(high), LEFT - 8, EDGE);
    if (high !== low) context.fillText(hex(low), LEFT - 8, HEIGHT - FOOT);
    context.fillText(count(group.rows.length), width - EDGE, HEIGHT - 7);
    context.textAlign = "left";
    context.fillText("address", 0, HEIGHT / 2 - 8);
    context.fillText("1", LEFT, HEIGHT - 7);
    context.fillText("order of running", LEFT + (width - LEFT) / 2 - 40, HEIGHT - 7);
    context.strokeStyle = ink("elsewhere");
    context.lineWidth = 1;
    context.beginPath();
    known.forEach((row, nth) => (nth === 0 ? context.moveTo(...place(row)) : context.lineTo(...place(row))));
    context.stroke();
    context.fillStyle = colour("dots", "execute");
    for (const row of known) {
      const [x, y] = place(row);
      context.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    if (marked !== null && marked.group === group && marked.phase.address !== null) {
      const [x, y] = place(marked);
      context.strokeStyle = ink("text");
      context.lineWidth = 2;
      context.strokeRect(x - 5, y - 5, 10, 10);
    }
  }, [group, width, dark, marked]);

  const find = (event: MouseEvent & { currentTarget: HTMLElement }): InitialiserRow | null => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    return group.rows[Math.round(((x - LEFT) / (width - LEFT - EDGE)) * group.rows.length - 0.5)] ?? null;
  };
  const zoom = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const found = find(event);
    if (found) zoomTo(found.phase);
  };
  const sentence = groupSentence(group);
  return (
    <div ref={frame} class="order-chart">
      <canvas
        ref={canvas} role="img" aria-label={`Address against order. ${sentence} The table below says the same.`}
        onPointerMove={(event) => setNear(find(event))} onPointerLeave={() => setNear(null)} onClick={zoom}
      />
      <p class="note">{marked !== null && marked.group === group ? `${marked.nth}: ${visible(marked.phase.name ?? "without a name")}, ${time(marked.phase.own)}` : sentence}</p>
    </div>
  );
}
