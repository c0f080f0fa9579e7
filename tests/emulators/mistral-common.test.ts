import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pythonOf } from "../../scripts/python.mjs";
import { createRandom } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import type { Members } from "./emulator.ts";
import { findMistralFault, versionOf } from "./mistral.ts";

// Installed by the runner where the machine has Python; without it the comparison leaves itself out.
const python = pythonOf(import.meta.dirname);
const skip = existsSync(python) ? false : "mistral-common is not installed: the machine has no Python 3.10 with venv";

/** A model of each version of Mistral's tokenizers. */
const models = [
  "open-mixtral-8x22b",
  "mistral-large-2411",
  "magistral-small-2506",
  "mistral-medium-2508",
  "mistral-small-2603",
];

const text: Members = { type: "text", text: "Read it" };
const thinking: Members = { type: "thinking", thinking: [{ type: "text", text: "Hm" }] };
const image: Members = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const ids = ["abcDEF123", "abcDEF124", "toolu_01", "", "null"];
const names = ["read", "read_file-2", "read.file", "r".repeat(65)];

/** A message of a role, right or not. */
function drawMessage(pick: <Item>(items: readonly Item[]) => Item): Members {
  const role = pick(["system", "user", "user", "assistant", "assistant", "tool", "tool"]);
  const call = () => ({
    id: pick([ids[0], ids[0], ids[1], ...ids]),
    type: "function",
    function: { name: pick(["read", "read", ...names]), arguments: "{}" },
  });
  if (role === "tool") {
    const name = pick([undefined, "read"]);
    const content = pick<unknown>(["done", [text], [text], [image]]);
    return { role, content, tool_call_id: pick([ids[0], ids[0], ids[1], ...ids]), ...(name && { name }) };
  }
  if (role !== "assistant") return { role, content: pick<unknown>(["Go", "Go", [text], [text, image], [thinking]]) };
  const calls = pick([[], [], [call()], [call(), call()]]);
  const content = pick<unknown>(["Done", "", [thinking, text], [text], undefined]);
  return {
    role,
    ...(content !== undefined && { content }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(pick([false, false, false, true]) && { prefix: true }),
  };
}

function drawRequest(seed: number): Members {
  const random = createRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const effort = pick([undefined, undefined, undefined, "none", "high"]);
  const declared = { name: pick(["read", "read", "read", ...names]), parameters: { type: "object", properties: {} } };
  const length = 1 + Math.floor(random() * 5);
  return {
    model: models[seed % models.length],
    messages: [
      ...(pick([true, true, false]) ? [{ role: "user", content: "Hello" }] : []),
      ...Array.from({ length }, () => drawMessage(pick)),
      ...(pick([true, false]) ? [{ role: "user", content: "And?" }] : []),
    ],
    ...(pick([true, false]) && { tools: [{ type: "function", function: declared }] }),
    ...(effort && { reasoning_effort: effort }),
  };
}

/** What the validator says to each request; null where it takes it. */
function validate(requests: readonly Members[]): Promise<(string | null)[]> {
  const child = spawn(python, [join(import.meta.dirname, "validate.py")], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    output += piece;
  });
  child.stdin.end(JSON.stringify(requests.map((request) => ({ version: versionOf(String(request.model)), request }))));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`ended with ${code}`))));
  });
}

const user: Members = { role: "user", content: "Hello" };

for (const [rule, model, messages] of [
  [
    "role-order",
    "mistral-small-2603",
    [user, { role: "assistant", content: "Hi" }, { role: "system", content: "Go" }, user],
  ],
  ["last-role", "mistral-small-2603", [user, { role: "assistant", content: "Hi" }]],
  ["message-fields", "mistral-small-2603", [{ ...user, name: "ada" }]],
  ["parts", "mistral-large-2411", [user, { role: "assistant", content: [thinking, text] }, user]],
] as const) {
  test(`the emulator of Mistral knows the rule ${rule} without its validator too`, () => {
    assert.ok(findMistralFault({ model, messages })?.startsWith(`${rule}:`));
    assert.equal(findMistralFault({ model, messages: [user] }), undefined);
  });
}

test("the emulator of Mistral refuses what Mistral's validator refuses, and nothing else", { skip }, async () => {
  const requests = Array.from({ length: rounds(10_000) }, (_, index) => drawRequest(sampleSeed * 100_003 + index));
  const verdicts = await validate(requests);
  const taken = verdicts.filter((verdict) => verdict === null).length;
  assert.ok(taken > 20 && taken < requests.length, `${taken} of ${requests.length} requests are right`);
  const wrong = requests.flatMap((request, index) => {
    const [theirs, ours] = [verdicts[index] ?? null, findMistralFault(request) ?? null];
    return (theirs === null) === (ours === null) ? [] : [{ theirs, ours, request: JSON.stringify(request) }];
  });
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${requests.length} differ`);
});
