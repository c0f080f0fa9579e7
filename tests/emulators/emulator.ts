// An emulator answers as a provider's API does, and refuses what the provider documents that it refuses. It is stateful where
// the provider is: it hands out call ids, signatures and reasoning, and demands them back in the place where they belong.

import { isObject } from "../../src/lib/json.ts";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";

export type Members = Record<string, unknown>;

/** What a model generates in one turn, in order. Arguments of a call are an object, or the broken JSON of a model. */
export type Said =
  | { kind: "thinking"; text: string }
  | { kind: "text"; text: string }
  | {
      kind: "call";
      name: string;
      /** The tool's description: the model calls the tool that has it by the name under which it was offered. */
      description?: string;
      arguments: Members | string;
    };

/** One response of the model. */
export interface ModelTurn {
  said: readonly Said[];
}

/** One thing that a provider refuses. A new rule is one more row in the emulator of its API. */
export interface Rule {
  /** Short name, for reports. */
  id: string;
  /** Page of the provider's documentation, or its validator, and the date of reading. */
  source: string;
  /** Models it holds for. Default: all of the API. */
  models?: RegExp;
  /** The provider's message when the request breaks the rule. */
  find(request: EmulatedRequest, memory: Memory): string | undefined;
}

/** A request as an emulator reads it. */
export interface EmulatedRequest {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Members;
  model: string;
  streams: boolean;
}

/** A request that an emulator refused. */
export interface Refusal {
  emulator: string;
  rule: string;
  source: string;
  message: string;
  body: Members;
}

/** Tokens of one API: those of another one are not among them. */
const tokensOfApi = 1_000_000;

/** What a model handed out and demands back, by call id, signature or other token. */
export class Memory {
  #count: number;
  /** Digests of the prefixes of prompts that a cache holds. */
  readonly prefixes = new Set<string>();
  readonly #handed = new Map<string, HandedTurn>();

  /** @param place Of the API among all of a world. Default: the first. */
  constructor(place = 0) {
    this.#count = place * tokensOfApi;
  }

  /** A number that no other token has, of this API or another. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Remembers the turn behind a token. */
  hand(token: string, turn: HandedTurn): void {
    this.#handed.set(token, turn);
  }

  /** The turn behind a token; undefined for tokens of other providers. */
  find(token: unknown): HandedTurn | undefined {
    return typeof token === "string" ? this.#handed.get(token) : undefined;
  }
}

/** A turn as the API wrote it: blocks, parts or members that belong together. */
export interface HandedTurn {
  model: string;
  /** In the API's own form and order. */
  blocks: readonly Members[];
}

/** An emulated API. */
export interface Emulator {
  /** Name of the API, for reports. */
  name: string;
  /**
   * The dialect of this API's own clients, whose requests the gateway forwards unchanged: what the API would refuse from its
   * own SDK, it may refuse through the gateway too.
   */
  native?: "chat" | "messages" | "responses" | "gemini" | undefined;
  /**
   * What the API's own SDK makes of a request of that dialect, without what the gateway has to bring into another form.
   * Default: the request itself.
   */
  asSdkSends?(request: EmulatedRequest): EmulatedRequest;
  /** Whether the model reasons for a request, and its reasoning reaches clients whose dialect has a place for it. */
  showsReasoning(model: string, request: EmulatedRequest): boolean;
  /** Reasoning is shown only where the request asks for it. Default: always. */
  hidesReasoning?: boolean;
  /** Whether the model begins each response to such a request with its reasoning. Default: no. */
  thinksFirst?(request: EmulatedRequest): boolean;
  rules: readonly Rule[];
  /** Whether this API serves the address. */
  serves(url: URL): boolean;
  read(url: URL, init: TransportInit): EmulatedRequest;
  /** The messages of a request as they precede its last user turn, for the comparison of prefixes. */
  prefixOf(request: EmulatedRequest): readonly unknown[];
  /** The provider's error body. */
  refuse(message: string): Response;
  /** The model's turn in the API's form, streamed if asked for. */
  answer(turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response;
}

/** A provider whose APIs are emulated. */
export interface EmulatedProvider {
  /** Its name in the gateway. */
  slug: string;
  /** Models that tests choose among: one of each behaviour. */
  models: readonly string[];
  /** Headers of the gateway that select the account or the host. Default: none. */
  headers?: Readonly<Record<string, string>>;
  /** The server, where it is called through a provider of another name. Default: the provider's own. */
  host?: string;
  /** Whether its models take images. */
  takesImages: boolean;
  emulators: readonly Emulator[];
}

/** Requests that emulators received and refused, and what the model says next. */
export interface EmulatedWorld {
  transport: Transport;
  requests: { emulator: Emulator; request: EmulatedRequest }[];
  refusals: Refusal[];
  /** What an emulator would say to a request that its own SDK sent. */
  findRefusal(emulator: Emulator, request: EmulatedRequest): Refusal | undefined;
  /** The model's next turns: the emulator that is called takes the first. */
  script: ModelTurn[];
  /** The turn that was answered last, its calls by the names of the script. */
  spoken: ModelTurn | undefined;
}

/** The text of a transport's body. */
export function textOf({ body }: TransportInit): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  throw new TypeError("an emulator reads whole bodies only");
}

