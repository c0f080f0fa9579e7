// Which test files run on which runtime, and which of them share a process.
//
// A file belongs to the first tier that names it. What a host can change runs on all three runtimes. Of the longest files a
// sixth run, each on one runtime, by the seed. Code without a host runs on Bun and a twelfth of it on Node, others with each seed.
// What only drives our own API runs on Bun. Node has one file of every second folder, Deno one of every other folder.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./lib.mjs";

export const runtimes = ["bun", "node", "deno"];

/** Names are those of folders or files below tests/, or of folders in packages/, without `.test.ts`. */
const tiers = [
  {
    // they start many processes, wait for real time or take over seven seconds: a sixth of them, each on one runtime,
    // others with each seed
    name: "long",
    runtimes: [],
    sampledOn: { bun: oneIn(18, 0), node: oneIn(18, 6), deno: oneIn(18, 12) },
    names: [
      "runtimes/cli",
      "runtimes/cli-master-keys",
      "runtimes/lifecycle",
      "runtimes/stops",
      "runtimes/capacity",
      "runtimes/compact",
      "runtimes/reprice",
      "runtimes/shared-limits",
      "runtimes/parallel-limits",
      "runtimes/limit-kills",
      "runtimes/limit-journal",
      "runtimes/log-index-kills",
      "runtimes/batch-kills",
      "runtimes/provider-batch-kills",
      "runtimes/export-kills",
      "runtimes/log-outage",
      "runtimes/limit-alerts",
      "runtimes/cache-kills",
      "runtimes/openai-sdk",
      "runtimes/realtime",
      "mcp/conformance",
      "mcp/conformance-client",
      "libsql-server",
      "control/limit-alerts",
      "policies/redis-store",
      "logs/index/sealer",
      "inference/keep-alive",
      "inference/provider-batches",
      "inference/realtime-limits",
      "inference/routing-load",
      "inference/window-splits",
      "inference/exact-costs",
      "inference/gateway-batches",
      "inference/limited-rows",
      "providers/host-fuzz",
      "routing/config-memory",
      "runtimes/openai-groups",
      "guardrails/slices",
      "auth/jwt-gateway",
      "logs/index/random",
      "logs/follow/log-tail",
      "logs/follow/random",
      "admin/analytics",
      "admin/log-store",
      "inference/routing-faults",
      "inference/routing-limits",
      "inference/guardrail-outcomes",
      "docs/blocks",
      "cache/tiers",
      "runtimes/nodes",
      "runtimes/binary",
      "runtimes/console-sessions",
      "runtimes/declared-state",
      "runtimes/second-process",
      "runtimes/backup",
      "runtimes/doctor",
      "runtimes/logs-command",
      "runtimes/log-tail",
      "openapi-client",
    ],
  },
  {
    // pages of the console in a browser: with `--all` each on Bun and the sign-in on all runtimes, else the sign-in on Bun
    name: "browser",
    runtimes: [],
    sampledOn: { bun: onlySignIn },
    wholeOn: { node: onlySignIn, deno: onlySignIn },
    names: ["browser"],
  },
  {
    // sessions of coding agents, which take minutes, and the examples of clients, whose packages only `--all` installs: on Bun
    name: "sessions",
    runtimes: [],
    wholeOn: { node: none, deno: none },
    names: ["agent-sessions", "clients/examples"],
  },
  {
    name: "host",
    runtimes: ["bun", "node", "deno"],
    names: [
      "serve",
      "handler",
      "handler-fuzz",
      ...["assets", "sessions"].map((name) => `console/${name}`),
      ...["outbound", "embed", "program", "console"].map((name) => `runtimes/${name}`),
      ...["streams", "faults", "hardening", "multipart", "audio", "realtime"].map((name) => `inference/${name}`),
      ...["body", "outbound", "hash", "path", "address", "sse"].map((name) => `lib/${name}`),
    ],
  },
  { name: "walks", runtimes: ["node"], names: ["runtimes/walks"] },
  { name: "clients", runtimes: ["bun"], names: ["runtimes", "agents", "clients", "openapi-client", "docs"] },
  { name: "text", runtimes: ["bun"], names: ["architecture", "words", "openapi", "adversarial"] },
  {
    name: "engine",
    runtimes: ["bun"],
    sampledOn: { node: oneIn(12, 0) },
    names: [
      "packages",
      "auth",
      "dialects",
      "guardrails",
      "lib",
      "logs",
      "pricing",
      "prompts",
      "providers",
      "routing",
      "schemas",
      "settings",
    ],
  },
  {
    name: "product",
    runtimes: ["bun"],
    sampledOn: { node: oneOfEverySecondFolder(0), deno: oneOfEverySecondFolder(1) },
    names: [""],
  },
];

/** Lists of the items that have the same key. */
function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Test files below a folder, as paths from the repository's root. */
function listTests(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && !name.startsWith("."))
    .flatMap(({ name }) => {
      const path = `${folder}/${name}`;
      if (statSync(join(root, path)).isDirectory()) return listTests(path);
      return name.endsWith(".test.ts") ? [path] : [];
    });
}

