import assert from "node:assert/strict";
import { test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { noSavedGuardrails, resolveHooks } from "../../src/guardrails/resolve.ts";
import { RequestStrings } from "../../src/guardrails/strings/member-kinds.ts";
import type { RequestType } from "../../src/guardrails/types.ts";
import { planWindow, WindowChecks, type WindowPlan } from "../../src/guardrails/window.ts";
import { StreamWindow } from "../../src/inference/stream/stream-window.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { parseJson } from "../../src/lib/json.ts";
import { EventBlocks, readEvents } from "../../src/lib/sse.ts";
import { createRandom } from "../support/gateway.ts";
import { checks } from "../support/guardrails.ts";
import {
  joinTexts,
  plantedResponse,
  plantedValues,
  redactions,
  type StreamDialect,
  streamDialects,
  toEvents,
} from "../support/planted-streams.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const requestTypes: Readonly<Record<StreamDialect, RequestType>> = {
  chat: "chatComplete",
  messages: "messages",
  responses: "createModelResponse",
  gemini: "generateContent",
};

function planOf(...hooks: object[]): WindowPlan {
  const read = readHooks({ output_guardrails: hooks }, checks);
  assert.deepEqual(read.problems, []);
  return planWindow(resolveHooks(read, noSavedGuardrails, checks).after) ?? assert.fail();
}

const denial = planOf({ "default.contains": { words: plantedValues, operator: "none" }, deny: true });
const redaction = planOf(...redactions.map((rule) => ({ "default.regexReplace": { rule, redactText: "[cut]" } })));
/** What guardrails find by the form of values: the address, the number of a card and the key. */
const detection = planOf({ "gateway.pii": { redact: true } }, { "default.secrets": { redact: true } });

/** What a client receives of a stream whose bytes come in pieces that end anywhere. */
async function receive(plan: WindowPlan, dialect: StreamDialect, sent: string, random: () => number) {
  const found = new WindowChecks(plan, systemClock);
  const window = new StreamWindow(found, { requestType: requestTypes[dialect], request: new RequestStrings({}) });
  const blocks = new EventBlocks();
  const decoder = new TextDecoder();
  let text = "";
  const take = (bytes: Uint8Array | undefined) => {
    if (bytes && !found.isDenied) text += decoder.decode(bytes);
  };
  const bytes = new TextEncoder().encode(sent);
  for (let index = 0; index < bytes.length && !found.isDenied; ) {
    const length = 1 + Math.floor(random() * 1_500);
    const block = blocks.push(bytes.subarray(index, index + length));
    if (block) take(await window.push(block));
    index += length;
  }
  if (!found.isDenied) take(await window.finish());
  return { text, isDenied: found.isDenied };
}

const read = (dialect: StreamDialect, text: string) =>
  joinTexts(
    dialect,
    readEvents(text).map(({ event, data }) => ({ event, data: parseJson(data) ?? data })),
  );

const toCharacter = (_: string, code: string): string => String.fromCharCode(Number.parseInt(code, 16));

for (const dialect of streamDialects) {
  test(`40 ${dialect} responses, each split 500 times, show nothing of planted values`, async () => {
    const splits = rounds(500);
    for (let number = 0; number < 40; number++) {
      const parts = plantedResponse(number, dialect);
      for (let split = 0; split < splits; split++) {
        const random = createRandom((sampleSeed * 40 + number) * 1_000 + split);
        const sent = toEvents(dialect, parts, random).join("");
        const plan = [denial, redaction, detection][split % 3] ?? denial;
        const { text, isDenied } = await receive(plan, dialect, sent, random);
        const holds = number % 5 !== 4;
        if (!holds && plan !== detection) assert.equal(text, sent, "text without matches is unchanged");
        assert.equal(isDenied, plan === denial && holds, `${dialect} ${number} ${split}`);
        const values = plan === detection ? plantedValues.slice(0, 2) : plantedValues;
        // a value may come in pieces, and arguments hold it as JSON
        const shown = [...read(dialect, text).values()].map(
          (one) => one + one.replace(/\\u([0-9a-f]{4})/g, toCharacter),
        );
        for (const value of values) {
          assert.ok(!text.includes(value) && !shown.some((one) => one.includes(value)), `${value}: ${text}`);
        }
      }
    }
  });
}
