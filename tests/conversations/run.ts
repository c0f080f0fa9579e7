import assert from "node:assert/strict";
import { isObject, parseJson } from "../../src/lib/json.ts";
import type { EmulatedProvider, EmulatedWorld, Members, ModelTurn } from "../emulators/emulator.ts";
import { type TestGateway, workspaceKey } from "../support/gateway.ts";
import type { Client, Heard } from "./client.ts";
import type { Conversation } from "./generate.ts";

/** A gateway in front of emulators, which conversations share. */
export interface Place {
  gateway: TestGateway;
  world: EmulatedWorld;
}

/** Why a conversation ended before its last round. */
export interface Fault {
  /** `native`: the API refused what it would refuse from its own SDK too, so it is not the gateway's fault. */
  kind: "refused" | "native" | "status" | "heard" | "prefix" | "unread";
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
  /** Rounds have different targets: what others left in the conversation is never refused. Default: no. */
  changesTarget?: boolean;
}

/** Arguments as values, so that spaces and order do not count. */
const argumentsOf = (text: string): unknown => parseJson(text) ?? text;

function compare(heard: Heard, { said }: ModelTurn, showsReasoning: boolean): string | undefined {
  const all = (kind: "text" | "thinking") => said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join("");
  const made = said.flatMap((one) => (one.kind === "call" ? [one] : []));
  // broken arguments have no counterpart in APIs whose arguments are objects
  const isBroken = (index: number) => typeof made[index]?.arguments === "string";
  const wanted = {
    text: all("text"),
    calls: made.map(({ name, arguments: given }, index) => [name, isBroken(index) ? "broken" : given]),
    ...(showsReasoning && { reasoning: all("thinking") }),
  };
  const found = {
    text: heard.text,
    calls: heard.calls.map(({ name, arguments: given }, index) => [
      name,
      isBroken(index) ? "broken" : argumentsOf(given),
    ]),
    ...(showsReasoning && { reasoning: heard.reasoning }),
  };
  try {
    assert.deepEqual(found, wanted);
    return undefined;
  } catch {
    return `heard ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
  }
}

/** A mark that is a separate block, as at Bedrock. */
const isMark = (value: unknown): boolean => isObject(value) && "cachePoint" in value;

/** A string as the list of one text, which is the same prompt. */
const toParts = (content: unknown): unknown =>
  typeof content === "string" ? [{ type: "text", text: content }] : withoutMarks(content);

/** Without the marks that clients move from turn to turn. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => !isMark(one)).map(withoutMarks);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      name === "cache_control" ? [] : [[name, name === "content" ? toParts(one) : withoutMarks(one)]],
    ),
  );
}

/** The first place where a request no longer begins with the one before it. */
function findChange(before: readonly unknown[], now: readonly unknown[]): string | undefined {
  for (const [index, one] of before.entries()) {
    const [former, current] = [JSON.stringify(withoutMarks(one)), JSON.stringify(withoutMarks(now[index]) ?? null)];
    // the last message of a request may grow by what the same role adds
    if (index === before.length - 1 && current.startsWith(former.slice(0, -4))) continue;
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

/** A conversation of one question, in any dialect, with the settings and tools of another request. */
function withoutHistory(body: Members): Members {
  const question = { role: "user", content: "Hello" };
  const added = Array.isArray(body.input) ? body.input.filter(({ type }) => type === "additional_tools") : [];
  return {
    ...body,
    ...(body.messages !== undefined && { messages: [question] }),
    ...(body.input !== undefined && { input: [...added, { type: "message", ...question }] }),
    ...(body.contents !== undefined && { contents: [{ role: "user", parts: [{ text: "Hello" }] }] }),
  };
}

/** Whether the API would refuse the same request from its own SDK, without the gateway. */
function isRefusedAnyway(
  { client, dialect, changesTarget = false }: Run,
  body: Members,
  world: EmulatedWorld,
  { emulator, request }: EmulatedWorld["requests"][number],
): boolean {
  if (emulator.native !== dialect) return false;
  const { path, model, streams } = request;
  const asked = changesTarget ? withoutHistory(body) : body;
  const own = { path, headers: client.headers, body: asked, model, streams };
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

/** A round as the client can have it: without tools that it does not offer. */
function roundOf({ conversation, client }: Run, index: number): Conversation["rounds"][number] {
  const round = conversation.rounds[index] as Conversation["rounds"][number];
  if (client.offersTools !== false) return round;
  const { step, turn } = round;
  const said = turn.said.filter(({ kind }) => kind !== "call");
  const isSilent = said.every(({ kind }) => kind !== "text");
  return {
    step: { ...step, outcomes: [], text: step.text === "" ? "Go on" : step.text },
    turn: { said: isSilent ? [...said, { kind: "text", text: "Done" }] : said },
  };
}

/** Sends one round. A fault ends the conversation. */
async function runRound(place: Place, run: Run, round: number): Promise<Fault | undefined> {
  const { gateway, world } = place;
  const { conversation, client } = run;
  const { step, turn } = roundOf(run, round);
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
    const kind = received && isRefusedAnyway(run, body, world, received) ? "native" : "refused";
    return { kind, round, detail: `${refusal.rule}: ${refusal.message}\nsent ${sent}` };
  }
  if (response.status !== 200 || !emulator || !request)
    return { kind: "status", round, detail: `${response.status} ${await response.text()}` };
  const heard = await client.hear(response).catch((error: unknown) => String(error));
  if (typeof heard === "string") return { kind: "unread", round, detail: heard };
  const { effort } = conversation.setup;
  const isAsked = effort !== "off" && (effort !== undefined || !emulator.hidesReasoning);
  const showsReasoning = client.showsReasoning && emulator.showsReasoning(model, request) && isAsked;
  const difference = compare(heard, world.spoken ?? turn, showsReasoning);
  if (difference) return { kind: "heard", round, detail: difference };
  const isBegun = conversation.rounds[round - 1]?.step.prefill !== undefined;
  return findPrefixFault(world, asked, round, isBegun ? 2 : Number(step.isCut === true));
}

/**
 * Whether the request begins as the one before it. The end of that one may change where the user interrupted the response, or began
 * it: what stood before a response then stands before the user's next message.
 *
 * @param changing Entries at the end that may change.
 */
function findPrefixFault(world: EmulatedWorld, asked: number, round: number, changing: number): Fault | undefined {
  const before = world.requests.slice(0, asked).at(-1);
  const now = world.requests.at(-1);
  if (round === 0 || !before || !now || before.emulator !== now.emulator) return undefined;
  const former = before.emulator.prefixOf(before.request);
  const change = findChange(changing > 0 ? former.slice(0, -changing) : former, now.emulator.prefixOf(now.request));
  return change === undefined ? undefined : { kind: "prefix", round, detail: change };
}

/** Runs a conversation to its end, or to its first fault. */
export async function runConversation(place: Place, run: Run): Promise<Fault | undefined> {
  for (let round = 0; round < run.conversation.rounds.length; round++) {
    const fault = await runRound(place, run, round);
    if (fault) return fault;
  }
  return undefined;
}
