import assert from "node:assert/strict";
import { test } from "node:test";
import { readStrings, writeStrings } from "../../src/guardrails/strings/bodies.ts";
import { RequestStrings } from "../../src/guardrails/strings/member-kinds.ts";
import { readRequest } from "../../src/guardrails/strings/request-walk.ts";
import { ResponseWalk } from "../../src/guardrails/strings/response-walk.ts";
import { type Body, requestTypeNames } from "../../src/guardrails/types.ts";
import { createRandom } from "../support/gateway.ts";

/** Names that walks look for, of all dialects and endpoints, and some that nobody knows. */
const names =
  `messages content role text refusal input_text output_text thinking stdout title context source annotations input arguments
  function custom tool_calls function_call reasoning reasoning_content reasoning_details summary audio transcript content_blocks
  system output error reason action queries results prompt variables instructions contents parts functionCall args
  function_response response executableCode code systemInstruction choices message candidates suffix requests data revised_prompt
  segments pages document_annotation session event_id inputResponses structuredContent notification inputRequests params
  description documents state metadata properties file_id url signature object name tools file_data unknown`.split(
    /\s+/,
  );
const types =
  `text document search_result tool_use server_tool_use web_search_result thinking function_call custom_tool_call shell_call
  message image audio content`.split(/\s+/);

/** Random JSON in which every string but kinds is another one. */
function createBodies(seed: number) {
  const random = createRandom(seed);
  const below = (most: number) => Math.floor(random() * most);
  let count = 0;
  const value = (depth: number): unknown => {
    const kind = random();
    if (depth > 6 || kind < 0.4) return kind < 0.35 ? `mark <${count++}>` : null;
    if (kind < 0.65) return Array.from({ length: below(4) }, () => value(depth + 1));
    return object(depth, below(4));
  };
  const object = (depth: number, members: number): Record<string, unknown> => {
    const made: Record<string, unknown> = random() < 0.6 ? { type: types[below(types.length)] } : {};
    for (let member = 0; member < members; member++) made[names[below(names.length)] ?? ""] = value(depth + 1);
    return made;
  };
  return () => object(0, 8);
}

const marksIn = (value: unknown): string[] => (JSON.stringify(value).match(/mark <\d+>/g) ?? []).sort();

/** Runs a test for many bodies. */
function forBodies(run: (body: Body, what: string) => void): void {
  const next = createBodies(1);
  for (let round = 0; round < 150; round++) run(next(), `body ${round}`);
}

test("a walk visits no string twice, changes exactly those it visits, and returns the same body where none changes", () => {
  forBodies((body, what) => {
    for (const requestType of requestTypeNames) {
      for (const phase of ["beforeRequestHook", "afterRequestHook"] as const) {
        const place = { phase, requestType };
        const found = readStrings(place, body, "all");
        const marks = found.filter((text) => text.startsWith("mark"));
        assert.deepEqual([...new Set(marks)], marks, `${what} as ${requestType}`);
        assert.equal(writeStrings(place, body, { scope: "all", strings: found.map(() => null) }), body);
        const written = writeStrings(place, body, { scope: "all", strings: found.map(() => "changed") });
        // requests of unknown structure, and what repeats a transcript, cannot change
        if (written === body || requestType.startsWith("createTrans")) continue;
        const rest = marksIn(body).filter((mark) => !marks.includes(mark));
        assert.deepEqual(marksIn(written), rest, `${what} as ${requestType}`);
      }
      for (const scope of ["last", "user"] as const) {
        const place = { phase: "beforeRequestHook", requestType } as const;
        const all = readStrings(place, body, "all");
        assert.ok(readStrings(place, body, scope).every((text) => all.includes(text)));
      }
    }
  });
});

test("every string of a request is read once, whichever member holds it", () => {
  forBodies((body, what) => {
    const { strings } = readRequest(body);
    assert.deepEqual(strings.filter((text) => text.startsWith("mark")).sort(), marksIn(body), what);
  });
});

test("every string of a response is read once and can change, whichever member holds it", () => {
  const request = new RequestStrings({});
  forBodies((body, what) => {
    const seen: string[] = [];
    const read = (text: string) => {
      seen.push(text);
      return text;
    };
    assert.equal(new ResponseWalk(read, request).walk(body), body);
    assert.deepEqual(seen.filter((text) => text.startsWith("mark")).sort(), marksIn(body), what);
    const written = new ResponseWalk((text) => text.replace(/^mark.*/, "changed"), request).walk(body);
    assert.deepEqual(marksIn(written), [], what);
  });
});
