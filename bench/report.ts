import type { ConfigParsesResult } from "./config-parsing.ts";
import type { ScenarioResult } from "./load.ts";
import { type PoliciesResult, policyLimits, policySides } from "./policy-sides.ts";
import type { SentRequests, StoredRows } from "./rows.ts";
import type { SoakResult } from "./soak.ts";
import type { StartupResult } from "./startup.ts";

/** The machine and the programs a report is about. */
export interface Setting {
  cpu: string;
  cores: number;
  upstream: "nginx" | "bun";
  runtime: string;
  versions: Record<string, string>;
  commit: string;
  rounds: number;
  seconds: number;
}

/** What a gateway was sent and what its database held after it had stopped. */
export interface RowsResult {
  /** The part of the benchmark that sent it. */
  part: string;
  sent: SentRequests;
  stored: StoredRows;
  complete: boolean;
  /** Whether the gateway ended in order. */
  stopped: boolean;
}

/** A figure the gateway should reach. */
export interface Goal {
  name: string;
  wanted: string;
  found: string;
  met: boolean;
}

/** All that was found; what the JSON file holds. */
export interface Report {
  setting: Setting;
  scenarios: ScenarioResult[];
  rows: RowsResult[];
  policies?: PoliciesResult;
  configs?: ConfigParsesResult;
  soak?: SoakResult;
  startup: StartupResult[];
  goals: Goal[];
}

const fixed = (value: number, digits = 0) => value.toFixed(digits);
const pair = (one: number, other: number, digits = 0) => `${fixed(one, digits)} / ${fixed(other, digits)}`;

const percent = (share: number) => `${fixed(share * 100)} %`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]) => `| ${cells.map(pad).join(" | ")} |`;
  const rules = widths.map((width, column) => `${"-".repeat(width + 1)}${column === 0 ? "-" : ":"}`);
  return [line(head), `|${rules.join("|")}|`, ...rows.map(line)].join("\n");
}

/** One line on a scenario, for those who wait. */
export function describeScenario(result: ScenarioResult): string {
  const { name, ratio, p99Ratio, bare, gateway, rounds, othersShare } = result;
  const rates = rounds.map((round) =>
    fixed(round.gateway.requestsPerSecond / round.bare.requestsPerSecond, 2).replace(/^0/, ""),
  );
  return [
    `${name.padEnd(14)} ${pair(bare.requestsPerSecond, gateway.requestsPerSecond)} requests/s`,
    `ratio ${fixed(ratio, 3)} (${rates.join(" ")})`,
    ...(result.costRatio === undefined ? [] : [`with to without ${fixed(result.costRatio, 3)}`]),
    `p99 ${pair(bare.p99Ms, gateway.p99Ms, 2)} ms = ${fixed(p99Ratio, 2)}x`,
    `CPU ${pair(bare.cpuMicroseconds, gateway.cpuMicroseconds)} us`,
    `RSS ${pair(bare.rssMegabytes, gateway.rssMegabytes)} MB`,
    `others' CPU ${percent(othersShare)}`,
  ].join(", ");
}

function scenarioTable(scenarios: readonly ScenarioResult[]): string {
  const head = [
    "bare / gateway",
    "conns",
    "requests/s",
    "ratio",
    "p50 ms",
    "p99 ms",
    "p99 ratio",
    "CPU us/request",
    "RSS MB",
    "others' CPU",
    "failed",
  ];
  const rows = scenarios.map(({ title, connections, bare, gateway, ratio, p99Ratio, othersShare, failures }) => [
    title,
    String(connections),
    pair(bare.requestsPerSecond, gateway.requestsPerSecond),
    fixed(ratio, 2),
    pair(bare.p50Ms, gateway.p50Ms, 2),
    pair(bare.p99Ms, gateway.p99Ms, 2),
    fixed(p99Ratio, 2),
    pair(bare.cpuMicroseconds, gateway.cpuMicroseconds),
    pair(bare.rssMegabytes, gateway.rssMegabytes),
    percent(othersShare),
    String(failures),
  ]);
  return table(head, rows);
}