function tierOf(file) {
  const name = file.replace(/^tests\//, "").slice(0, -".test.ts".length);
  return tiers.find(({ names }) => names.some((one) => one === "" || name === one || name.startsWith(`${one}/`)));
}

/** One file of so many, another one with each seed; those of different places have no file in common. */
function oneIn(count, place) {
  return (files, seed) => files.filter((_, index) => (index + seed) % count === place);
}

/** No file. */
function none() {
  return [];
}

/** The files that sign in to the console. */
function onlySignIn(files) {
  return files.filter((file) => file.endsWith("/sign-in.test.ts"));
}

/** One file of every second folder; those of different places have no folder in common. Others with each seed. */
function oneOfEverySecondFolder(place) {
  return (files, seed) => {
    const folders = groupBy(files, (file) => file.slice(0, file.lastIndexOf("/")));
    const chosen = [...folders.values()].filter((_, index) => (index + seed) % 2 === place);
    return chosen.map((group) => group[Math.floor(seed / 2) % group.length]);
  };
}

/**
 * The files of each runtime.
 *
 * @param {{ paths: string[], isWhole: boolean, seed: number, runtimes: string[] }} options `paths`: files or folders;
 *   none: all. Whole, or with paths, every file runs on every runtime.
 */
export function assignFiles({ paths, isWhole, seed, runtimes: asked }) {
  const listed = paths.flatMap((path) => (statSync(join(root, path)).isDirectory() ? listTests(path) : [path]));
  const files = paths.length > 0 ? listed : [...listTests("tests"), ...listTests("packages")];
  const byTier = groupBy(files, tierOf);
  const assigned = Object.fromEntries(asked.map((runtime) => [runtime, []]));
  const rows = tiers.flatMap((tier) => {
    const own = byTier.get(tier) ?? [];
    if (own.length === 0) return [];
    const counts = asked.map((runtime) => {
      const whole = tier.wholeOn?.[runtime]?.(own) ?? own;
      const all = isWhole || tier.runtimes.includes(runtime);
      const chosen = all ? whole : (tier.sampledOn?.[runtime]?.(own, seed) ?? []);
      assigned[runtime].push(...chosen);
      return `${runtime} ${chosen.length}`;
    });
    return [`${tier.name.padEnd(8)} ${String(own.length).padStart(3)} files: ${counts.join(", ")}`];
  });
  return { assigned, rows };
}

const durationsFile = join(root, "tests/durations.json");

/** Seconds each file took on each runtime when `--save-durations` last wrote them; files of no moment are left out. */
export function readDurations() {
  return existsSync(durationsFile) ? JSON.parse(readFileSync(durationsFile, "utf8")) : {};
}

export { durationsFile };

/** Files with a set-up of their own that share a process on Node: all of what they set up stands until the last test. */
const sharedFiles = 12;

/**
 * How a file can share a process on Node. What it does once, before or after its tests, may be done while those of others
 * run; what it does for each test would be done for theirs. WebSockets that outlive their tests would be waited for.
 */
function kindOnNode(file) {
  const text = readFileSync(join(root, file), "utf8");
  if (
    file.startsWith("tests/runtimes/") ||
    /^(?:beforeEach|afterEach)\(|support\/(?:process|websocket-upstream)/m.test(text)
  )
    return "alone";
  return /^(?:before|after)\(/m.test(text) ? "setUp" : "plain";
}

/** Groups whose sums of seconds are near each other and not far above `wanted`. */
function cut(files, secondsOf, wanted) {
  const total = files.reduce((sum, file) => sum + secondsOf(file), 0);
  const groups = Array.from({ length: Math.max(1, Math.round(total / wanted)) }, () => ({ files: [], seconds: 0 }));
  for (const file of files.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const least = groups.reduce((best, group) => (group.seconds < best.seconds ? group : best));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return groups.filter((group) => group.files.length > 0);
}

/** Seconds of a slice, about: short enough that the last ones end together. */
const sliceSeconds = 60;

/**
 * The processes of a runtime: each `{ runtime, files, seconds, isAlone }`, `isAlone` for Node's runs with a process a file.
 */
export function sliceFiles(runtime, files, durations) {
  const secondsOf = (file) => durations[runtime]?.[file] ?? 0.2;
  const slice = (group, isAlone = false) => ({ ...group, files: group.files.toSorted(), runtime, isAlone });
  if (runtime !== "node") return cut(files, secondsOf, sliceSeconds).map((group) => slice(group));
  const kinds = groupBy(files, kindOnNode);
  const of = (kind) => kinds.get(kind) ?? [];
  const setUp = of("setUp");
  const shared = Array.from({ length: Math.ceil(setUp.length / sharedFiles) }, (_, index) =>
    setUp.slice(index * sharedFiles, (index + 1) * sharedFiles),
  );
  const sum = (group) => ({ files: group, seconds: group.reduce((total, file) => total + secondsOf(file), 0) });
  return [
    ...(of("plain").length > 0 ? cut(of("plain"), secondsOf, sliceSeconds) : []).map((group) => slice(group)),
    ...shared.map((group) => slice(sum(group))),
    ...(of("alone").length > 0 ? cut(of("alone"), secondsOf, sliceSeconds) : []).map((group) => slice(group, true)),
  ];
}
