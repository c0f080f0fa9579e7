// The members that the emulators of Gemini and Vertex AI know are those of the types of Google's SDK.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { geminiMembers, type MessageName, sharedMembers, vertexMembers } from "./gemini-members.ts";

const file = new URL("../../node_modules/@google/genai/dist/genai.d.ts", import.meta.url);
const types = readFileSync(file, "utf8").replaceAll("\r\n", "\n");

/** Members of a type of the SDK, by its name. */
function membersOf(name: string): string[] {
  const begin = ["interface", "class"]
    .map((kind) => types.indexOf(`export declare ${kind} ${name} {\n`))
    .find((at) => at >= 0);
  assert.ok(begin !== undefined, `the SDK has no ${name}`);
  const body = types.slice(begin, types.indexOf("\n}", begin));
  return [...body.matchAll(/^ {4}(\w+)\??: /gm)].map(([, member = ""]) => member);
}

for (const name of Object.keys(sharedMembers) as MessageName[]) {
  test(`the emulators know the members of ${name} that Google's SDK knows`, () => {
    const known = [...sharedMembers[name], ...(geminiMembers[name] ?? []), ...(vertexMembers[name] ?? [])];
    assert.deepEqual([...new Set(known)].sort(), membersOf(name).sort());
  });
}
