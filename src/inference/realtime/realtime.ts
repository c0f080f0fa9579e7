import { type KeyAccess, requireAccess } from "../../auth/access.ts";
import { findCallerNow } from "../../context/caller-now.ts";
import type { CallerContext } from "../../context.ts";
import { requireRole } from "../../endpoint/role.ts";
import {
  ClientClosedError,
  GatewayError,
  InvalidRequestError,
  NotImplementedError,
  PermissionError,
  UpgradeRequiredError,
  UpstreamError,
} from "../../errors.ts";
import { stringOf } from "../../lib/json.ts";
import type { OpenedSocket, RefusedSocket, SocketOutbound } from "../../lib/outbound.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { isAcceptableHandshake, isKeyProtocol, isSocketHandshake, readProtocols } from "../../lib/websocket.ts";
import { addressOf, type Destination, productName } from "../../providers/core/call.ts";
import type { SocketCall } from "../../providers/core/connect.ts";
import { modelsInQuery, type NamedModels } from "../../providers/core/model-names.ts";
import type { RealtimeRequest } from "../../providers/core/operations.ts";
import { type BoundProvider, requireOperation } from "../../providers/core/types.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import { applyParamOverrides } from "../../routing/param-overrides.ts";
import type { PlanNode } from "../../routing/plan.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { timesOf } from "../call/attempt.ts";
import { openUpstream } from "../call/call-upstream.ts";
import { routingHeaders, toProviderError } from "../call/provider-response.ts";
import { sessionEvents } from "../facts/operation-facts.ts";
import { kindOf } from "../facts/request-types.ts";
import { withinRequest } from "../guard/request-deadline.ts";
import { RequestGuard } from "../guard/request-guard.ts";
import type { TargetGuard } from "../guard/target-guard.ts";
import type { Caller } from "../pipeline/execute.ts";
import { planRequest, runPlan } from "../pipeline/run.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { readLeafDestination } from "../target/config-target.ts";
import { requireKeyModels } from "../target/key-models.ts";
import { requireModel, requireSentModels } from "../target/model-list.ts";
import { requireTargetModel, withTargetModel } from "../target/named-config.ts";
import { readClientHeader, readForwardedHeaders } from "../target/target.ts";
import { createSessionNotes } from "./realtime-notes.ts";
import { createSessionGuard, type SessionGuard } from "./session-guard.ts";
import { createSessionMeter, type SessionMeter } from "./session-meter.ts";
import { type RelayEnd, type RelayStop, relaySockets } from "./socket-relay.ts";

/** Largest message of a session, in bytes. */
const maxMessageBytes = 4 * 1024 * 1024;
/** Subprotocols offered upstream for callers that offer none. */
const defaultProtocols = ["realtime"];

/** Close codes that are not failures. */
const normalCloses = new Set([1000, 1001, 1005]);

/** An upstream that accepted a session. */
interface OpenSession {
  upstream: OpenedSocket;
  attempt: Attempt;
  provider: BoundProvider;
  /** The models that its query names. */
  models: NamedModels;
  /** Guardrails that read its events. */
  guard: SessionGuard | undefined;
  /**
   * Finds the target again, for the caller's current rights.
   *
   * @throws {GatewayError} If the caller could not open the session there any more.
   */
  findAgain(context: CallerContext): Promise<void>;
}

/** @throws {GatewayError} 400, 403, 426 or 501 for a handshake this gateway cannot accept. */
function requireHandshake(context: CallerContext): SocketOutbound {
  const { method, headers } = context;
  if (!isSocketHandshake(method, headers)) {
    throw new UpgradeRequiredError("Cannot respond here: open a WebSocket", "websocket");
  }
  if (!isAcceptableHandshake(headers)) {
    throw new InvalidRequestError("Cannot open the WebSocket: its key is malformed or its version is not 13", {
      code: "invalid_handshake",
    });
  }
  const origin = headers.get("origin");
  if (origin !== undefined && !context.services.realtimeOrigins.has(origin.toLowerCase())) {
    throw new PermissionError("Cannot open the WebSocket: this origin is not in REALTIME_ORIGINS", {
      code: "origin_not_allowed",
      param: "origin",
    });
  }
  if (context.connection.upgrade && context.services.openSocket) return context.services.openSocket;
  throw new NotImplementedError("Cannot open WebSockets where this gateway runs", { code: "websocket_unsupported" });
}

/** The query without parameters that hold the gateway key. */
function readSession({ url, gatewayKey }: CallerContext): RealtimeRequest {
  const query = [...url.searchParams].filter(([name, value]) => name !== "model" && !value.includes(gatewayKey));
  return { model: url.searchParams.get("model") ?? undefined, query };
}

/** Subprotocols of the caller that are not credentials. */
function offeredProtocols({ headers, gatewayKey }: CallerContext): string[] {
  const offered = readProtocols(headers.get("sec-websocket-protocol"));
  return offered.filter((name) => !isKeyProtocol(name) && !name.includes(gatewayKey));
}

