// What `--json` of measure, inspect and speedup prints, as far as these pages read it. The Rust structs behind it are in
// crates/profile/src/measurement, crates/cli/src/commands/measure, crates/inspect/src and crates/cli/src/commands/{inspect,speedup}.
// Times are seconds, sizes bytes, pages 4 KiB unless said otherwise; null: not recorded.

export type State = "cold" | "boot" | "selective" | "hot";
export type Verdict = "faster" | "slower" | "not-shown" | "too-few";

/** Holds the true value with this confidence: 0.95, 0.99. */
export interface Interval { low: number; high: number; confidence: number }

export interface Measurement {
  machine: Machine;
  commands: { label: string; command_line: string; readiness: string; file_count: number }[];
  samples: Sample[];
  summaries: Summary[];
  comparisons: Comparison[];
  input_output: InputOutput[];
  launch_floor: number | null;
  overhead: { floor: Spread | null; spawn: Spread | null; wake: Spread | null; readiness_step: (number | null)[] } | null;
  warnings: Warning[];
}

/** `coldstart.measure/1`. */
export interface MeasureReportData extends Measurement {
  schema: string;
  id: string;
  /** Seconds since 1970-01-01 UTC. */
  measured_at: number;
  label: string | null;
  programs: ({ path: string; file: { size: number }; build_id: string | null; content_hash: string | null } | null)[];
  number?: number;
  gate?: Gate;
}

export interface Machine {
  kernel: string;
  processor: string;
  processor_count: number;
  governor: string | null;
  memory: number;
  devices: { number: string; name: string; model: string | null; rotational: boolean | null; read_ahead_kib: number | null; scheduler: string | null }[];
  is_virtual: boolean;
  /** In kHz. */
  frequency: { driver: string; governors: string[]; turbo: string | null; allowed: Range | null; at_begin: Range | null; at_end: Range | null; held: Range | null } | null;
  throttle_events: number | null;
  on_battery: boolean | null;
  proactive_reclaim: boolean | null;
  another_measured: boolean;
}

export interface Range { least: number; greatest: number }
export interface Spread { count: number; median: number; low: number; high: number }

export interface Sample {
  /** From 1, in the order in which they ran. */
  number: number;
  command: number;
  state: State;
  round: number;
  attempt: number;
  seconds: number | null;
  end: { how: "exited" | "signalled" | "ended" | "timed-out"; value?: number };
  residency: { file_pages: number; resident_pages: number; unknown_files: number; missing_files: number } | null;
  bytes_read: number | null;
  major_faults: number | null;
  minor_faults: number | null;
  user_seconds: number | null;
  system_seconds: number | null;
  devices: { device: string; requests: number; bytes: number; read_ahead_kib: number | null }[];
  processors: { busy_seconds: number; stolen_seconds: number } | null;
  used: { use: "counted" | "warm-up" | "failed" | "contradicts"; reason?: string };
}

export interface Summary {
  command: number;
  state: State;
  counted: number;
  failed: number;
  contradicting: number;
  mean: number | null;
  mean_interval: Interval | null;
  median: number | null;
  min: number | null;
  max: number | null;
  standard_deviation: number | null;
  outliers: { sample: number; seconds: number }[];
  bytes_read: number | null;
  requests: number | null;
  major_faults: number | null;
  state_facts: StateFacts;
}

export interface StateFacts {
  method: string;
  checked_before: boolean;
  file_pages: number | null;
  resident_pages: [least: number, most: number] | null;
  stayed: { path: string; pages: number }[];
  ways: { way: string; unit: string; times: number; before: number; after: number; refused: string | null }[];
  saved_state: { file: string; saved_at: number; asked: number; least_back: number; most_extra: number; lost_files: number; lost_pages: number; lost_example: string | null } | null;
}

export interface Comparison {
  baseline: number;
  command: number;
  state: State;
  ratio: number | null;
  interval: Interval | null;
  wide_interval: Interval | null;
  method: string;
  samples: number;
  verdict: Verdict;
}

export interface InputOutput {
  baseline: number;
  command: number;
  cold: State;
  baseline_cost: number;
  command_cost: number;
  difference: number;
  interval: Interval | null;
  wide_interval: Interval | null;
  verdict: Verdict;
}

export interface Cause { what: "reading" | "computing" | "stealing"; samples: number[] }

/** Told apart by `kind`; kinds that this page does not know are shown as they are. */
export interface Warning {
  kind: string;
  command?: string;
  state?: State;
  sample?: number;
  samples?: number[];
  causes?: Cause[];
  [member: string]: unknown;
}

export interface Gate {
  baseline: string;
  baseline_numbers: number[];
  /** Percent. */
  fail_if_slower: number | null;
  error_rate: number | null;
  states: GateState[];
  is_slower: boolean | null;
  notes: string[];
}

export interface GateState {
  command: number;
  label: string;
  state: State;
  ratio: number;
  interval: Interval | null;
  verdict: Verdict | null;
  at_least: number | null;
  limit: number | null;
  detectable: number | null;
  is_slower: boolean | null;
  sessions: number | null;
  pairs: number | null;
  session_spread: number | null;
  is_allowance: boolean;
}

/** `coldstart.measure-history/1`. */
export interface HistoryReportData {
  schema: string;
  programs?: { command_line: string; program: string | null; measurements: number; last_measured_at: number }[];
  series?: Series[];
}

export interface Series {
  command_line: string;
  readiness: string;
  state: State;
  condition: string;
  machine: Machine;
  points: SeriesPoint[];
}

export interface SeriesPoint {
  number: number;
  measured_at: number;
  label: string | null;
  program: string | null;
  is_other_program: boolean;
  runs: number;
  median: number;
  mean: number;
  interval: Interval | null;
  change: { ratio: number; verdict: Verdict } | null;
}

/** `coldstart.speedup/2`. */
export type LimitedBy = "computing" | "waiting" | "bytes" | "seeks" | "single-reads";

export interface Prospect { kind: string; name: string; applies: boolean; predicted: number | null; why: string }

export interface Trial {
  name: string; kinds: string[]; median: number | null; comparison: Comparison | null;
  /** Only where a fix may pay in hot starts, too. */
  hot_median?: number; hot_comparison?: Comparison;
  proven: boolean; refused?: string;
}

export interface SpeedupStep {
  fix: string;
  kinds: string[];
  predicted: number | null;
  proven: boolean;
  findings: string[];
  unchecked: string[];
  command: string;
  limited_by: LimitedBy | null;
  cost: { plan_bytes: number; memory_bytes: number; image_bytes: number; index_bytes: number; changed_files: number; saved_bytes: number };
}

/** What would make the start faster and was not done. */
export interface Advice {
  kind: string;
  file: { path: string };
  why: string;
  /** One after another, for a shell. */
  commands: string[];
  used_bytes: number;
  pieces: number;
  saved_seconds: number | null;
}

export interface SpeedupReportData {
  schema: string;
  cold: State;
  prospects: Prospect[];
  no_private_view?: string;
  trials: Trial[];
  /** The best of the trials, measured again; none where nothing fits. */
  fixes: SpeedupStep[];
  /** The largest predicted saving first. */
  advice: Advice[];
  limited_by: LimitedBy | null;
  limit_seconds: number | null;
  bytes: number;
  bytes_per_second: number;
  measurement: Measurement;
  before_is_copied?: boolean;
  traces?: { name: string; link: string };
}
