import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { runtime, runtimeCommand } from "../support/process.ts";

/** Most files and functions of the source that one request of each kind may run: a few above what it runs today. */
const bounds: Readonly<Record<string, readonly [files: number, functions: number]>> = {
  chat: [82, 304],
  converted: [89, 373],
  streamed: [94, 401],
  guarded: [154, 755],
  tool: [82, 284],
  config: [77, 326],
  logs: [58, 206],
};

/** What scripts/walks.ts counts, by walk. */
async function countWalks(): Promise<Map<string, [files: number, functions: number]>> {
  const [program = "", ...args] = runtimeCommand("scripts/walks.ts");
  const { stdout } = await promisify(execFile)(program, args);
  const lines = stdout.matchAll(/^(\w+): (\d+) files, (\d+) functions/gm);
  return new Map(Array.from(lines, ([, name = "", files, functions]) => [name, [Number(files), Number(functions)]]));
}

// only Node has the coverage that it counts with
test("a request runs no more files and functions than its bounds allow", { skip: runtime !== "node" }, async () => {
  const counted = await countWalks();
  assert.deepEqual([...counted.keys()], Object.keys(bounds));
  for (const [name, [files, functions]] of counted) {
    const [mostFiles = 0, mostFunctions = 0] = bounds[name] ?? [];
    const what = `${name} runs ${files} files and ${functions} functions, at most ${mostFiles} and ${mostFunctions}`;
    assert.ok(files <= mostFiles && functions <= mostFunctions, what);
  }
});
