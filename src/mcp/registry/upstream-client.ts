import { readBytes } from "../../lib/body.ts";
import { Budget, ExcessError } from "../../lib/budget.ts";
import { startTimer } from "../../lib/clock.ts";
import { decodeUtf8, isObject } from "../../lib/json.ts";
import { OutboundError, type OutboundInit, toOutboundError } from "../../lib/outbound.ts";
import { EventBlocks, EventTooLongError, eventsWithin, readEvents } from "../../lib/sse.ts";
import { productName } from "../../providers/core/call.ts";
import { version as productVersion } from "../../version.ts";

/** An upstream server that the gateway itself calls. */
export interface UpstreamTarget {
  /** Headers of the integration, opened. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends a request to it. */
  send(init: OutboundInit): Promise<Response>;
}

/** A call to an upstream failed. The message is for operators, and has no part of a response. */
export class UpstreamFailure extends Error {
  override readonly name = "UpstreamFailure";
  /** Status of the response; undefined without one. */
  readonly status: number | undefined;
  /** Code of a JSON-RPC error. */
  readonly rpcCode: number | undefined;

  constructor(message: string, details: { status?: number | undefined; rpcCode?: number; cause?: unknown } = {}) {
    super(message, { cause: details.cause });
    this.status = details.status;
    this.rpcCode = details.rpcCode;
  }
}

/** Revisions that the gateway asks for itself: the newest, and the newest with a handshake. */
const modernVersion = "2026-07-28";
const legacyVersion = "2025-11-25";

const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;
const clientInfo = { name: "gateway", version: productVersion };
const modernMeta = {
  [metaKey("protocolVersion")]: modernVersion,
  [metaKey("clientCapabilities")]: {},
  [metaKey("clientInfo")]: clientInfo,
};

/** Largest answer: a page of a list. */
const maxAnswerBytes = 5 * 1024 * 1024;
/** Most events of the stream of one answer. */
const maxMessages = 10_000;

/** What a server says of itself. */
export interface ServerDescription {
  readonly protocolVersion: string;
  readonly serverInfo: Readonly<Record<string, unknown>>;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | null;
}

/** Codes of errors that only modern servers send. */
const modernCodes = new Set([-32_020, -32_021, -32_022]);

/** Why a call failed, as operators may read it. */
function describe(error: unknown, signal: AbortSignal): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  if (signal.aborted) return new UpstreamFailure("The server took too long", { cause: error });
  // an OpenAPI document is the operator's own
  if (error instanceof ExcessError && error.source === "caller") {
    return new UpstreamFailure(error.message, { cause: error });
  }
  const isTooLarge = error instanceof EventTooLongError || error instanceof ExcessError;
  if (isTooLarge) return new UpstreamFailure("An answer is too large", { cause: error });
  const failure = error instanceof OutboundError ? error : toOutboundError(error);
  if (failure.kind === "refused_address") return new UpstreamFailure("Its address is not allowed", { cause: error });
  return new UpstreamFailure("The connection failed", { cause: error });
}

/** The message in a stream that answers a request. */
async function readStream(response: Response, id: number): Promise<unknown> {
  const reader = response.body?.getReader();
  const blocks = new EventBlocks(maxAnswerBytes);
  const budget = new Budget({ source: "upstream", what: "an answer", unit: "messages", values: maxMessages });
  let received = 0;
  try {
    while (reader) {
      const { done, value } = await reader.read();
      received += value?.length ?? 0;
      if (received > maxAnswerBytes) throw new UpstreamFailure("An answer is too large", { status: response.status });
      const block = value ? blocks.push(value) : blocks.takeRest();
      for await (const { data } of eventsWithin(block ? decodeUtf8(block) : "", budget, readEvents)) {
        const message = parseBounded(data);
        if (isObject(message) && message.id === id && message.method === undefined) return message;
      }
      if (done) break;
    }
  } finally {
    reader?.cancel().catch(() => {});
  }
  throw new UpstreamFailure("The stream ended before the answer", { status: response.status });
}

/** A JSON value of moderate depth and size; undefined for anything else. */
function parseBounded(text: string): unknown {
  try {
    return new Budget({ source: "upstream", what: "an answer" }).json(text);
  } catch {
    return undefined;
  }
}

async function readMessage(response: Response, id: number): Promise<Record<string, unknown>> {
  const type = response.headers.get("content-type") ?? "";
  const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
  const { status } = response;
  let message: unknown;
  if (/^text\/event-stream\s*(?:;|$)/i.test(type) && status === 200) message = await readStream(response, id);
  else if (/^application\/json\s*(?:;|$)/i.test(type)) {
    message = parseBounded(decodeUtf8(await readBytes(response, bounds)));
  } else response.body?.cancel().catch(() => {});
  if (isObject(message) && message.jsonrpc === "2.0") return message;
  if (status === 401 || status === 403) {
    throw new UpstreamFailure(`The server refuses the credential (${status})`, { status });
  }
  throw new UpstreamFailure(`The server sent no JSON-RPC message (${status})`, { status });
}

