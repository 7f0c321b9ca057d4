// The columns of the tables of initialisers, and of the objects that have them.

import { bytes, count, hex, time } from "../format";
import { visible } from "../names";
import { letterOf } from "../parts/TraceBadge";
import type { TableColumn } from "../table/Table";
import { directionText, type InitialiserGroup, type InitialiserRow } from "./rows";

/** The columns of initialisers; of one object or of all. */
export function initialiserColumns(rows: readonly InitialiserRow[], several: boolean): TableColumn[] {
  const of = <T,>(row: number, ask: (found: InitialiserRow) => T): T | null => (rows[row] ? ask(rows[row]) : null);
  return [
    ...(several ? [{ id: "trace", label: "Trace", width: "4rem", text: (row: number) => of(row, ({ group }) => letterOf(group.trace)) }] : []),
    { id: "order", label: "Order", align: "right", width: "4.5rem", text: (row) => of(row, ({ nth }) => count(nth)), key: (row) => of(row, ({ nth }) => nth) },
    {
      id: "name", label: "Initialiser", width: "minmax(13rem, 2fr)", text: (row) => of(row, ({ phase }) => (phase.name === null ? null : visible(phase.name))),
      show: (row) => of(row, ({ phase }) => (phase.name === null ? "without a name" : <span title={visible(phase.name)}>{visible(phase.name)}</span>)),
    },
    { id: "object", label: "Object", width: "minmax(9rem, 1fr)", text: (row) => of(row, ({ group }) => group.object) },
    { id: "process", label: "Process", width: "minmax(8rem, 1fr)", text: (row) => of(row, ({ group }) => group.process) },
    { id: "address", label: "Address", align: "right", width: "6.5rem", searched: true, text: (row) => of(row, ({ phase }) => (phase.address === null ? null : hex(phase.address))), key: (row) => of(row, ({ phase }) => phase.address) },
    { id: "jump", label: "Jump", explanation: "Bytes from the one before to this one: + forward, − backward", align: "right", width: "7rem", text: (row) => of(row, ({ jump, nth }) => (jump === null ? (nth === 1 ? "first" : null) : `${jump < 0 ? "\u2212" : "+"}${bytes(Math.abs(jump))}`)), key: (row) => of(row, ({ jump }) => jump) },
    { id: "begin", label: "Begin", align: "right", width: "6rem", text: (row) => of(row, ({ phase }) => time(phase.begin)), key: (row) => of(row, ({ phase }) => phase.begin) },
    { id: "own", label: "Own time", explanation: "Without the phases inside it", align: "right", width: "8.5rem", text: (row) => of(row, ({ phase }) => `${phase.known === "end-at-most" ? "at most " : ""}${time(phase.own)}`), key: (row) => of(row, ({ phase }) => phase.own) },
  ];
}

/** Directions in a word. */
const SHORT: Record<string, string> = { none: "one place", ascending: "forward", descending: "backward", mixed: "to and fro" };

/** The columns of objects. */
export function groupColumns(groups: readonly InitialiserGroup[], several: boolean): TableColumn[] {
  const of = <T,>(row: number, ask: (found: InitialiserGroup) => T): T | null => (groups[row] ? ask(groups[row]) : null);
  const number = (id: string, label: string, width: string, ask: (found: InitialiserGroup) => number, show: (value: number) => string): TableColumn => ({
    id, label, align: "right", width, text: (row) => of(row, (found) => show(ask(found))), key: (row) => of(row, ask),
  });
  return [
    ...(several ? [{ id: "trace", label: "Trace", width: "4rem", text: (row: number) => of(row, ({ trace }) => letterOf(trace)) }] : []),
    { id: "object", label: "Object", width: "minmax(8rem, 1fr)", text: (row) => of(row, ({ object }) => object), show: (row) => of(row, ({ object, path }) => <span title={visible(path)}>{object}</span>) },
    { id: "process", label: "Process", width: "minmax(7rem, 1fr)", text: (row) => of(row, ({ process }) => process) },
    number("initialisers", "Number", "5rem", ({ rows }) => rows.length, count),
    number("time", "Time", "5.5rem", ({ order }) => order.time, time),
    { id: "direction", label: "Direction", width: "6rem", text: (row) => of(row, directionText), key: (row) => of(row, ({ order }) => order.direction), show: (row) => of(row, (group) => <span title={directionText(group)}>{SHORT[group.order.direction] ?? group.order.direction}</span>) },
    number("forward", "Forward", "5.5rem", ({ order }) => order.forward, bytes),
    number("backward", "Backward", "5.8rem", ({ order }) => order.backward, bytes),
  ];
}
