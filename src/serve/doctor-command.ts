import { readFileSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { isLocalDatabase, openDatabase } from "../db/client.ts";
import { countPending } from "../db/migrate.ts";
import { describeDatabase, toOpenError } from "../db/open-failure.ts";
import { adviseServer } from "../db/server-checkpoints.ts";
import { createAddressGuard } from "../lib/address.ts";
import { createOutbound } from "../lib/outbound.ts";
import { readSettings, type Settings } from "../settings.ts";
import { type Command, type Outcome, toKeyList } from "./command.ts";
import { databasePath, loadSettings } from "./environment.ts";
import { exists } from "./keys-file.ts";
import { checkOpenFiles } from "./open-files.ts";
import { connectRedis } from "./redis.ts";
import { createLateTransport, runtime } from "./runtime-transport.ts";
import { withSecretFiles } from "./secret-files.ts";
import { readTls } from "./tls.ts";

/** What a check found. */
interface Finding {
  check: string;
  state: "ok" | "warning" | "failed";
  /** What was found; with a warning or a failure, also what to do. */
  message: string;
}

const withinMs = 5_000;
/** Difference of clocks from which on windows of limits and tokens go wrong. */
const clockMs = 2_000;
/** Free bytes of a disk below which a warning is given. */
const leastFreeBytes = 1024 ** 3;
/** Asked by default: they answer without a key, with a refusal. */
const defaultUrls = ["https://api.openai.com/v1/models", "https://api.anthropic.com/v1/models"];

const ok = (check: string, message: string): Finding => ({ check, state: "ok", message });
const warning = (check: string, message: string): Finding => ({ check, state: "warning", message });
const failed = (check: string, message: string): Finding => ({ check, state: "failed", message });
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${withinMs / 1_000} seconds`)), withinMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function compareClock(check: string, time: number): Finding {
  const difference = Math.round(Math.abs(Date.now() - time));
  if (difference <= clockMs) return ok(check, `differs by ${difference} ms`);
  return warning(
    check,
    `differs by ${Math.round(difference / 1_000)} s: synchronise the clocks of both machines (NTP)`,
  );
}

function checkKeys(settings: Settings): Finding[] {
  const path = databasePath(settings.database);
  if (path !== undefined && !exists(path)) {
    return [ok("master keys", "the first start makes them"), ok("database", `${path} is made by the first start`)];
  }
  try {
    const { gateway, formerMasterKeys } = loadSettings();
    const versions = toKeyList(gateway.masterKeys).map((key) => key.version);
    return [ok("master keys", `${versions.join(", ")} of ${formerMasterKeys ?? "this process"}`)];
  } catch (error) {
    return [failed("master keys", messageOf(error))];
  }
}

async function checkDatabase({ database: url, gateway }: Settings): Promise<Finding[]> {
  const path = databasePath(url);
  if (url === ":memory:" || (path !== undefined && !exists(path))) return [];
  const { databaseAuthToken: authToken } = gateway;
  try {
    const database = await inTime(openDatabase({ url, ...(authToken !== undefined && { authToken }) }));
    try {
      const began = performance.now();
      const { rows } = await inTime(database.read("SELECT unixepoch('subsec') * 1000 AS now"));
      const found = [
        ok("database", `${describeDatabase(url)} responds in ${Math.round(performance.now() - began)} ms`),
      ];
      if (!isLocalDatabase(url)) found.push(compareClock("clock of the database", Number(rows[0]?.now)));
      const advice = await adviseServer(database);
      if (advice !== undefined) found.push(warning("libSQL server", advice));
      const pending = await inTime(countPending(database));
      found.push(ok("schema", pending === 0 ? "up to date" : `the next start applies ${pending} migrations`));
      return found;
    } finally {
      await database.close();
    }
  } catch (error) {
    return [failed("database", toOpenError(error, url).message)];
  }
}

function checkDisk({ database }: Settings): Finding[] {
  const path = databasePath(database);
  const folder = path === undefined ? undefined : dirname(path);
  if (folder === undefined || !exists(folder)) return [];
  const { bavail, bsize } = statfsSync(folder);
  const free = `${Math.round((bavail * bsize) / 2 ** 20)} MiB are free in ${folder}`;
  return [
    bavail * bsize < leastFreeBytes
      ? warning("disk", `${free}: make room, or lower LOG_RETENTION_DAYS`)
      : ok("disk", free),
  ];
}

const askRedis = "return {redis.call('TIME'), redis.call('INFO', 'memory')}";

async function checkRedis({ gateway: { redis } }: Settings): Promise<Finding[]> {
  if (!redis) return [];
  const client = await connectRedis(redis.url);
  try {
    const began = performance.now();
    const [time, info] = (await inTime(client.run(askRedis, [], []))) as [[string, string], string]; // as the script returns it
    const tookMs = Math.round(performance.now() - began);
    const late = `responds in ${tookMs} ms, and REDIS_TIMEOUT_MS is ${redis.timeoutMs ?? 100}: raise it`;
    const found = [
      tookMs > (redis.timeoutMs ?? 100) ? warning("Redis", late) : ok("Redis", `responds in ${tookMs} ms`),
    ];
    found.push(compareClock("clock of Redis", Number(time[0]) * 1_000 + Number(time[1]) / 1_000));
    const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1];
    if (policy !== undefined && policy !== "noeviction") {
      found.push(
        warning(
          "memory of Redis",
          `its policy ${policy} may remove counters of limits: set maxmemory-policy noeviction`,
        ),
      );
    }
    return found;
  } catch (error) {
    return [failed("Redis", `${messageOf(error)}: check REDIS_URL, its password, and the network`)];
  } finally {
    client.close();
  }
}

async function checkOutbound(urls: readonly string[], { gateway }: Settings): Promise<Finding[]> {
  const guard = createAddressGuard({ trustedHosts: gateway.trustedHosts ?? [] });
  const outbound = createOutbound({ transport: createLateTransport(), guard });
  const found = urls.map(async (url): Promise<Finding[]> => {
    const check = `call to ${URL.parse(url)?.host ?? url}`;
    try {
      const init = { method: "GET", headers: {}, origin: "influenced", signal: AbortSignal.timeout(withinMs) } as const;
      const response = await outbound(url, init);
      await response.body?.cancel();
      const date = Date.parse(response.headers.get("date") ?? "");
      const clock = Number.isNaN(date) ? [] : [compareClock(`clock of ${URL.parse(url)?.host}`, date + 500)];
      return [ok(check, `responds with ${response.status}`), ...clock.filter(({ state }) => state !== "ok")];
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
      return [failed(check, `${messageOf(error)}${cause}: check DNS, firewall and OUTBOUND_PROXY`)];
    }
  });
  return (await Promise.all(found)).flat();
}

function checkProxies(): Finding[] {
  const names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"].filter((name) => (process.env[name] ?? "") !== "");
  const own = ["OUTBOUND_PROXY", "OUTBOUND_PROXY_FILE"].some((name) => (process.env[name] ?? "") !== "");
  if (own) return [ok("proxy", "OUTBOUND_PROXY is used")];
  return names.map((name) =>
    warning("proxy", `${name} is not read: set OUTBOUND_PROXY if providers are behind a proxy`),
  );
}

function checkFiles({ tls, gateway }: Settings): Finding[] {
  const found: Finding[] = [];
  checkOpenFiles(gateway, (message) => found.push(warning("open files", message)));
  const roots = runtime === "deno" ? "DENO_CERT" : "NODE_EXTRA_CA_CERTS";
  const read = (check: string, use: () => void) => {
    try {
      use();
      found.push(ok(check, "can be used"));
    } catch (error) {
      found.push(failed(check, messageOf(error)));
    }
  };
  const path = process.env[roots];
  if (path) read(roots, () => readFileSync(path));
  if (tls) read("TLS", () => readTls(tls, { warn: (message) => found.push(warning("TLS", message)) }));
  return found;
}

async function examine(urls: readonly string[]): Promise<Finding[]> {
  let settings: Settings;
  try {
    settings = readSettings(withSecretFiles(process.env));
  } catch (error) {
    return [failed("settings", messageOf(error))];
  }
  const waiting = await Promise.all([checkDatabase(settings), checkRedis(settings), checkOutbound(urls, settings)]);
  return [
    ok("settings", "can be used"),
    ...checkKeys(settings),
    ...waiting.flat(),
    ...checkDisk(settings),
    ...checkFiles(settings),
    ...checkProxies(),
  ];
}

async function runDoctor(urls: readonly string[], isJson: boolean): Promise<Outcome> {
  const found = await examine(urls.length > 0 ? urls : defaultUrls);
  const failures = found.filter(({ state }) => state === "failed").length;
  const lines = isJson
    ? [JSON.stringify(found, undefined, 2)]
    : found.map(({ check, state, message }) => `${state.padEnd(8)} ${check}: ${message}`);
  return { lines, problems: failures === 0 ? [] : [`${failures} of ${found.length} checks failed`] };
}

/** Examines what a gateway needs, and changes nothing. */
export const doctorCommand: Command = {
  name: "doctor",
  parameters: "[--url URL] [--json]",
  about: [
    "Examines settings, master keys, database, schema, Redis, clocks, disk, files, proxies and calls to providers, and shows",
    "what to do. --url is what is called instead of two providers, and may be repeated.",
  ],
  options: [],
  flags: ["json"],
  lists: ["url"],
  positionals: 0,
  run: (_, __, flags, { lists }) => runDoctor(lists.url ?? [], flags.has("json")),
};