/** Calls one upstream server for the gateway itself: to find out what it offers, and whether it works. */
export class UpstreamClient {
  readonly #target: UpstreamTarget;
  readonly #abort = new AbortController();
  readonly #stopTimer: () => void;
  #id = 0;
  #sessionId: string | undefined;
  #isModern = true;
  #legacyVersion = legacyVersion;
  /** Status of the last response; undefined before the first. */
  status: number | undefined;

  /** @param totalMs Longest time for all of its calls together. */
  constructor(target: UpstreamTarget, totalMs: number) {
    this.#target = target;
    this.#stopTimer = startTimer(totalMs, () => this.#abort.abort(new Error("the time is over")));
  }

  /**
   * Begins: asks a modern server for its description, or initializes a session of an older one.
   *
   * @throws {UpstreamFailure}
   */
  async open(): Promise<ServerDescription> {
    try {
      const result = await this.request("server/discover");
      const info = isObject(result._meta) ? result._meta[metaKey("serverInfo")] : undefined;
      return this.#describe({ ...result, serverInfo: info, protocolVersion: modernVersion });
    } catch (error) {
      const isModern = error instanceof UpstreamFailure && modernCodes.has(error.rpcCode ?? 0);
      const mayBeOlder = error instanceof UpstreamFailure && error.status !== undefined && !isModern;
      if (!mayBeOlder || error.status === 401 || error.status === 403) throw error;
    }
    this.#isModern = false;
    const params = { protocolVersion: legacyVersion, capabilities: {}, clientInfo };
    const result = await this.request("initialize", params);
    const description = this.#describe(result);
    this.#legacyVersion = description.protocolVersion;
    try {
      await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" });
    } catch (error) {
      throw describe(error, this.#abort.signal);
    }
    return description;
  }

  #describe(result: Readonly<Record<string, unknown>>): ServerDescription {
    const { protocolVersion, serverInfo, capabilities, instructions } = result;
    return {
      protocolVersion: typeof protocolVersion === "string" ? protocolVersion.slice(0, 64) : legacyVersion,
      serverInfo: isObject(serverInfo) ? serverInfo : {},
      capabilities: isObject(capabilities) ? capabilities : {},
      instructions: typeof instructions === "string" ? instructions : null,
    };
  }

  /**
   * The result of a request.
   *
   * @throws {UpstreamFailure}
   */
  async request(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
    const id = ++this.#id;
    const given = this.#isModern ? { ...params, _meta: modernMeta } : params;
    try {
      const response = await this.#post({ jsonrpc: "2.0", id, method, params: given });
      const message = await readMessage(response, id);
      const { error, result } = message;
      if (isObject(error)) {
        const code = typeof error.code === "number" ? error.code : 0;
        throw new UpstreamFailure(`The server answered ${method} with the error ${code}`, {
          status: response.status,
          rpcCode: code,
        });
      }
      if (response.status === 200 && isObject(result)) return result;
      throw new UpstreamFailure(`The server did not answer ${method} (${response.status})`, {
        status: response.status,
      });
    } catch (error) {
      throw describe(error, this.#abort.signal);
    }
  }

  async #post(message: Readonly<Record<string, unknown>>): Promise<Response> {
    const { headers, send } = this.#target;
    const isFirst = message.method === "initialize";
    const versionHeader = this.#isModern ? modernVersion : this.#legacyVersion;
    const response = await send({
      method: "POST",
      headers: {
        "user-agent": productName,
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(!isFirst && { "mcp-protocol-version": versionHeader }),
        ...(this.#isModern && { "mcp-method": String(message.method) }),
        ...(this.#sessionId !== undefined && { "mcp-session-id": this.#sessionId }),
      },
      body: JSON.stringify(message),
      signal: this.#abort.signal,
      origin: "influenced",
    });
    if (message.id !== undefined) this.status = response.status;
    const sessionId = response.headers.get("mcp-session-id");
    if (isFirst && sessionId !== null && /^[\x21-\x7e]{1,1024}$/.test(sessionId)) this.#sessionId = sessionId;
    if (message.id === undefined) response.body?.cancel().catch(() => {});
    return response;
  }

  /** Ends it: a session at the server too. */
  async close(): Promise<void> {
    try {
      if (this.#sessionId === undefined || this.#abort.signal.aborted) return;
      const headers = {
        ...this.#target.headers,
        "mcp-session-id": this.#sessionId,
        "mcp-protocol-version": this.#legacyVersion,
      };
      const init = { method: "DELETE", headers, signal: this.#abort.signal, origin: "influenced" } as const;
      const response = await this.#target.send(init);
      response.body?.cancel().catch(() => {});
    } catch {
      // the server ends sessions by itself
    } finally {
      this.#stopTimer();
    }
  }
}
