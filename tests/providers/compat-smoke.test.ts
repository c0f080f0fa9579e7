import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import { hosts } from "../../src/providers/openai-compatible/vendors/hosts.ts";
import { smallProviders } from "../../src/providers/openai-compatible/vendors/small.ts";
import { vendors } from "../../src/providers/openai-compatible/vendors/vendors.ts";
import { testConformance } from "../conformance/suite.ts";
import { compatProviders, compatVendors, type Vendor } from "../support/compat-vendors.ts";
import { chat, createTestGateway, helloBody, readJson } from "../support/gateway.ts";
import { requireListed } from "../support/listed.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

type Members = Record<string, unknown>;

const head = { id: "fx-1", object: "chat.completion", created: 1_790_000_000, model: "m" };
const chunkHead = { ...head, object: "chat.completion.chunk" };
const text = "At six.";
const thought = "Check hours.";
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

const toldUsage = (vendor: Vendor) => ({ ...usage, ...vendor.usage });
const plainUsage = (vendor: Vendor) => ({ ...usage, ...vendor.plainUsage });
const thoughtIn = ({ thought: member }: Vendor, value: string) => (member ? { [member]: value } : {});
const namedThought = ({ thought: member }: Vendor, value: string) => (member ? { reasoning_content: value } : {});

/** A non-streaming response: as the vendor returns it, and as the client gets it. */
function wholeOf(vendor: Vendor) {
  const choice = { index: 0, logprobs: null, finish_reason: "stop" };
  const message = { role: "assistant", content: text };
  const blocks = [
    { type: "thinking", thinking: thought },
    { type: "text", text },
  ];
  const told = { ...choice, finish_reason: vendor.finish ?? "stop", ...vendor.choice };
  const members = { ...message, ...vendor.message };
  const named = { ...members, ...namedThought(vendor, thought), ...(vendor.thought && { content_blocks: blocks }) };
  return {
    answer: {
      ...head,
      ...vendor.answer,
      usage: toldUsage(vendor),
      choices: [{ ...told, message: { ...members, ...thoughtIn(vendor, thought) } }],
    },
    strict: {
      // `service_tier` is one of OpenAI's fields
      ...("service_tier" in (vendor.answer ?? {}) && { service_tier: "default" }),
      ...head,
      choices: [{ ...choice, message }],
      usage: plainUsage(vendor),
    },
    lax: {
      ...head,
      ...vendor.answer,
      usage: { ...toldUsage(vendor), ...laxUsage(vendor) },
      choices: [{ ...told, message: named }],
    },
  };
}

/** OpenAI's counts beside the vendor's own; extra details are preserved. */
function laxUsage(vendor: Vendor): Members {
  const told: Members = toldUsage(vendor);
  const entries = Object.entries<unknown>(plainUsage(vendor)).map(([name, value]) => {
    const given = told[name];
    return [name, isObject(value) && isObject(given) ? { ...given, ...value } : value];
  });
  return Object.fromEntries(entries);
}

interface Piece {
  delta: Members;
  finish?: string;
}

/** The events of a stream as the vendor sends them. */
function piecesOf(vendor: Vendor): Piece[] {
  return [
    { delta: { role: "assistant", content: "", ...thoughtIn(vendor, "") } },
    ...(vendor.thought ? [{ delta: { content: null, ...thoughtIn(vendor, thought) } }] : []),
    { delta: { content: text } },
    { delta: {}, finish: "stop" },
  ];
}

/** The same events for a client that asked for usage. */
function laxDelta(vendor: Vendor, { delta }: Piece): Members {
  const { reasoning, ...rest } = delta;
  if (reasoning !== undefined) rest.reasoning_content = reasoning;
  if (!vendor.thought) return rest;
  if (rest.reasoning_content) rest.content_blocks = [{ index: 0, delta: { thinking: thought } }];
  if (rest.content) rest.content_blocks = [{ index: 1, delta: { text } }];
  return rest;
}

