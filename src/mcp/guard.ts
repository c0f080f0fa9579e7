import { askGateway } from "../context/ask-gateway.ts";
import { readVisibleHeader } from "../context/visible-header.ts";
import type { WorkspaceView } from "../control/resources.ts";
import { RpcError } from "../errors.ts";
import { runHooks } from "../guardrails/run.ts";
import type { TargetHooks } from "../guardrails/state.ts";
import type { PhaseOutcome, Subject } from "../guardrails/subject.ts";
import type { Body, Hook, Phase } from "../guardrails/types.ts";
import type { ExactNumbers } from "../lib/exact-numbers.ts";
import { hopHeader } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";
import type { HookResult } from "../schemas/hooks.ts";
import { belongsToTools, guardrailsOf, isGuarded } from "./guardrail-list.ts";
import { readWorkspace } from "./limits.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Message } from "./message.ts";
import { nameOf } from "./mirrored-headers.ts";
import { codes } from "./protocol.ts";
import { upstreamError } from "./upstream.ts";

/** Key in `_meta` of a soft denial. */
const guardrailKey = "ai.gateway/guardrail";

/** What a denial says about itself. */
interface Denial {
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const noHooks: readonly Hook[] = [];

/** The guardrail that denied a call, as clients see it. */
function describeDenial(
  { results }: Pick<PhaseOutcome, "results">,
  phase: Phase,
  { call, view }: { call: McpCall; view: WorkspaceView },
): Denial {
  const denied = results.find(({ deny }) => deny);
  const checks = denied?.checks.filter(({ verdict }) => !verdict) ?? [];
  const slug = denied?.id ?? "";
  const id = view.toolGuardrails.guardrails.get(slug)?.row.id ?? slug;
  const checkId = checks[0]?.id ?? null;
  const { message, server, context } = call;
  return {
    message: `${describeDenied(message, phase)} denied by guardrail '${slug}' (check ${checkId})`,
    data: {
      type: "guardrail_denied",
      phase,
      guardrail_id: id,
      guardrail: { id, slug, version_id: denied?.guardrail_version_id ?? null },
      check_id: checkId,
      checks: checks.map((check) => ({ id: check.id, verdict: check.verdict, explanation: explanationOf(check) })),
      server: server.slug,
      tool: nameOf(message) ?? null,
      trace_id: context.traceId,
    },
  };
}

function describeDenied({ kind, method }: Message, phase: Phase): string {
  if (kind === "response") return "Answer";
  if (method !== "tools/call") return "Request";
  return phase === "beforeRequestHook" ? "Tool call" : "Tool result";
}

function explanationOf({ data, error }: HookResult["checks"][number]): string | null {
  const explanation = isObject(data) ? data.explanation : undefined;
  return typeof explanation === "string" ? explanation : (error?.message ?? null);
}

function toError({ message, data }: Denial): RpcError {
  return new RpcError(200, message, { rpcCode: codes.guardrailDenied, code: "guardrail_denied", data });
}

/** A denial as the result of a tool, which models can read. */
function toSoftResult({ message, data }: Denial, { era }: McpCall): Record<string, unknown> {
  return {
    content: [{ type: "text", text: message }],
    isError: true,
    ...(era === "modern" && { resultType: "complete" }),
    _meta: { [guardrailKey]: data },
  };
}

/** @throws {RpcError} Code 446: a guardrail of the server does not exist, or cannot run in its phase. */
function requireKnown(names: readonly string[]): void {
  const [name] = names;
  if (name === undefined) return;
  throw new RpcError(200, `Cannot make this call: the guardrail ${name} of this server cannot be used`, {
    rpcCode: codes.guardrailDenied,
    code: "guardrail_unavailable",
    data: { type: "guardrail_unavailable", guardrail_id: name },
  });
}

/** Name under which checks see what a client answers to a question of the server. */
const answerName = "answer";

/** What the caller says: the parameters of a request, or what it answers to a question. */
function saidIn({ kind, params, value }: Message): Body {
  return kind === "response" ? { inputResponses: { [answerName]: value.result ?? value.error } } : params;
}

/** What checks see of a message: what the caller says, and what it is for. */
function toBody({ message, server, context }: McpCall): Body {
  const { _meta, ...params } = saidIn(message);
  const { userId, workspaceId } = context.principal;
  const tool = message.method === "tools/call" ? server.capabilities.tool.get(nameOf(message) ?? "") : undefined;
  const annotations = tool?.definition?.annotations;
  const about = { method: message.method, server: server.slug, user_id: userId, workspace_id: workspaceId };
  return { ...params, mcp: { ...about, ...(annotations !== undefined && { annotations }) } };
}

function toSubject(call: McpCall): Subject {
  const { context, server } = call;
  const { principal, numbers, services } = context;
  return {
    phase: "beforeRequestHook",
    requestType: "mcpToolCall",
    provider: server.slug,
    tenant: JSON.stringify([principal.organisationId, principal.workspaceId]),
    request: {
      body: toBody(call),
      header: (name) => readVisibleHeader(name, context),
      isStreaming: false,
      isTransformed: false,
      isBare: true,
      askModel: (question) => askGateway(context, question),
      ownHeaders: { [hopHeader]: services.hops.next(context.headers) },
    },
    response: undefined,
    metadata: context.metadata,
    ...(numbers && { restoreNumbers: (text: string) => numbers.restore(text) }),
  };
}

/** An answer to a question as guardrails changed it. */
function changedAnswer(message: Message, { inputResponses }: Body): Message {
  const changed = isObject(inputResponses) ? inputResponses[answerName] : undefined;
  const member = message.value.result === undefined ? "error" : "result";
  return { ...message, value: { ...message.value, [member]: changed } };
}

/** What guardrails may change of a message: what the caller says, not what it is for. */
function changedMessage(message: Message, body: Body): Message {
  if (message.kind === "response") return changedAnswer(message, body);
  const params = { ...message.params };
  for (const name of ["arguments", "inputResponses"]) {
    const changed = body[name];
    if (changed === params[name]) continue;
    if (!isObject(changed)) {
      throw upstreamError(502, `Cannot use a guardrail's version of the call: ${name} must be an object`);
    }
    params[name] = changed;
  }
  return { ...message, params, value: { ...message.value, params } };
}

/** Most results of messages before an answer that a row has. */
const maxEarlier = 20;

/** Guardrails of one call: those after it wait for its answer. */
class CallGuard {
  readonly #call: McpCall;
  readonly #view: WorkspaceView;
  readonly #hooks: TargetHooks;
  readonly #subject: Subject;
  readonly #before: readonly HookResult[];
  /** Results of messages before the answer that were withheld or changed. */
  readonly #earlier: HookResult[] = [];

