import assert from "node:assert/strict";
import { isObject, parseJson } from "../../src/lib/json.ts";
import type { EmulatedProvider, EmulatedWorld, Emulator, Members, ModelTurn } from "../emulators/emulator.ts";
import { type TestGateway, workspaceKey } from "../support/gateway.ts";
import type { Client, Heard } from "./client.ts";
import type { Conversation } from "./generate.ts";

/** A gateway in front of emulators, which conversations share. */
export interface Place {
  gateway: TestGateway;
  world: EmulatedWorld;
}

/** What went wrong in a conversation. */
export interface Fault {
  kind: "refused" | "status" | "heard" | "prefix" | "unread";
  round: number;
  detail: string;
}

/** A conversation of a client, and who serves its rounds. */
export interface Run {
  conversation: Conversation;
  client: Client;
  /** Name of the client's API. */
  dialect: string;
  /** The provider and the model that serve a round. */
  targetOf(round: number): { provider: EmulatedProvider; model: string };
}

/** Arguments as values, so that spaces and order do not count. */
const argumentsOf = (text: string): unknown => parseJson(text) ?? text;

function compare(heard: Heard, { said }: ModelTurn, showsReasoning: boolean): string | undefined {
  const all = (kind: "text" | "thinking") => said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join("");
  const calls = said.flatMap((one) => (one.kind === "call" ? [[one.name, one.arguments]] : []));
  // broken arguments have no counterpart in APIs whose arguments are objects
  const isBroken = said.some((one) => one.kind === "call" && typeof one.arguments === "string");
  const wanted = {
    text: all("text"),
    calls: isBroken ? calls.length : calls,
    ...(showsReasoning && { reasoning: all("thinking") }),
  };
  const found = {
    text: heard.text,
    calls: isBroken ? heard.calls.length : heard.calls.map(({ name, arguments: given }) => [name, argumentsOf(given)]),
    ...(showsReasoning && { reasoning: heard.reasoning }),
  };
  try {
    assert.deepEqual(found, wanted);
    return undefined;
  } catch {
    return `heard ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
  }
}

/** Without the marks that clients move from turn to turn. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (name === "cache_control" ? [] : [[name, withoutMarks(one)]])),
  );
}

/** The first place where a request no longer begins with the one before it. */
function findChange(before: readonly unknown[], now: readonly unknown[]): string | undefined {
  for (const [index, one] of before.entries()) {
    const [former, current] = [JSON.stringify(withoutMarks(one)), JSON.stringify(withoutMarks(now[index]) ?? null)];
    // the last message of a request may grow by what the same role adds
    if (index === before.length - 1 && current.startsWith(former.slice(0, -3))) continue;
    if (former !== current) return `part ${index} was ${former.slice(0, 400)} and is ${current.slice(0, 400)}`;
  }
  return undefined;
}

const headersOf = ({ client }: Run, { slug, headers }: EmulatedProvider): Record<string, string> => ({
  "content-type": "application/json",
  "x-gateway-api-key": workspaceKey,
  "x-gateway-provider": slug,
  authorization: "Bearer fake-provider-key",
  ...headers,
  ...client.headers,
});

/** Whether the API would refuse the same request from its own SDK, without the gateway. */
function isRefusedAnyway(
  { client, dialect }: Run,
  body: Members,
  world: EmulatedWorld,
  { emulator, request }: EmulatedWorld["requests"][number],
): boolean {
  if (emulator.native !== dialect) return false;
  const { path, model, streams } = request;
  const own = { path, headers: client.headers, body, model, streams };
  return world.findRefusal(emulator, emulator.asSdkSends?.(own) ?? own) !== undefined;
}

/** Sends a request, again while the gateway waits for its log: conversations without pauses are faster than it is stored. */
async function send(gateway: TestGateway, path: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const response = await gateway.fetch(path, init);
    if (response.status !== 503) return response;
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends one round; the fault ends the conversation, as a refusal does that the API's own SDK would meet too. */
async function runRound(place: Place, run: Run, round: number): Promise<Fault | "ended" | undefined> {
  const { gateway, world } = place;
  const { conversation, client } = run;
  const { step, turn } = conversation.rounds[round] as Conversation["rounds"][number];
  const { provider, model } = run.targetOf(round);
  const [asked, refused] = [world.requests.length, world.refusals.length];
  world.script.splice(0, world.script.length, turn);
  const body = client.ask(step, model);
  const init = { method: "POST", headers: headersOf(run, provider), body: JSON.stringify(body) };
  const response = await send(gateway, client.path(model), init);
  const refusal = world.refusals[refused];
  const received = world.requests[asked];
  const { emulator, request } = received ?? {};
  if (refusal && response.status >= 400) {
    const sent = JSON.stringify(refusal.body).slice(0, 3_000);
    if (received && isRefusedAnyway(run, body, world, received)) return "ended";
    return { kind: "refused", round, detail: `${refusal.rule}: ${refusal.message}\nsent ${sent}` };
  }
  if (response.status !== 200 || !emulator || !request)
    return { kind: "status", round, detail: `${response.status} ${await response.text()}` };
  const heard = await client.hear(response).catch((error: unknown) => String(error));
  if (typeof heard === "string") return { kind: "unread", round, detail: heard };
  const { effort } = conversation.setup;
  const isAsked = effort !== "off" && (effort !== undefined || !emulator.hidesReasoning);
  const showsReasoning = client.showsReasoning && emulator.showsReasoning(model, request) && isAsked;
  const difference = compare(heard, turn, showsReasoning);
  if (difference) return { kind: "heard", round, detail: difference };
  return findPrefixFault(world, asked, emulator, round);
}

function findPrefixFault(world: EmulatedWorld, asked: number, emulator: Emulator, round: number): Fault | undefined {
  const before = world.requests.slice(0, asked).at(-1);
  const now = world.requests.at(-1);
  if (round === 0 || !before || !now || before.emulator !== emulator || now.emulator !== emulator) return undefined;
  const change = findChange(emulator.prefixOf(before.request), emulator.prefixOf(now.request));
  return change === undefined ? undefined : { kind: "prefix", round, detail: change };
}

/** Runs a conversation to its end, or to its first fault. */
export async function runConversation(place: Place, run: Run): Promise<Fault | undefined> {
  for (let round = 0; round < run.conversation.rounds.length; round++) {
    const fault = await runRound(place, run, round);
    if (fault === "ended") return undefined;
    if (fault) return fault;
  }
  return undefined;
}
