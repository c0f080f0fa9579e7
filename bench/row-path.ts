// What a log row costs behind its request: packing on the thread that answers, and masking, storing and indexing on the log's
// thread. Rows of a small chat come from a gateway in this process, and are written again and again with new ids. Prints the
// CPU time of each thread for a row, as medians of the rounds, and the bytes that were written to files.
// Usage: node scripts/run.mjs bun bench/row-path.ts [--rows 8192] [--rounds 9] [--at 1,64,256,512] [--only-append]
//   --at LIST        rows of a write
//   --only-append    leaves out the index

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { createGateway } from "../mod.ts";
import { createMasterKeyText } from "../src/auth/master-keys.ts";
import { createIdFactory } from "../src/lib/ids.ts";
import type { LogRecord } from "../src/logs/record.ts";
import type { LogWriter } from "../src/logs/writer.ts";
import { createLogThread } from "../src/serve/log-thread.ts";
import { median } from "./measure.ts";
import { createFolder, keys, runMain, wait } from "./processes.ts";
import { scenarios, staticAnswers } from "./scenarios.ts";

const sampleRows = 256;
const warmUpRounds = 3;

/** A gateway whose rows are collected, and the writer of its log. */
async function collectRows(): Promise<{ sample: readonly LogRecord[]; writer: LogWriter }> {
  const chat = scenarios.find(({ name }) => name === "small-32");
  const answer = staticAnswers.find(({ path }) => path.endsWith("/chat/completions"));
  if (!chat || !answer) throw new Error("Cannot measure: there is no small chat");
  const sample: LogRecord[] = [];
  let writer: LogWriter | undefined;
  const gateway = createGateway({
    bootstrap: { workspaceKey: keys.workspace },
    masterKeys: createMasterKeyText(),
    database: `file:${join(createFolder("rows"), "gateway.db")}`,
    transport: {
      send: async () => new Response(answer.body, { headers: { "content-type": answer.contentType } }),
    },
    createLogWriter(location, redaction, telemetry) {
      writer = createLogThread(location, redaction, telemetry);
      const append = async (records: readonly LogRecord[]) => {
        sample.push(...records);
        return false;
      };
      return { ...writer, append, index: async () => false };
    },
    log: () => {},
  });
  await gateway.start();
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${keys.provider}`,
    "x-gateway-api-key": keys.workspace,
    "x-gateway-provider": "openai",
  };
  for (let sent = 0; sent < sampleRows; sent++) {
    const init = { method: "POST", headers, body: chat.body };
    const response = await gateway.fetch(new Request(`http://gateway.bench/v1${chat.path}`, init));
    if (!response.ok) throw new Error(`Cannot measure: ${response.status} ${await response.text()}`);
    await response.text();
  }
  while (sample.length < sampleRows) await wait(10);
  if (!writer) throw new Error("Cannot measure: the gateway has no writer");
  return { sample, writer };
}

/** Microseconds that the threads of this process have used so far, by their names. */
function usedByThread(): Map<string, number> {
  const used = new Map<string, number>();
  for (const thread of readdirSync("/proc/self/task")) {
    const path = `/proc/self/task/${thread}`;
    const name = Number(thread) === process.pid ? "answering" : readFileSync(`${path}/comm`, "utf8").trim();
    const microseconds = Number(readFileSync(`${path}/schedstat`, "utf8").split(" ")[0]) / 1_000;
    used.set(name, (used.get(name) ?? 0) + microseconds);
  }
  return used;
}

function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

const createId = createIdFactory(Date.now);

/** Rows of the sample with new ids. */
function freshRows(sample: readonly LogRecord[], count: number): LogRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const row = sample[index % sample.length] as LogRecord; // in range
    return { ...row, details: { ...row.details, id: createId() } };
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: "string", default: "8192" },
      rounds: { type: "string", default: "9" },
      at: { type: "string", default: "1,64,256,512" },
      "only-append": { type: "boolean", default: false },
    },
  });
  const { sample, writer } = await collectRows();
  for (const at of values.at.split(",").map(Number)) {
    const writes = Math.max(1, Math.min(512, Math.floor(Number(values.rows) / at)));
    const found = new Map<string, number[]>();
    const note = (name: string, used: number) => found.set(name, [...(found.get(name) ?? []), used / (writes * at)]);
    for (let round = -warmUpRounds; round < Number(values.rounds); round++) {
      const batches = Array.from({ length: writes }, () => freshRows(sample, at));
      const [before, bytes] = [usedByThread(), writtenBytes()];
      for (const batch of batches) await writer.append(batch);
      while (!values["only-append"] && (await writer.index()));
      if (round < 0) continue;
      for (const [name, used] of usedByThread()) note(name, used - (before.get(name) ?? 0));
      note("bytes", writtenBytes() - bytes);
    }
    const shown = [...found].map(
      ([name, each]) => `${name} ${median(each).toFixed(1)} (${Math.min(...each).toFixed(1)})`,
    );
    console.log(`${at} rows a write, us for a row, median (least): ${shown.join(", ")}`);
  }
  await writer.close();
}

await runMain(main);
process.exit();