/** Headers of the upstream's handshake, built from nothing. */
function sessionHeaders(
  { provider, managed }: Destination,
  settings: InheritedSettings | undefined,
  context: CallerContext,
): Record<string, string> {
  const headers = readForwardedHeaders(context, settings?.forwardHeaders);
  for (const name of [...provider.clientHeaders, "openai-beta"]) {
    const value = readClientHeader(name, context);
    if (value !== undefined) headers[name] ??= value;
  }
  // the handshake sets its own
  for (const name of Object.keys(headers)) if (name.startsWith("sec-websocket-")) delete headers[name];
  headers["accept-encoding"] = "identity";
  headers["user-agent"] = productName;
  return Object.assign(headers, managed?.headers);
}

/** One target of a session. */
interface SessionTarget {
  destination: Destination;
  settings?: InheritedSettings;
  deadline?: number | undefined;
  /** Guardrails that let it be opened. */
  guard?: TargetGuard | undefined;
  /** Guardrails that read its events. */
  sessionGuard?: SessionGuard | undefined;
}

interface SessionParts {
  context: CallerContext;

  open: SocketOutbound;
}

/** Where a session may be opened: checked before it is, and again while it runs. */
type FindTarget = (context: CallerContext) => SessionTarget | Promise<SessionTarget>;

/** The model of a session. @throws {BudgetError} 412 if the stored provider does not allow it. */
function requireSessionModel(session: RealtimeRequest, destination: Destination): string | undefined {
  const model = destination.managed?.model ?? session.model;
  requireModel(destination, model);
  return model;
}

/** The upstream's handshake, ready to be sent. */
function prepareSession(
  session: RealtimeRequest,
  { destination, settings, guard }: SessionTarget,
  { context }: SessionParts,
): Omit<SocketCall, "signal"> {
  const { provider } = destination;
  const adapter = requireOperation(provider, "realtime");
  const model = requireSessionModel(session, destination);
  context.log.model = model ?? null;
  const path = adapter.path({ ...session, model });
  const headers = sessionHeaders(destination, settings, context);
  guard?.addHeaders(headers);
  requireSentModels(destination, { path, headers });
  const offered = offeredProtocols(context);
  return {
    ...destination,
    path,
    headers,
    maxMessageBytes,
    url: addressOf({ ...destination, path }, context.services.authTools.environment),
    protocols: offered.length > 0 ? offered : defaultProtocols,
    connectTimeoutMs: context.services.limits.realtimeConnectTimeoutMs,
  };
}

/**
 * Opens the session at one target.
 *
 * @throws {GatewayError} The upstream's status where the request is at fault; else 502, 504 or 499.
 */
async function openSession(session: RealtimeRequest, find: FindTarget, parts: SessionParts): Promise<OpenSession> {
  const { context, open } = parts;
  const target = await find(context);
  const call = prepareSession(session, target, parts);
  const models = { names: modelsOfSession(session), isUnclear: false };
  const terms = { ...timesOf(target, context), listModels: () => models };
  const { upstream, attempt } = await openUpstream(call, terms, context, open);
  if (!upstream.end) {
    attempt.release();
    attempt.end();
    throw toRefusal(upstream, context);
  }
  const findAgain = async (caller: CallerContext) => {
    requireSessionModel(session, (await find(caller)).destination);
  };
  return { upstream, attempt, provider: call.provider, models, guard: target.sessionGuard, findAgain };
}

/** The error of an upstream that refused the handshake: a status that blames the request is preserved. */
function toRefusal({ status, headers, text }: RefusedSocket, context: CallerContext): UpstreamError {
  const shownStatus = status >= 400 && status <= 499 ? status : 502;
  return toProviderError({ status: shownStatus, headers }, text, context);
}

/** The first call of a plan: a session is opened at one target. */
export function withoutOthers(node: PlanNode): PlanNode {
  const [first] = node.kind === "fallback" ? node.children : [];
  return first ? withoutOthers(first) : node;
}

/** The models that the query of a session names. */
function modelsOfSession({ query }: RealtimeRequest): string[] {
  return modelsInQuery(new URLSearchParams(query.map(([name, value]) => [name, value])).toString());
}

/** Opens the session at the request's only target. */
async function openAtTarget(parts: SessionParts): Promise<OpenSession> {
  const { context } = parts;
  const session = readSession(context);
  const { model } = session;
  context.log.model = model ?? null;
  context.log.requestedModel = context.log.model;
  const config = await readRequestConfig(context, model);
  context.log.named = config.named ?? null;
  const listModels = () => modelsOfSession(session);
  const names = model === undefined ? listModels() : [model, ...listModels()];
  const naming = { named: { names, isUnclear: false }, model, needsModel: config.isImplied };
  requireKeyModels(naming, context);
  const plan = planRequest(config, model === undefined ? {} : { model }, { context });
  const guard = new RequestGuard(kindOf("realtime"), config.view, context);
  const caller: Caller<OpenSession> = {
    async call(attempt, { deadline }) {
      const { node, settings } = attempt;
      const { model: wanted }: { model?: unknown } = applyParamOverrides(withTargetModel({ model }, config), settings);
      const asked = stringOf(wanted);
      requireTargetModel(config, { path: node.path, model: asked });
      const entering = guard.enter(attempt, asked === undefined ? {} : { model: asked }, { listModels });
      const guarded = entering && (await withinRequest(entering, deadline, context));
      const sessionGuard = createSessionGuard(
        guard.listenTo(attempt, asked === undefined ? {} : { model: asked }, sessionEvents),
        context,
      );
      const find = async (now: CallerContext) => {
        requireKeyModels(naming, now);
        const destination = await readLeafDestination({ node, settings, model: asked }, now);
        return { destination, settings, deadline, guard: guarded, sessionGuard };
      };
      return openSession({ ...session, model: asked }, find, parts);
    },
    // an open session is a success, but clients of the log count 101 as something else
    discard({ upstream, attempt }) {
      upstream.end.terminate();
      attempt.release();
    },
    canRepeat: true,
  };
  return runPlan(config, { ...plan, root: withoutOthers(plan.root) }, caller, context);
}

