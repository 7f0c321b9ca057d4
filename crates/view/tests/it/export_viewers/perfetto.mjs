// Loads a trace with Perfetto's own trace processor, and answers questions in SQL about it: node perfetto.mjs DIST TRACE SQL...
// Prints a list of answers as JSON, each a list of rows.
//
// DIST holds Perfetto's engine_bundle.js and trace_processor.wasm. The bundle is made for a browser's worker, so it is given what it
// needs of one; it is asked as Perfetto's page asks it, in messages of protos/perfetto/trace_processor/trace_processor.proto.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import vm from "node:vm";

const [dist, trace, ...questions] = process.argv.slice(2);
const worker = { location: { href: "file:///engine_bundle.js" } };
const replies = [];
const port = { onmessage: undefined, postMessage: (data) => replies.push(Buffer.from(data)) };

/** The worker reads its WebAssembly by one such request. */
class XMLHttpRequest {
  open(_method, address) {
    this.name = basename(address);
  }
  send() {
    this.response = Uint8Array.from(readFileSync(join(dist, this.name))).buffer;
  }
}

const quiet = { log() {}, warn() {}, error() {} };
const surroundings = {
  self: worker, WorkerGlobalScope: class {}, XMLHttpRequest, WebAssembly, URL, TextDecoder, TextEncoder, console: quiet,
  performance, crypto, setTimeout: globalThis.setTimeout, clearTimeout, Uint8Array, TypeError, RangeError, Error,
};
try {
  vm.runInNewContext(readFileSync(join(dist, "engine_bundle.js"), "utf8"), surroundings);
} catch (error) {
  // With the source line, which is the whole bundle, nobody would find the message.
  throw new Error(error.message);
}
worker.onmessage({ data: port });
// It starts by promises, which are kept before this comes back.
await wait(100);

const varint = (number) => {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Buffer.from([...bytes, number]);
};
const numberField = (field, number) => Buffer.concat([varint(field * 8), varint(number)]);
const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

/** Fields of a message: number and value, a BigInt or bytes. */
function* fields(bytes) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(next());
    if (key % 8 === 0) yield [key >> 3, next()];
    else if (key % 8 === 2) {
      const length = Number(next());
      yield [key >> 3, bytes.subarray(at, at + length)];
      at += length;
    } else throw new Error(`wire type ${key % 8} in an answer`);
  }
}

function* varints(bytes) {
  for (let at = 0; at < bytes.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    yield Number(BigInt.asIntN(64, value));
  }
}

let sequence = 0;

/** One request, and the fields of its answers. */
function ask(request, ...more) {
  replies.length = 0;
  const message = Buffer.concat([numberField(1, ++sequence), numberField(2, request), ...more]);
  port.onmessage({ data: Uint8Array.from(bytesField(1, message)) });
  const answers = replies.flatMap((reply) => [...fields(reply)].flatMap(([, answer]) => [...fields(answer)]));
  for (const [field, value] of answers) if (field === 5) throw new Error(`Perfetto gave up: ${value}`);
  return answers;
}

function refuse(answers, answerField, errorField) {
  for (const [field, answer] of answers) {
    if (field !== answerField) continue;
    for (const [inner, words] of fields(answer)) if (inner === errorField && words.length > 0) throw new Error(`Perfetto: ${words}`);
  }
}

// AppendTraceData (1), FinalizeTraceData (2), QueryStreaming (3).
const file = readFileSync(trace);
for (let at = 0; at < file.length; at += 1 << 20) refuse(ask(1, bytesField(101, file.subarray(at, at + (1 << 20)))), 201, 2);
refuse(ask(2), 209, 1);

function query(sql) {
  const answers = ask(3, bytesField(103, bytesField(1, Buffer.from(sql))));
  refuse(answers, 203, 2);
  let columns = 0;
  const cells = [];
  for (const [field, result] of answers) {
    if (field !== 203) continue;
    for (const [inner, value] of fields(result)) {
      if (inner === 1) columns += 1;
      if (inner === 3) cells.push(...batch(value));
    }
  }
  return Array.from({ length: cells.length / Math.max(columns, 1) }, (_, row) => cells.slice(row * columns, (row + 1) * columns));
}

/** Cells of a batch: NULL, numbers and strings, each kind in a list of its own. */
function* batch(bytes) {
  const kinds = [], integers = [], floats = [], strings = [];
  for (const [field, value] of fields(bytes)) {
    if (field === 1) kinds.push(...value);
    if (field === 2) integers.push(...varints(value));
    if (field === 3) for (let at = 0; at < value.length; at += 8) floats.push(value.readDoubleLE(at));
    if (field === 5) strings.push(...value.toString().split("\0").slice(0, -1));
  }
  for (const kind of kinds) yield kind === 1 ? null : kind === 2 ? integers.shift() : kind === 3 ? floats.shift() : strings.shift();
}

process.stdout.write(JSON.stringify(questions.map(query)), () => process.exit(0));
