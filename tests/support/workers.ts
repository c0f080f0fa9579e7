import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import type { GatewayProcess } from "./process.ts";

/** A file of the system about a process; empty if it has ended. */
function readProcessFile(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** Processes of one kind that a gateway with `WORKERS` has started. Linux alone has the files. */
export function childrenOf(pid: number, kind: "owner" | "worker"): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .filter((child) => {
      const [, state, parent] = /\) (\S) (\d+) /.exec(readProcessFile(child, "stat")) ?? [];
      if (Number(parent) !== pid || state === "Z") return false;
      return readProcessFile(child, "environ").includes(`GATEWAY_ROLE={"kind":"${kind}"`);
    })
    .map(Number);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readProcessFile(String(pid), "stat"));
  } catch {
    return false;
  }
}

/** How many rows of the log each trace id has. */
export async function listTraces({ url }: GatewayProcess, key: string): Promise<Map<string, number>> {
  const traces = new Map<string, number>();
  for (let place = ""; ; ) {
    const response = await fetch(`${url}/v1/logs?limit=100${place}`, { headers: { "x-gateway-api-key": key } });
    assert.equal(response.status, 200);
    const page = (await response.json()) as { data: { trace_id: string }[]; has_more: boolean; next_cursor: string };
    for (const { trace_id } of page.data) traces.set(trace_id, (traces.get(trace_id) ?? 0) + 1);
    if (!page.has_more) return traces;
    place = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}