/** The log's error for a session that did not end normally. */
function toSessionError({ by, close }: RelayEnd, provider: string): Error | undefined {
  const isNormal = normalCloses.has(close.code) && by !== "gateway";
  if (isNormal) return undefined;
  const reason = close.reason === "" ? "" : `: ${close.reason}`;
  const options = { code: `close_${close.code}`, provider };
  const message = `The session was closed by the ${by} with ${close.code}${reason}`;
  return by === "client" ? new ClientClosedError(message, options) : new UpstreamError(502, message, options);
}

const revoked: RelayStop = { close: { code: 1008, reason: "the credential is no longer valid" } };

/**
 * The session's caller as it is now.
 *
 * @throws {GatewayError} If the session could not be opened any more: the credential, its rights, the user's role, the
 * workspace, or the stored provider with its model.
 */
async function findCaller({ findAgain }: OpenSession, access: KeyAccess, context: CallerContext) {
  const principal = await findCallerNow(context);
  requireAccess(principal, access);
  await requireRole({ principal, services: context.services }, access.scopes);
  // the check must not change the session's log row
  const caller = { ...context, principal, log: { ...context.log, secrets: [] } };
  await findAgain(caller);
  return caller;
}

/** Why a session must end now. What cannot be determined now does not end it. */
async function checkSession(
  session: OpenSession,
  access: KeyAccess,
  meter: SessionMeter,
  context: CallerContext,
): Promise<RelayStop | undefined> {
  let caller = context;
  try {
    caller = await findCaller(session, access, context);
  } catch (error) {
    if (error instanceof GatewayError && error.status < 500) return revoked;
  }
  return meter.settle(caller);
}

/** The response that accepts a session; once the host has it, the relay runs by itself. */
function acceptSession(session: OpenSession, access: KeyAccess, context: CallerContext): Reply {
  const { upstream, attempt, guard } = session;
  const { log } = context;
  const provider = log.provider ?? "provider";
  const headers = routingHeaders(provider, log);
  const offered = offeredProtocols(context);
  const notes = createSessionNotes();
  const meter = createSessionMeter(session, notes, context);
  const { promise: finished, resolve: finish } = Promise.withResolvers<Ending>();
  const end = async (error: Error | undefined) => {
    attempt.end();
    const denial = guard?.denial;
    guard?.note();
    log.model ??= notes.model();
    await meter.settleTranscription();
    log.usage = notes.usage();
    log.uncounted = notes.uncounted();
    log.hasUnseenUse = log.uncounted.length > 0;
    // the events hold what guardrails found
    log.responseBody = guard?.isTouched ? null : notes.events();
    finish({ status: denial?.status ?? 101, error: denial ?? error });
  };
  return {
    status: 101,
    headers,
    body: null,
    finished,
    upgrade: {
      // clients that offer subprotocols refuse a response that selects none
      protocol: offered.find((name) => name === upstream.protocol) ?? offered[0],
      maxMessageBytes,
      open: (client) =>
        relaySockets({
          client,
          upstream: upstream.end,
          clock: context.services.clock,
          streams: context.services.streams,
          limits: {
            maxMessageBytes,
            idleTimeoutMs: context.services.limits.realtimeIdleTimeoutMs,
            totalTimeoutMs: context.services.limits.realtimeTotalTimeoutMs,
          },
          note: notes.add,
          screen: guard,
          ended: (how) => void end(toSessionError(how, provider)),
          check: () => checkSession(session, access, meter, context),
        }),
      failed(error) {
        attempt.release();
        upstream.end.terminate();
        const message = "Cannot open the WebSocket: the caller disconnected";
        void end(new ClientClosedError(message, { cause: error, code: "client_closed" }));
      },
    },
  };
}

/**
 * `GET /realtime`: opens a WebSocket at the provider, then the caller's, and relays between them. Every refusal happens
 * before the caller's is opened.
 *
 * @param access What the endpoint requires of callers; it is checked again while the session runs.
 */
export async function runRealtime(context: CallerContext, access: KeyAccess): Promise<Reply> {
  const open = requireHandshake(context);
  context.log.stream = true;
  const session = await openAtTarget({ context, open });
  // from now on the sockets report when the caller leaves
  session.attempt.release();
  return acceptSession(session, access, context);
}
