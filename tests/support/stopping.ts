import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createFolder, type GatewayProcess } from "./process.ts";

/** What became of one request. */
export interface Outcome {
  traceId: string;
  /** From the response; empty without one. */
  id: string;
  /** Whether the response came whole. */
  isWhole: boolean;
  /** Why it did not. */
  problem: string;
}

/** A chat with the provider `echo`. */
export async function ask(
  { url }: Pick<GatewayProcess, "url">,
  key: string,
  { streamMs, delayMs = streamMs }: { streamMs?: number; delayMs?: number } = {},
): Promise<Outcome> {
  const traceId = crypto.randomUUID();
  const outcome: Outcome = { traceId, id: "", isWhole: false, problem: "" };
  const isStream = streamMs !== undefined;
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": key,
        "x-gateway-provider": "echo",
        "x-gateway-trace-id": traceId,
        ...(delayMs !== undefined && { "x-gateway-echo-delay-ms": String(delayMs) }),
        ...(isStream && { "x-gateway-echo-chunks": "10" }),
      },
      body: JSON.stringify({
        model: "echo-1",
        messages: [{ role: "user", content: "a b c d e f" }],
        ...(isStream && { stream: true }),
      }),
    });
    outcome.id = response.headers.get("x-gateway-request-id") ?? "";
    const text = await response.text();
    outcome.isWhole = response.status === 200 && (isStream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}"));
    if (!outcome.isWhole) outcome.problem = `${response.status} ${text.slice(-200)}`;
  } catch (error) {
    outcome.problem = String(error);
  }
  return outcome;
}

/** Asks in loops until a request fails, which is how a gateway that stops answers in the end. */
export async function askInLoops(gateway: GatewayProcess, key: string, loops: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const loop = async () => {
    for (let isOpen = true; isOpen; ) {
      const outcome = await ask(gateway, key);
      outcomes.push(outcome);
      isOpen = outcome.isWhole;
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return outcomes;
}

/** Trace ids in the log, of all pages. */
export async function readTraces({ url }: GatewayProcess, key: string): Promise<Set<string>> {
  const traces = new Set<string>();
  for (let place = ""; ; ) {
    const response = await fetch(`${url}/v1/logs?limit=100${place}`, { headers: { "x-gateway-api-key": key } });
    assert.equal(response.status, 200);
    const page = (await response.json()) as { data: { trace_id: string }[]; has_more: boolean; next_cursor: string };
    for (const { trace_id } of page.data) traces.add(trace_id);
    if (!page.has_more) return traces;
    place = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/** Names of the files of a stopped gateway's database. */
export function listDatabaseFiles(folder: string): string[] {
  return readdirSync(join(folder, "data"))
    .filter((name) => /^gateway\.db(?!-(?:spill|lock|owner-lock)$)/.test(name))
    .sort();
}

/** A new folder with a copy of the database file and the master keys, and nothing else. */
export function copyStopped(folder: string): string {
  const copy = createFolder();
  mkdirSync(join(copy, "data"), { mode: 0o700 });
  for (const name of ["gateway.db", "master.keys"]) copyFileSync(join(folder, "data", name), join(copy, "data", name));
  return copy;
}
