import assert from "node:assert/strict";
import { test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { planWindow, WindowChecks } from "../../src/guardrails/window.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createRandom } from "../support/gateway.ts";
import { checks, runCheck } from "../support/guardrails.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const values = [
  "jo@example.com",
  "4111 1111 1111 1111",
  "DE89 3704 0044 0532 0130 00",
  "078-05-1120",
  "+49 30 1234567",
  "2001:db8::8a2e:370:7334",
  `ghp_${"a1".repeat(18)}`,
  `AKIA${"ABCDEFGH12345678"}`,
  `-----BEGIN PRIVATE KEY-----\n${"MIIEvQ".repeat(60)}\n-----END PRIVATE KEY-----`,
  "postgres://app:horse",
];
const fillers = ["word", "4111", "a@b", "naïve", "日本", "12:30", "+1", "sk-", "\\n", '"x"', "0", "."];

/** Text with some of the values, with what resembles them around. */
function createText(random: () => number): string {
  const pick = <Item>(list: readonly Item[]): Item => list[Math.floor(random() * list.length)] as Item;
  const parts = Array.from({ length: 12 }, () => (random() < 0.25 ? pick(values) : pick(fillers)));
  return parts.map((part) => part + pick([" ", ", ", "\n", "; "])).join("");
}

/** What a stream shows of a text that comes in pieces. */
async function stream(id: string, text: string, random: () => number): Promise<string> {
  const { after } = readHooks({ output_guardrails: [{ [id]: { redact: true } }] }, checks);
  const plan = planWindow(after.flatMap((hook) => ("checks" in hook ? [hook] : []))) ?? assert.fail();
  const window = new WindowChecks(plan, systemClock);
  const whole = window.textOf("text");
  const spans = new Map<number, { end: number; replacement: string }>();
  const note = () => {
    for (const { start, end, replacement } of whole.spans) spans.set(start, { end, replacement });
  };
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 30);
    window.grow(whole, text.slice(at, at + length));
    at += length;
    if (window.isDue(whole)) await window.look(whole, false);
    note();
    whole.trim(whole.settled);
  }
  await window.look(whole, true);
  note();
  let shown = "";
  let end = 0;
  for (const [start, span] of [...spans].toSorted(([one], [other]) => one - other)) {
    assert.ok(start >= end, "replacements do not overlap");
    shown += text.slice(end, start) + span.replacement;
    end = span.end;
  }
  return shown + text.slice(end);
}

for (const id of ["gateway.pii", "default.secrets"]) {
  test(`${id} replaces in a stream what it replaces in the whole text`, async () => {
    const count = rounds(150);
    for (let round = 0; round < count; round++) {
      const random = createRandom(sampleSeed * 1_000 + round);
      const text = createText(random);
      const { outcome } = await runCheck(id, { redact: true }, { text });
      const [message] = outcome.body.messages as { content: string }[]; // the chat that was sent
      assert.equal(await stream(id, text, random), message?.content, text);
    }
  });
}
