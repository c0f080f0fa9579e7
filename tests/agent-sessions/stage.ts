// A gateway on loopback in front of emulated providers, whose models follow a script.

import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import {
  createEmulatedWorld,
  type EmulatedProvider,
  type EmulatedRequest,
  type EmulatedWorld,
  type Emulator,
  type ModelTurn,
} from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { serveFetch } from "../mcp/conformance.ts";
import { createTestGateway, readJson, type TestGateway, workspaceKey } from "../support/gateway.ts";

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
}

/** What happened on a stage so far. */
interface Progress {
  /** Requests of the session that an emulator answered or refused. */
  taken: Taken[];
  sent: Sent[];
  /** Calls that the first target failed. */
  failed: number;
}

export interface Stage extends Progress {
  url: string;
  /** Key whose config leads to the targets. */
  key: string;
  gateway: TestGateway;
  world: EmulatedWorld;
  close(): Promise<void>;
}

/** How many results the first target has seen when it begins to fail. */
const failsAfter = 2;

const overloaded = (): Response =>
  Response.json({ error: { message: "The model is overloaded.", type: "overloaded_error" } }, { status: 503 });

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

/** The providers behind the gateway. The first target fails once the session has come far enough. */
class StageTransport implements Transport {
  readonly #world: EmulatedWorld;
  readonly #script: Script;
  readonly #first: EmulatedProvider;
  readonly #progress: Progress;

  constructor(world: EmulatedWorld, script: Script, first: EmulatedProvider, progress: Progress) {
    this.#world = world;
    this.#script = script;
    this.#first = first;
    this.#progress = progress;
  }

  send = (address: string, init: TransportInit): Promise<Response> => {
    const url = new URL(address);
    const count = counts.find(({ path }) => path.test(url.pathname));
    if (count) return Promise.resolve(Response.json(count.answer));
    const emulator = providers.flatMap(({ emulators }) => emulators).find((one) => one.serves(url));
    return emulator ? this.#answer(emulator, address, init) : this.#world.transport.send(address, init);
  };

  sendChecked = this.send;

  #answer(emulator: Emulator, address: string, init: TransportInit): Promise<Response> {
    const { isOfSession, results, turns, aside } = this.#script;
    const request = emulator.read(new URL(address), init);
    const text = JSON.stringify(request.body);
    const belongs = isOfSession(text);
    const round = results.filter((result) => result.test(text)).length;
    if (belongs && round >= failsAfter && this.#first.emulators.includes(emulator)) {
      this.#progress.failed += 1;
      return Promise.resolve(overloaded());
    }
    if (belongs) this.#progress.taken.push({ emulator, request, text, round });
    const turn: ModelTurn = (belongs ? turns[round] : undefined) ?? { said: [{ kind: "text", text: aside }] };
    this.#world.script.splice(0, this.#world.script.length, withOfferedNames(turn, text));
    return this.#world.transport.send(address, init);
  }
}

async function manage<Shape>(gateway: TestGateway, path: string, body: object): Promise<Shape> {
  const headers = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
  const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return readJson<Shape>(response);
}

/** A key of the workspace whose requests go to the first target, and to the next one when that fails. */
async function createKey(gateway: TestGateway, targets: readonly Target[]): Promise<string> {
  const config = {
    strategy: { mode: "fallback" },
    targets: targets.map(({ provider, model }) => ({
      provider: provider.slug,
      api_key: "fake-provider-key",
      override_params: { model },
    })),
  };
  const { slug } = await manage<{ slug: string }>(gateway, "/v1/configs", { name: "Two targets", config });
  const { key } = await manage<{ key: string }>(gateway, "/v1/api-keys/workspace/service", {
    name: "Agent",
    scopes: ["completions.write"],
    defaults: { config_id: slug },
  });
  return key;
}

/** Opens a gateway for one session. */
export async function openStage(targets: readonly [Target, Target], script: Script): Promise<Stage> {
  const world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
  const progress: Progress = { taken: [], sent: [], failed: 0 };
  const transport = new StageTransport(world, script, targets[0].provider, progress);
  const gateway = await createTestGateway({ transport });
  const front = await serveFetch(async (request, connection) => {
    const body = request.body === null ? "" : await request.clone().text();
    const response = await gateway.gateway.fetch(request, connection);
    const { pathname, search } = new URL(request.url);
    const headers = Object.fromEntries(request.headers);
    progress.sent.push({ path: pathname + search, headers, body, status: response.status });
    return response;
  });
  const key = await createKey(gateway, targets);
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