/** The chunk with the usage, in the vendor's form. */
function usageMembers(vendor: Vendor, isLast: boolean): { chunk?: Members; choice?: Members } {
  const told = toldUsage(vendor);
  if (vendor.usageIn === "every" || (isLast && vendor.usageIn === "finish")) return { chunk: { usage: told } };
  if (isLast && vendor.usageIn === "x_groq") return { chunk: { x_groq: { id: "req_fx", usage: told } } };
  return isLast && vendor.usageIn === "choice" ? { choice: { usage: told } } : {};
}

function streamOf(vendor: Vendor) {
  const pieces = piecesOf(vendor);
  const told = pieces.map(({ delta, finish = null }, index) => {
    const { chunk, choice } = usageMembers(vendor, index === pieces.length - 1);
    const made = { index: 0, delta: { ...delta, ...vendor.delta }, ...vendor.chunkChoice, ...choice };
    return { ...chunkHead, ...vendor.chunk, ...chunk, choices: [{ ...made, finish_reason: finish }] };
  });
  const trailer = vendor.usageIn ? [] : [{ ...chunkHead, choices: [], usage: toldUsage(vendor) }];
  const events = [...told, ...trailer].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  events.splice(1, 0, vendor.comment ?? "");
  const isThought = ({ delta }: Piece) => delta.content === null;
  const plainDelta = ({ reasoning: _, reasoning_content: __, ...rest }: Members) => rest;
  return {
    stream: events.join("") + (vendor.ends ? "" : "data: [DONE]\n\n"),
    strict: pieces
      .filter((piece) => !isThought(piece))
      .map(({ delta, finish = null }) => ({
        ...("system_fingerprint" in (vendor.chunk ?? {}) && { system_fingerprint: null }),
        ...chunkHead,
        choices: [{ index: 0, delta: plainDelta(delta), finish_reason: finish }],
      })),
    lax: told.map(({ usage: _, ...chunk }: Members & { choices: Members[] }, index) => {
      const [{ message: __, ...choice } = {}] = chunk.choices as Members[]; // every chunk has choices
      const delta = { ...laxDelta(vendor, pieces[index] ?? assert.fail()), ...vendor.delta };
      // the suite reads the provider's name from each chunk, where the gateway adds it
      const { provider: ___, ...rest } = chunk as Members;
      return { ...rest, choices: [{ ...choice, delta }] };
    }),
  };
}

test("compat declarations each have a fixture", () => {
  const slugs = [...compatProviders, ...vendors, ...smallProviders, ...hosts].map(({ slug }) => slug);
  requireListed(slugs, Object.keys(compatVendors), "compatVendors");
});

for (const provider of compatProviders) {
  const { slug } = provider;
  const vendor = compatVendors[slug] ?? {};
  const request = { model: "m", messages: [{ role: "user", content: "When does it open?" }], own_switch: { a: [1] } };
  const { own_switch: _own, ...known } = request;
  const sent = { body: request };
  const whole = wholeOf(vendor);
  const streamed = streamOf(vendor);
  const asked = { request: { ...known, stream: true } };
  testConformance(provider, [
    { name: "a strict response, unknown fields", request, sent, answer: whole.answer, wanted: whole.strict },
    { name: "a response with extras", request: known, strict: false, answer: whole.answer, wanted: whole.lax },
    {
      name: "a plain stream",
      ...asked,
      stream: streamed.stream,
      chunks: streamed.strict,
      usage: plainUsage(vendor),
    },
    { name: "a stream with extras", ...asked, strict: false, stream: streamed.stream, chunks: streamed.lax },
  ]);

  test(`${slug} conforms: an error has its status and message`, async () => {
    const standard = { error: { message: "fixture: no", type: "invalid_request_error", param: "x", code: "y" } };
    const [body, status, message, answered = status] = vendor.error ?? [standard, 400, "fixture: no"];
    wire.answer = () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
    const response = await chat(gateway, helloBody, { "x-gateway-provider": slug, authorization: "Bearer key" });
    const { error } = await readJson<{ error: { message: string } }>(response);
    assert.deepEqual([response.status, error.message], [answered, `${slug} error: ${message}`]);
  });
}
