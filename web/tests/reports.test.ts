// What charts of measurements hold and leave out, and the words beside them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { axisOver, labelEvery, plainTick, ratioAxisOver } from "../src/reports/charts/axis";
import { ratio } from "../src/reports/Comparisons";
import { meaning } from "../src/reports/Gate";
import { fixInWords, readable } from "../src/reports/inspectWords";
import type { Finding } from "../src/reports/inspectTypes";
import { beyondInWords, readyAfter, requestsOf, runInWords, timesForAxis } from "../src/reports/measured";
import type { Gate, GateState, Measurement, Sample } from "../src/reports/types";

function run(use: Sample["used"]["use"], seconds: number | null): Sample {
  return {
    number: 1, command: 0, state: "hot", round: 1, attempt: 1, seconds, end: { how: "exited", value: 0 }, residency: null, bytes_read: 0, major_faults: 0, minor_faults: 0, user_seconds: 0, system_seconds: 0,
    devices: [], processors: null, used: { use },
  };
}

test("runs that failed, and warm-ups far beyond what counts, stand beside the axis", () => {
  const runs = [run("counted", 1), run("counted", 1.2), run("warm-up", 1.5), run("warm-up", 9), run("failed", 0.001), run("failed", null)];
  assert.deepEqual(timesForAxis(runs), [1, 1.2, 1.5]);
  assert.equal(readyAfter(run("failed", 0.001)), null);
  assert.equal(beyondInWords([run("failed", 0.001)]), "failed");
  assert.equal(beyondInWords([run("warm-up", 9), run("failed", null)]), "failed, longer");
  // Where no run counts, nothing is there to be read off.
  assert.deepEqual(axisOver(timesForAxis([run("failed", 0.001)]), false).ticks, []);
});

test("what is not known of a run is not shown as zero", () => {
  const measurement = { commands: [{ label: "A" }] } as Measurement;
  assert.match(runInWords(measurement, run("counted", 1), false), /processors 0 s in user mode, .*; 0 B read; 0 faults/);
  const unknown = { ...run("counted", 1), bytes_read: null, major_faults: null, user_seconds: null };
  assert.match(runInWords(measurement, unknown, false), /processor time not known; bytes read not known; faults not known$/);
  assert.equal(requestsOf(unknown), null);
});

test("an axis of ratios is linear where they lie close, and of factors where they do not", () => {
  const close = ratioAxisOver([0.95, 1], [0.9, 1.1]);
  assert.ok(Math.abs(close.at(1) - (close.at(0.95) + close.at(1.05)) / 2) < 1e-9);
  const far = ratioAxisOver([4, 1], [0.5, 100]);
  assert.ok(Math.abs(far.at(2) - (far.at(1) + far.at(4)) / 2) < 1e-9);
  assert.deepEqual(far.ticks.map(plainTick(far)), ["0.5", "1.0", "2.0", "5.0", "10.0", "20.0"]);
  assert.ok(far.at(100) > 1, "of few runs an interval may go on beyond the axis");
  assert.ok(far.at(0) < 0);
});

test("labels of ticks do not meet", () => {
  const axis = axisOver([0, 10], true, 10);
  assert.deepEqual(axis.ticks, [0, 2, 4, 6, 8, 10]);
  assert.equal(labelEvery(axis, 1000, 50), 1);
  // 19 pixels from tick to tick.
  assert.equal(labelEvery(axis, 100, 50), 3);
  assert.equal(labelEvery(axisOver([], true), 100, 50), 1);
});

test("ratios have the decimals that are printed, and no false zero", () => {
  assert.deepEqual([0.62, 0.0001, 0, 12345.678].map(ratio), ["0.620", "less than 0.001", "0.000", "12\u202f346"]);
});

test("what a gate's rate takes for granted is said, as it is printed", () => {
  const state = (sessions: number | null, is_allowance: boolean): GateState => ({
    command: 0, label: "A", state: "hot", ratio: 1.2, interval: null, verdict: null, at_least: 1.1, limit: 1.05, detectable: 1.3, is_slower: false, sessions, pairs: null, session_spread: sessions === null ? null : 0.15, is_allowance,
  });
  const gate = (states: GateState[], error_rate: number | null = 1): Gate => ({ baseline: "b", baseline_numbers: [], fail_if_slower: 5, error_rate, states, is_slower: false, notes: [] });
  assert.match(meaning(gate([state(1, true)])), /^In 1 % of such gates a program .* an allowance of 15 % \(standard deviation\): one earlier session does not tell/);
  assert.match(meaning(gate([state(2, true)])), /so few earlier sessions do not tell/);
  assert.match(meaning(gate([state(9, false), state(9, false)])), /\(0\.500 % for each of 2 tests\).*the machine is not busy in one session of many/);
  assert.match(meaning(gate([state(null, false)])), /nothing but the commands differs/);
  assert.match(meaning(gate([state(1, true)], null)), /^One earlier session does not tell/);
  assert.equal(meaning(gate([state(3, false)], null)), "");
});

test("a fix is a command, or flags of a tool", () => {
  const fixes: Finding["fixes"] = [{ by: "linker", text: "-z now" }, { by: "verb", text: "pack" }, { by: "source", text: "constexpr" }];
  assert.deepEqual(fixes.map(fixInWords), ["linker: -z now", "coldstart pack", "constexpr"]);
});

test("large numbers of a sentence stand in groups, addresses and names as they are", () => {
  assert.equal(readable("362379 words (8697096 bytes), 1887 at 0x760198 of `f1234`, libLLVM-15 in 2026"), "362\u202f379 words (8\u202f697\u202f096 bytes), 1\u202f887 at 0x760198 of `f1234`, libLLVM-15 in 2\u202f026");
});