function rowsTable(rows: readonly RowsResult[]): string {
  const head = [
    "rows",
    "answers received",
    "rows with 200",
    "rows",
    "most possible",
    "with bodies",
    "stored MB",
    "complete",
  ];
  return table(
    head,
    rows.map(({ part, sent, stored, complete, stopped }) => [
      part,
      String(sent.completed),
      String(stored.succeeded),
      String(stored.requests),
      String(sent.completed + sent.abandoned),
      String(stored.withBodies),
      fixed(stored.characters / 1e6, 1),
      complete ? `yes${stopped ? "" : " (killed)"}` : "NO",
    ]),
  );
}

/** The sides as reports name them. */
export const policyTitles = {
  none: "no policies",
  unmatched: "1,000 policies, none applies",
  matched: "1,000 policies, 3 apply",
  control: "no policies, once more",
};

/** What policies cost, as a table. */
export function policiesTable({ sides }: PoliciesResult): string {
  const rows = policySides.map((side) => {
    const { cpuMicroseconds, ratio, from, to } = sides[side];
    return [policyTitles[side], fixed(cpuMicroseconds, 1), fixed(ratio, 3), `${fixed(from, 3)} to ${fixed(to, 3)}`];
  });
  return table(["small chat", "CPU us/request", "ratio", "95 % interval"], rows);
}

function policyGoals({ sides }: PoliciesResult): Goal[] {
  return (["unmatched", "matched"] as const).map((side) => {
    const { ratio } = sides[side];
    const limit = policyLimits[side];
    const name = `${policyTitles[side]}, CPU per request`;
    return { name, wanted: `<= ${fixed(limit, 2)} of without`, found: fixed(ratio, 3), met: ratio <= limit };
  });
}

function soakTable({ slices, peakRssMegabytes, rising }: SoakResult): string {
  const head = ["soak: requests sent", "RSS MB", "requests/s", "CPU us/request"];
  const rows = slices.map((slice) => [
    String(slice.requests),
    fixed(slice.rssMegabytes, 1),
    fixed(slice.requestsPerSecond),
    fixed(slice.cpuMicroseconds),
  ]);
  return `${table(head, rows)}\n\npeak ${fixed(peakRssMegabytes, 1)} MB; ${rising ? "RISING" : "not rising"}`;
}

function startupTable(results: readonly StartupResult[]): string {
  const span = (all: readonly number[]) => `${fixed(Math.min(...all))} to ${fixed(Math.max(...all))}`;
  const head = ["start to first answer", "first start ms", "range", "later start ms", "range"];
  const rows = results.map(({ program, first, again }) => [
    program === "binary" ? "dist/gateway" : `mod.ts on ${program}`,
    fixed(first.medianMs),
    span(first.allMs),
    fixed(again.medianMs),
    span(again.allMs),
  ]);
  return table(head, rows);
}

function tailGoal({ title, p99Ratio }: ScenarioResult): Goal {
  const name = `${title} at 32 connections, p99`;
  return { name, wanted: "<= 2.5 x bare", found: `${fixed(p99Ratio, 2)} x`, met: p99Ratio <= 2.5 };
}

/** What something costs: the gateway with it against itself without, in turn in the same run, each by its ratio to bare. */
function costGoals(result: ScenarioResult | undefined, least: number): Goal[] {
  if (result?.costRatio === undefined) return [];
  const { costRatio, title } = result;
  const name = `small chat, ${title}, at 32 connections, ratio`;
  const wanted = `>= ${fixed(least, 2)} of without`;
  return [{ name, wanted, found: fixed(costRatio, 3), met: costRatio >= least }];
}

