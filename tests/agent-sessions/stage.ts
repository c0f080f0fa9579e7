// A gateway on loopback in front of emulated providers, whose models follow a script.

import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import {
  createEmulatedWorld,
  type EmulatedProvider,
  type EmulatedRequest,
  type EmulatedWorld,
  type Emulator,
  type ModelTurn,
  textOf,
} from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { serveFetch } from "../mcp/conformance.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";

/** A provider and the model that serves the agent's requests there. */
export interface Target {
  provider: EmulatedProvider;
  model: string;
}

/** What the models of a session say. */
export interface Script {
  /** Whether a request belongs to the session, and is not for a title or another errand of the agent. */
  isOfSession(body: string): boolean;
  /** The turns in order. A request gets the one after as many results as it holds. */
  turns: readonly ModelTurn[];
  /** What each result holds and nothing else of the session does. */
  results: readonly RegExp[];
  /** What the models say to errands. */
  aside: string;
  /** Errands that have a separate script. */
  errands?: readonly Script[];
}

/** A request of the session at an emulator. */
export interface Taken {
  emulator: Emulator;
  request: EmulatedRequest;
  /** The body as JSON. */
  text: string;
  /** How many results it holds. */
  round: number;
}

/** A request as the agent sent it. */
interface Sent {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  status: number;
  /** The body of the response. */
  answer: Promise<string>;
}

/** What happened on a stage so far. */
interface Progress {
  /** Requests of the session that an emulator answered or refused. */
  taken: Taken[];
  sent: Sent[];
  /** Calls that the failing target failed. */
  failed: number;
  /** Bodies of searches of the web. */
  searched: string[];
}

export interface StageOptions {
  script: Script;
  /** The provider that fails once the session has come far enough. Default: none does. */
  failing?: EmulatedProvider;
  /** Creates the key of the agent, and what its requests lead to. */
  createKey(gateway: TestGateway): Promise<string>;
}

export interface Stage extends Progress {
  url: string;
  /** Key of the agent. */
  key: string;
  gateway: TestGateway;
  world: EmulatedWorld;
  close(): Promise<void>;
}

/** How many results the failing target has seen when it begins to fail. */
const failsAfter = 2;

const overloaded = (): Response =>
  Response.json({ error: { message: "The model is overloaded.", type: "overloaded_error" } }, { status: 503 });

/** What each search of the web finds. Its text has the number of the search. */
export const foundPage = { title: "Tides", url: "https://tides.example/harbour" };

/** Answers of hosts that count tokens. */
const counts: readonly { path: RegExp; answer: object }[] = [
  { path: /\/messages\/count_tokens$/, answer: { input_tokens: 40 } },
  { path: /:countTokens$/, answer: { totalTokens: 40 } },
];

/** The turn with the names of tools as the request has them: a namespace may stand before them. */
function withOfferedNames({ said }: ModelTurn, body: string): ModelTurn {
  const offered = [...body.matchAll(/"name":"([^"]+)"/g)].map(([, name = ""]) => name);
  const nameOf = (name: string): string =>
    offered.find((one) => one === name) ?? offered.find((one) => one.endsWith(`__${name}`)) ?? name;
  return { said: said.map((one) => (one.kind === "call" ? { ...one, name: nameOf(one.name) } : one)) };
}

/** The providers behind the gateway. One may fail once the session has come far enough. */
class StageTransport implements Transport {
  readonly #world: EmulatedWorld;
  readonly #options: StageOptions;
  readonly #progress: Progress;

  constructor(world: EmulatedWorld, options: StageOptions, progress: Progress) {
    this.#world = world;
    this.#options = options;
    this.#progress = progress;
  }

  send = (address: string, init: TransportInit): Promise<Response> => {
    const url = new URL(address);
    const count = counts.find(({ path }) => path.test(url.pathname));
    if (count) return Promise.resolve(Response.json(count.answer));
    if (url.pathname === "/search") {
      const number = this.#progress.searched.push(textOf(init));
      return Promise.resolve(Response.json({ results: [{ ...foundPage, text: `High water lights lamp-${number}.` }] }));
    }
    const emulator = providers.flatMap(({ emulators }) => emulators).find((one) => one.serves(url));
    return emulator ? this.#answer(emulator, address, init) : this.#world.transport.send(address, init);
  };

  sendChecked = this.send;

  #answer(emulator: Emulator, address: string, init: TransportInit): Promise<Response> {
    const { script: whole, failing } = this.#options;
    const request = emulator.read(new URL(address), init);
    const text = JSON.stringify(request.body);
    const script = whole.errands?.find((errand) => errand.isOfSession(text)) ?? whole;
    const belongs = script.isOfSession(text);
    const round = script.results.filter((result) => result.test(text)).length;
    if (belongs && round >= failsAfter && failing?.emulators.includes(emulator)) {
      this.#progress.failed += 1;
      return Promise.resolve(overloaded());
    }
    if (belongs) this.#progress.taken.push({ emulator, request, text, round });
    const turn: ModelTurn = (belongs ? script.turns[round] : undefined) ?? {
      said: [{ kind: "text", text: script.aside }],
    };
    this.#world.script.splice(0, this.#world.script.length, withOfferedNames(turn, text));
    return this.#world.transport.send(address, init);
  }
}

/** Opens a gateway for one session. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
  const progress: Progress = { taken: [], sent: [], failed: 0, searched: [] };
  const transport = new StageTransport(world, options, progress);
  const gateway = await createTestGateway({ transport });
  const front = await serveFetch(async (request, connection) => {
    const body = request.body === null ? "" : await request.clone().text();
    const response = await gateway.gateway.fetch(request, connection);
    const { pathname, search } = new URL(request.url);
    const headers = Object.fromEntries(request.headers);
    const answer = response.clone().text();
    progress.sent.push({ path: pathname + search, headers, body, status: response.status, answer });
    return response;
  });
  const key = await options.createKey(gateway);
  return Object.assign(progress, {
    url: `http://127.0.0.1:${front.port}`,
    key,
    gateway,
    world,
    async close() {
      await front.close();
      await gateway.close();
    },
  });
}
