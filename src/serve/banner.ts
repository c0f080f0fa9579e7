import { writeFileSync } from "node:fs";
import type { FirstKeys } from "../auth/first-start.ts";
import { describeDatabase } from "../db/open-failure.ts";
import type { HostSettings } from "./environment.ts";
import { hasCode, makeFolder } from "./keys-file.ts";
import type { ProcessLog } from "./process-log.ts";

/** Keys of the first start, by their labels. */
function listKeys(keys: FirstKeys): string[] {
  return [
    ...(keys.adminKey === null ? [] : [`admin key: ${keys.adminKey}`]),
    ...(keys.workspaceKey === null ? [] : [`workspace key: ${keys.workspaceKey}`]),
  ];
}

/** Writes a file that only its owner can read, under the first name that is free: the path, then with `-2` and so on. */
function writeNew(path: string, text: string): string {
  makeFolder(path);
  for (let number = 1; ; number++) {
    const free = number === 1 ? path : `${path}-${number}`;
    try {
      writeFileSync(free, text, { mode: 0o600, flag: "wx" });
      return free;
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
  }
}

/** Where the keys of the first start were written. */
interface ShownKeys {
  /** What is printed about them. */
  lines: string[];
  /** The workspace key, as a shell reads it. */
  workspaceKey: string;
}

/** Writes the first keys to a file; those of a database in memory, which end with the process, are printed. */
function showFirstKeys(keys: FirstKeys, file: string | undefined): ShownKeys {
  const lines = listKeys(keys);
  if (lines.length === 0) return { lines, workspaceKey: "$BOOTSTRAP_WORKSPACE_KEY" };
  if (file === undefined) return { lines, workspaceKey: keys.workspaceKey ?? "$BOOTSTRAP_WORKSPACE_KEY" };
  const written = writeNew(file, `${lines.join("\n")}\n`);
  const others = written === file ? "" : `; ${file} has the keys of another database`;
  return {
    lines: [`First keys are in ${written}${others}`],
    workspaceKey:
      keys.workspaceKey === null
        ? "$BOOTSTRAP_WORKSPACE_KEY"
        : `$(sed -n 's/^workspace key: //p' ${/^[\w./-]+$/.test(written) ? written : `'${written}'`})`,
  };
}

/** Shows where the keys of a first start are that cannot serve. */
export function printFirstKeys(keys: FirstKeys, file: string | undefined, log: ProcessLog): void {
  for (const line of showFirstKeys(keys, file).lines) log.info(line);
}

/** A new installation where there were master keys may mean that its database was lost. */
function describeNew({ database, formerMasterKeys }: HostSettings): string[] {
  if (formerMasterKeys === undefined || database === ":memory:") return [];
  const path = describeDatabase(database);
  return [
    `This is a new installation: the database ${path} was empty, although there are master keys (${formerMasterKeys}). If it should have data, stop and put it back.`,
  ];
}

/** What a start says. */
interface Start {
  /** Undefined if it was not the first one. */
  firstKeys: FirstKeys | undefined;
  settings: HostSettings;
  log: ProcessLog;
}

/** Prints the addresses of the gateway and of its console and, at the first start, an example. */
export function printBanner(address: string, { firstKeys, settings, log }: Start): void {
  // first: who reads that it serves may read the keys at once
  const shown = firstKeys && showFirstKeys(firstKeys, settings.firstKeysFile);
  log.info(`AI gateway serving on ${address}`);
  if (settings.hasConsole && settings.gateway.serverMode !== "mcp") log.info(`Console: ${address}/console`);
  if (!shown) return;
  if (settings.processLog.format === "json") {
    for (const line of [...describeNew(settings), ...shown.lines]) log.info(line);
    return;
  }
  for (const line of describeNew(settings)) console.log(`\n${line}`);
  if (shown.lines.length > 0) console.log(`\n${shown.lines.join("\n")}`);
  const body = '{"model":"echo-1","messages":[{"role":"user","content":"Hello"}]}';
  console.log(`\nTry it:\n
curl ${address}/v1/chat/completions \\
  -H "x-gateway-api-key: ${shown.workspaceKey}" \\
  -H "x-gateway-provider: echo" \\
  -H "content-type: application/json" \\
  -d '${body}'\n`);
}
