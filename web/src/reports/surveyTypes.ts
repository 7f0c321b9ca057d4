// What `coldstart survey report --json` prints (crates/app/src/survey.rs).

export interface Gain { bytes: number; read_pages: number; private_pages: number; seeks: number; lookups: number; probes: number; weight: number }

export interface FixGain { fix: string; by: "verb" | "linker" | "compiler" | "source"; findings: number; objects: number; packages: number; saves: Gain }

export interface PackageGain { package: string | null; objects: number; file_bytes: number; modules: number; saves: Gain; best_fix: string | null }

export interface SurveyReportData {
  sources: readonly string[];
  complete_shards: number;
  shards: number;
  totals: {
    objects: number; programs: number; file_bytes: number; relocations: number; relocation_bytes: number; packed_objects: number; initialisers: number; private_pages: number; failed_probes: number; findings: number; problems: number;
  };
  fixes: readonly FixGain[];
  packages: readonly PackageGain[];
  all_packages: number;
  modules: Record<string, number>;
  problems: readonly { place: string; problem: string }[];
}