/** A request whose JSON body names the model, and whether the response is streamed. */
export function readRequest(url: URL, init: TransportInit): EmulatedRequest {
  const value: unknown = JSON.parse(textOf(init));
  const body = isObject(value) ? value : {};
  return { path: url.pathname, headers: init.headers, body, model: String(body.model), streams: body.stream === true };
}

/** The first rule that a request breaks. */
export function findRefusal(emulator: Emulator, request: EmulatedRequest, memory: Memory): Refusal | undefined {
  for (const rule of emulator.rules) {
    if (rule.models && !rule.models.test(request.model)) continue;
    const message = rule.find(request, memory);
    if (message === undefined) continue;
    return { emulator: emulator.name, rule: rule.id, source: rule.source, message, body: request.body };
  }
  return undefined;
}

/** The name of the tool that a request offers with a description, in the form of any API. */
function findOffered(value: unknown, description: string): string | undefined {
  if (Array.isArray(value)) {
    for (const one of value) {
      const name = findOffered(one, description);
      if (name !== undefined) return name;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { name, description: said } = value;
  // a grammar may follow the description of a custom tool
  if (typeof name === "string" && typeof said === "string" && said.startsWith(description)) return name;
  return findOffered(Object.values(value), description);
}

/** What the model says, its calls by the names of the tools that it was offered. */
function asOffered({ said }: ModelTurn, { body }: EmulatedRequest): ModelTurn {
  // tools stand before messages, and these hold none: but for those that a Responses input adds
  const { messages: _messages, contents: _contents, ...offering } = body;
  return {
    said: said.map((one) => {
      if (one.kind !== "call" || one.description === undefined) return one;
      return { ...one, name: findOffered(offering, one.description) ?? one.name };
    }),
  };
}

/** The turn of a model that begins with its reasoning. */
function withThinking(turn: ModelTurn): ModelTurn {
  const [first] = turn.said;
  return first?.kind === "thinking" ? turn : { said: [{ kind: "thinking", text: "Hm." }, ...turn.said] };
}

/** A transport behind which emulators answer instead of the providers' hosts. */
export function createEmulatedWorld(emulators: readonly Emulator[]): EmulatedWorld {
  const memories = new Map(emulators.map((emulator, place) => [emulator, new Memory(place)]));
  const world: EmulatedWorld = {
    transport: { send: (url, init) => send(url, init), sendChecked: (url, init) => send(url, init) },
    requests: [],
    refusals: [],
    script: [],
    spoken: undefined,
    findRefusal: (emulator, request) => findRefusal(emulator, request, memories.get(emulator) ?? new Memory()),
  };
  const send = async (address: string, init: TransportInit): Promise<Response> => {
    const url = new URL(address);
    const emulator = emulators.find((one) => one.serves(url));
    const memory = emulator && memories.get(emulator);
    if (!emulator || !memory) throw new TypeError(`no emulator serves ${url.host}${url.pathname}`);
    const request = emulator.read(url, init);
    world.requests.push({ emulator, request });
    const refusal = findRefusal(emulator, request, memory);
    if (refusal) {
      world.refusals.push(refusal);
      return emulator.refuse(refusal.message);
    }
    const turn = world.script.shift() ?? { said: [{ kind: "text", text: "Nothing is left to say." }] };
    world.spoken = emulator.thinksFirst?.(request) ? withThinking(turn) : turn;
    return emulator.answer(asOffered(world.spoken, request), request, memory);
  };
  return world;
}

export const jsonResponse = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

/** Pieces of a string as a model streams them; never an empty list. */
export function toPieces(text: string, length = 9): string[] {
  return text === "" ? [""] : (text.match(new RegExp(`[\\s\\S]{1,${length}}`, "gu")) ?? [text]);
}

/** An event stream. Each event is its data, with a name where the API names events. */
export function eventStream(events: readonly { event?: string; data: unknown }[]): Response {
  const text = events
    .map(({ event, data }) => {
      const written = typeof data === "string" ? data : JSON.stringify(data);
      return `${event === undefined ? "" : `event: ${event}\n`}data: ${written}\n\n`;
    })
    .join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** Arguments of a call as JSON; broken JSON stays as it is. */
export const argumentsText = (given: Members | string): string =>
  typeof given === "string" ? given : JSON.stringify(given);

/** The objects of a list; none where it is not a list. */
export const objectsOf = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isObject) : []);