  constructor(
    call: McpCall,
    { view, hooks, before }: { view: WorkspaceView; hooks: TargetHooks; before: PhaseOutcome | undefined },
    subject: Subject,
  ) {
    this.#call = call;
    this.#view = view;
    this.#hooks = hooks;
    this.#before = before?.results ?? [];
    const request = before ? { body: before.body, isTransformed: before.isTransformed } : {};
    this.#subject = { ...subject, request: { ...subject.request, ...request } };
    this.#note([], undefined);
  }

  #toAfter(body: Body, numbers: ExactNumbers | undefined): Subject {
    const { restoreNumbers: _, ...subject } = this.#subject;
    const response = { body, status: 200, isTransformed: false };
    const after: Subject = { ...subject, phase: "afterRequestHook", response };
    return numbers ? { ...after, restoreNumbers: (text) => numbers.restore(text) } : after;
  }

  /** Records results, and the guardrails that nobody waits for. */
  #note(after: readonly HookResult[], answer: Subject | undefined): void {
    const { later } = this.#hooks;
    const { services, log } = this.#call.context;
    const [before, subject] = [later.before, this.#subject];
    const ofAnswer = answer ? later.after : noHooks;
    const run = async (hooks: readonly Hook[], of: Subject) =>
      hooks.length === 0 ? [] : (await runHooks(hooks, of, services.clock)).results;
    const runLater = async () => ({
      before: await run(before, subject),
      after: await run(ofAnswer, answer ?? subject),
    });
    const waiting = before.length + ofAnswer.length;
    log.hooks = { before: this.#before, after: [...this.#earlier, ...after], later: waiting > 0 ? [runLater] : [] };
  }

  /** Whether guardrails look at the answer. */
  get judgesAnswers(): boolean {
    return this.#hooks.after.length + this.#hooks.later.after.length > 0;
  }

  /**
   * A message of the server before its answer as its guardrails leave it; undefined for one that the caller does not get.
   *
   * @throws {RpcError} 200, code 446, for a denied question: the server would wait for an answer.
   */
  async judgeMessage(
    value: Record<string, unknown>,
    numbers: ExactNumbers | undefined,
  ): Promise<Record<string, unknown> | undefined> {
    if (this.#hooks.after.length === 0 || !isObject(value.params)) return value;
    const subject = this.#toAfter({ notification: value.params }, numbers);
    const outcome = await runHooks(this.#hooks.after, subject, this.#call.context.services.clock);
    if (!outcome.isDenied && !outcome.isTransformed) return value;
    if (this.#earlier.length < maxEarlier) this.#earlier.push(...outcome.results);
    this.#note([], undefined);
    if (!outcome.isDenied) return { ...value, params: outcome.body.notification };
    if (value.id === undefined) return undefined;
    throw toError(this.#describe(outcome, "afterRequestHook"));
  }

  /**
   * The answer as its guardrails leave it.
   *
   * @throws {RpcError} 200, code 446, if one denies it.
   */
  async judge(answer: Record<string, unknown>, numbers: ExactNumbers | undefined): Promise<Record<string, unknown>> {
    const { result, error } = answer;
    const body: Body = isObject(result) ? result : { error };
    const { clock } = this.#call.context.services;
    const subject = this.#toAfter(body, numbers);
    const outcome = await runHooks(this.#hooks.after, subject, clock);
    this.#note(outcome.results, this.#toAfter(outcome.body, numbers));
    if (outcome.isDenied) return this.deny(outcome, "afterRequestHook", answer);
    if (!outcome.isTransformed) return answer;
    if (!isObject(result)) return { ...answer, error: outcome.body.error };
    return { ...answer, result: requireShape(result, outcome.body) };
  }

  #describe(outcome: PhaseOutcome, phase: Phase): Denial {
    this.#call.context.log.isDenied = true;
    return describeDenial(outcome, phase, { call: this.#call, view: this.#view });
  }

  /** The error of a denied answer to a question. */
  toDeniedAnswer(outcome: PhaseOutcome): RpcError {
    return toError(this.#describe(outcome, "beforeRequestHook"));
  }

  /** Ends a denied call: by an error, or softly by a result. */
  deny(outcome: PhaseOutcome, phase: Phase, answer: Record<string, unknown>): Record<string, unknown> {
    const denial = this.#describe(outcome, phase);
    if (!outcome.isSoft || this.#call.message.method !== "tools/call") throw toError(denial);
    const { error: _, ...rest } = answer;
    return { ...rest, result: toSoftResult(denial, this.#call) };
  }
}

/** @throws {RpcError} 502 for a result that lost the list of its contents. */
function requireShape(before: Body, now: Body): Body {
  for (const name of ["content", "contents", "messages"]) {
    if (Array.isArray(before[name]) && !Array.isArray(now[name])) {
      throw upstreamError(502, `Cannot use a guardrail's version of the answer: ${name} must be a list`);
    }
  }
  return now;
}

/** What the guardrails before a call made of it. */
type Guarded =
  | {
      readonly kind: "call";
      readonly call: McpCall;
      /** An answer to a question was denied: the server gets an error in its place, and its sender this one. */
      readonly error?: RpcError;
    }
  /** It was denied softly: this is its answer. */
  | { readonly kind: "answer"; readonly answer: Record<string, unknown> };

/** The hooks of a call; undefined without any. */
function findHooks(call: McpCall, view: WorkspaceView): TargetHooks | undefined {
  const { guardrails } = call.context.services;
  // defaults are for tools; what a mapping names runs on prompts and resources too
  const saved = belongsToTools(call.message) ? view.toolGuardrails : withoutDefaults(view.toolGuardrails);
  const written = guardrailsOf(call.message, call.server);
  const { unknown, unknownDefaults } = guardrails.findUnknown(written, saved);
  requireKnown([...unknown, ...unknownDefaults]);
  return guardrails.of(written, saved);
}

type Saved = WorkspaceView["toolGuardrails"];
const bare = new WeakMap<Saved, Saved>();

function withoutDefaults(saved: Saved): Saved {
  const known = bare.get(saved) ?? { ...saved, defaultGuardrails: { input: [], output: [] } };
  bare.set(saved, known);
  return known;
}

function noteChange({ context }: McpCall, message: Message): void {
  const text = JSON.stringify(message.value);
  context.log.requestBody = context.numbers?.restore(text) ?? text;
  context.log.given = { ...message.value };
}

/** Whether a call can have guardrails at all: most workspaces have none for tools. */
function mayHaveGuardrails({ server, message }: McpCall, { toolGuardrails }: WorkspaceView): boolean {
  const { input, output } = toolGuardrails.defaultGuardrails;
  const hasDefaults = belongsToTools(message) && input.length + output.length > 0;
  return hasDefaults || server.guardrails.length > 0;
}

/** A denied answer to a question of the server: the server waits, and gets an error that says nothing else. */
function refuseAnswer(call: McpCall, error: RpcError): Guarded {
  const { jsonrpc, id } = call.message.value;
  const value = { jsonrpc, id, error: { code: error.rpcCode, message: error.message } };
  return { kind: "call", call: { ...call, message: { ...call.message, value } }, error };
}

/**
 * Runs the guardrails before a call. Those after it run in `call.judge`.
 *
 * @throws {RpcError} 200, code 446, if one denies the call.
 */
export async function guardCall(call: McpCall): Promise<Guarded> {
  const { message, context } = call;
  if (!isGuarded(message)) return { kind: "call", call };
  const view = await readWorkspace(context);
  if (!view || !mayHaveGuardrails(call, view)) return { kind: "call", call };
  const hooks = findHooks(call, view);
  if (!hooks) return { kind: "call", call };
  const subject = toSubject(call);
  const before = await runHooks(hooks.before, subject, context.services.clock);
  const guard = new CallGuard(call, { view, hooks, before }, subject);
  if (before.isDenied && message.kind === "response") return refuseAnswer(call, guard.toDeniedAnswer(before));
  if (before.isDenied) return { kind: "answer", answer: guard.deny(before, "beforeRequestHook", { jsonrpc: "2.0" }) };
  const changed = before.isTransformed ? changedMessage(message, before.body) : message;
  if (before.isTransformed) noteChange(call, changed);
  const guarded: McpCall = {
    ...call,
    message: changed,
    ...(hooks.before.length > 0 && { sent: message, hookHeaders: before.headers }),
    ...(guard.judgesAnswers && {
      judge: (answer, numbers) => guard.judge(answer, numbers),
      judgeMessage: (value, numbers) => guard.judgeMessage(value, numbers),
    }),
  };
  return { kind: "call", call: guarded };
}

/** Refuses results with encoded files where the server's settings say so: guardrails cannot read them. */
export function refuseBinary({ server }: McpCall, answer: Readonly<Record<string, unknown>>): void {
  if (!server.settings.refuse_binary || !isObject(answer.result)) return;
  const { content, contents } = answer.result;
  const items = [content, contents].flatMap((list) => (Array.isArray(list) ? list : []));
  const isBinary = (item: unknown): boolean =>
    isObject(item) &&
    (typeof item.blob === "string" || item.type === "image" || item.type === "audio" || isBinary(item.resource));
  if (!items.some(isBinary)) return;
  throw new RpcError(200, "Cannot return the result: this server may not return images, audio or files", {
    rpcCode: codes.guardrailDenied,
    code: "binary_refused",
    data: { type: "binary_refused" },
  });
}