function scenarioGoals(scenarios: readonly ScenarioResult[]): Goal[] {
  const of = (name: string) => scenarios.find((scenario) => scenario.name === name);
  const [small, stream] = [of("small-32"), of("stream-32")];
  const claude = of("anthropic-stream-32");
  const atLeast = (name: string, found: number, least: number): Goal => ({
    name,
    wanted: `>= ${fixed(least, 2)} of bare`,
    found: fixed(found, 3),
    met: found >= least,
  });
  return [
    ...(small ? [atLeast("small chat at 32 connections, requests/s", small.ratio, 0.6)] : []),
    ...(stream ? [atLeast("100-event stream at 32 connections, requests/s", stream.ratio, 0.7)] : []),
    ...(claude ? [atLeast("100-event stream of Claude at 32 connections, requests/s", claude.ratio, 0.45)] : []),
    ...costGoals(of("config-32"), 0.85),
    ...costGoals(of("saved-32"), 0.85),
    ...costGoals(of("stored-32"), 0.97),
    ...[small, stream].flatMap((scenario) => (scenario ? [tailGoal(scenario)] : [])),
  ];
}

function rowsGoals(rows: readonly RowsResult[]): Goal[] {
  const missing = rows.reduce((sum, { sent, stored }) => sum + Math.max(0, sent.completed - stored.succeeded), 0);
  const bare = rows.reduce((sum, { stored }) => sum + stored.succeeded - stored.withBodies, 0);
  const met = rows.every(({ complete }) => complete);
  const every = { wanted: "every request" };
  return [
    {
      ...every,
      name: "rows in the database afterwards",
      found: missing === 0 ? "every request" : `${missing} missing`,
      met,
    },
    {
      ...every,
      name: "bodies in those rows",
      found: bare === 0 ? "every request" : `${bare} without`,
      met: bare === 0,
    },
  ];
}

/** What was wanted and what was found, for the parts that ran. */
export function judge({ scenarios, rows, policies, configs, soak, startup }: Omit<Report, "goals">): Goal[] {
  const goals = scenarioGoals(scenarios);
  if (policies) goals.push(...policyGoals(policies));
  if (configs) {
    const name = `${configs.configs} configs in ${configs.requests} requests`;
    goals.push({
      name,
      wanted: "each parsed once",
      found: `parsed ${configs.parsed} times`,
      met: configs.parsed === configs.configs,
    });
  }
  if (soak) {
    const { lastRssMegabytes, rising } = soak;
    goals.push({
      name: "RSS after 300,000 requests",
      wanted: "< 180 MB, not rising",
      met: lastRssMegabytes < 180 && !rising,
      found: `${fixed(lastRssMegabytes, 1)} MB${rising ? ", rising" : ""}`,
    });
  }
  for (const { program, first } of startup) {
    const limitMs = { bun: 400, binary: 250, deno: undefined, node: undefined }[program];
    if (limitMs === undefined) continue;
    goals.push({
      name: `start to first answer, ${program === "binary" ? "binary" : "bun run mod.ts"}`,
      wanted: `< ${limitMs} ms`,
      found: `${fixed(first.medianMs)} ms`,
      met: first.medianMs < limitMs,
    });
  }
  if (rows.length > 0) goals.push(...rowsGoals(rows));
  return goals;
}

/** The report as text; its tables are Markdown. */
export function toText({ setting, scenarios, policies, rows, soak, startup, goals }: Report): string {
  const versions = Object.entries(setting.versions).map(([name, version]) => `${name} ${version}`);
  const parts = [
    `${setting.cpu}, ${setting.cores} cores; gateway ${setting.commit} on ${setting.runtime}; ` +
      `upstream ${setting.upstream}; ${versions.join(", ")}; ${setting.rounds} rounds of ${setting.seconds} s`,
    ...(scenarios.length > 0 ? [scenarioTable(scenarios)] : []),
    ...(policies ? [policiesTable(policies)] : []),
    ...(soak ? [soakTable(soak)] : []),
    ...(startup.length > 0 ? [startupTable(startup)] : []),
    ...(rows.length > 0 ? [rowsTable(rows)] : []),
  ];
  if (goals.length > 0) {
    const list = goals.map(({ name, wanted, found, met }) => [name, wanted, found, met ? "met" : "MISSED"]);
    parts.push(table(["target", "wanted", "found", ""], list));
  }
  return parts.join("\n\n");
}
