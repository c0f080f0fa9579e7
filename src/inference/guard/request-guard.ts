import type { HookLog } from "../../context/call-record.ts";
import type { CallerContext, Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { isJsonType } from "../../endpoint.ts";
import { GuardrailDeniedError } from "../../errors.ts";
import type { SavedGuardrails } from "../../guardrails/resolve.ts";
import { type PhaseOutcome, runHooks, type Subject } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import type { Body, Hook, RequestType } from "../../guardrails/types.ts";
import { type ExactValue, parseExact } from "../../lib/exact-numbers.ts";
import { hopHeader } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ConfigNode, InheritedSettings } from "../../routing/config.ts";
import type { HookResults } from "../../schemas/hooks.ts";
import { noteSpent } from "../call/cost.ts";
import { asksForUsage } from "../facts/operation-facts.ts";
import { kindOf, type RequestKind } from "../facts/request-types.ts";
import { replay } from "../stream/replay.ts";
import { readStream, StreamHooks, withStreamResults } from "../stream/stream-hooks.ts";
import { readStoredName } from "../target/stored-provider.ts";
import { requireAnswer, requireRequest } from "./guardrail-output.ts";
import { withinRequest } from "./request-deadline.ts";

/** Status of an answer with which a hook that does not deny found fault. */
const hooksFailed = 246;

/** What hooks said, as clients are told it. */
export function toHookResults({ before, after }: Pick<HookLog, "before" | "after">): HookResults {
  return { before_request_hooks: [...before], after_request_hooks: [...after] };
}

const decoder = new TextDecoder();

/** The JSON object of an answer; undefined for any other. */
function readAnswer(
  { headers, body }: Reply,
  { numbers }: CallerContext,
): (Pick<ExactValue, "write"> & { text: string; value: Body }) | undefined {
  if (body === null || body instanceof ReadableStream || !isJsonType(headers["content-type"] ?? "")) return undefined;
  const text = typeof body === "string" ? body : decoder.decode(body);
  try {
    const { value, write } = parseExact(text, numbers);
    return isObject(value) ? { text, value, write } : undefined;
  } catch {
    return undefined;
  }
}

/** The text of a JSON object with what the hooks said behind its own members, which stay as they were written. */
function withResults(text: string, results: HookResults): string {
  const end = text.lastIndexOf("}");
  const isEmpty = text.slice(0, end).trimEnd().endsWith("{");
  return `${text.slice(0, end)}${isEmpty ? "" : ","}"hook_results":${JSON.stringify(results)}}`;
}

/** What a guard is made from. */
interface GuardParts {
  requestType: RequestType;
  /** What hooks say may stand in a stream. */
  tellsInStreams: boolean;
  hooks: TargetHooks;
  context: CallerContext;

  /** Takes an answer that may be asked for again. */
  keep: CallerContext["keepAnswer"];
}

/** The guardrails of one target while it is called; made once however often the call is tried again. */
export class TargetGuard {
  readonly #parts: GuardParts;
  /** The request as the hooks left it. */
  readonly request: Body;
  /** Headers they want the provider to get; null for one it is not to have. */
  readonly #headers: Readonly<Record<string, string | null>>;
  readonly #before: PhaseOutcome;
  readonly #subject: Subject;
  #kept: object | undefined;
  #deadline: number | undefined;

  constructor(parts: GuardParts, subject: Subject, before: PhaseOutcome) {
    this.#parts = parts;
    this.#before = before;
    this.request = before.body;
    this.#headers = before.headers;
    const { isTransformed } = before;
    this.#subject = { ...subject, request: { ...subject.request, body: before.body, isTransformed } };
  }

  /**
   * Gets ready for a call: an answer that may be asked for again waits for what the hooks say of it.
   *
   * @param deadline Milliseconds of the monotonic clock at which the whole request ends.
   */
  begin(deadline: number | undefined): void {
    const { context, keep } = this.#parts;
    this.#deadline = deadline;
    this.note();
    this.#kept = undefined;
    // what was cut out of a request is not for the log either
    if (this.#before.isTransformed) context.log.requestBody = JSON.stringify(this.request);
    if (!keep) return;
    context.keepAnswer = (answer) => {
      this.#kept = answer;
    };
  }

  /** Sets the headers the hooks want the provider to get, and takes out those it is not to have. */
  addHeaders(headers: Record<string, string>): void {
    // many servers read an underscore in a header's name as a hyphen
    for (const name of Object.keys(headers)) {
      if (name.includes("_") && Object.hasOwn(this.#headers, name.replaceAll("_", "-"))) delete headers[name];
    }
    for (const [name, value] of Object.entries(this.#headers)) {
      if (value === null) delete headers[name];
      else if (this.#parts.context.services.headerRules.mayGoUpstream(name)) headers[name] = value;
    }
  }

  /** The status of an answer that passed, by what the hooks before it said. */
  get status(): number {
    return this.#before.isFailed ? hooksFailed : 200;
  }

  /** Notes what there is to log of the target so far. */
  note(after: PhaseOutcome["results"] = [], later: HookLog["later"] = this.#laterOf(undefined)): HookLog {
    const log: HookLog = { before: this.#before.results, after, later };
    this.#parts.context.log.hooks = log;
    return log;
  }

  /** Hooks that run behind the answer, or where there is none, behind its failure. */
  #laterOf(answer: Body | undefined): HookLog["later"] {
    const {
      hooks,
      context: { services },
    } = this.#parts;
    const run = async (list: readonly Hook[], subject: Subject) =>
      list.length === 0 ? [] : (await runHooks(list, subject, services.clock)).results;
    const before = this.#subject;
    const after = answer && this.#toAfter(answer);
    if (hooks.later.before.length === 0 && (!after || hooks.later.after.length === 0)) return [];
    return [
      async () => ({
        before: await run(hooks.later.before, before),
        after: after ? await run(hooks.later.after, after) : [],
      }),
    ];
  }

  #toAfter(answer: Body): Subject {
    const provider = this.#parts.context.log.provider ?? this.#subject.provider;
    return {
      ...this.#subject,
      phase: "afterRequestHook",
      provider,
      response: { body: answer, status: 200, isTransformed: false },
    };
  }

  /** What the hooks after the call say of an answer. */
  async check(answer: Body, options: { isStreamed?: boolean; isCut?: boolean } = {}): Promise<PhaseOutcome> {
    const {
      hooks,
      context: { services },
    } = this.#parts;
    const subject: Subject = {
      ...this.#toAfter(answer),
      ...(options.isStreamed && { fixedBecause: streamed, isOut: true }),
      ...(options.isCut && { isCut: true }),
    };
    const after = await runHooks(hooks.after, subject, services.clock);
    this.note(after.results, this.#laterOf(after.body));
    return after;
  }

  /** Hands on the answer that may be asked for again; `body` is what the hooks made of it. */
  keep(body: Body | undefined): void {
    if (this.#kept) this.#parts.keep?.(body ?? this.#kept);
  }

  /**
   * The answer with what the hooks said of it.
   *
   * @throws {GuardrailDeniedError} If one denies it.
   */
  async finish(reply: Reply): Promise<Reply> {
    // failures are thrown: what comes here is an answer
    const status = this.#before.isFailed ? hooksFailed : reply.status;
    const read = readAnswer(reply, this.#parts.context);
    if (!read) return { ...reply, status };
    const { after, results } = await this.#judge(read.value);
    if (results.before_request_hooks.length + results.after_request_hooks.length === 0) return reply;
    const body = withResults(after.isTransformed ? read.write(after.body) : read.text, results);
    this.#parts.context.log.responseBody = body;
    return { ...reply, status: after.isFailed ? hooksFailed : status, body };
  }

  /** Checks a whole answer. @throws {GatewayError} Also when nobody waits for it any longer. */
  async #judge(answer: Body): Promise<{ after: PhaseOutcome; results: HookResults }> {
    const after = await withinRequest(this.check(answer), this.#deadline, this.#parts.context).catch(
      (cause: unknown) => {
        noteSpent(this.#parts.context);
        throw cause;
      },
    );
    const results = toHookResults({ before: this.#before.results, after: after.results });
    if (after.isDenied) {
      noteSpent(this.#parts.context);
      throw new GuardrailDeniedError("Cannot give this answer: a guardrail denied it; hook_results tells which", {
        hookResults: results,
        isSoft: after.isSoft,
      });
    }
    const { requestType, context } = this.#parts;
    requireAnswer(requestType, [answer, after.body], () => noteSpent(context));
    this.keep(after.isTransformed ? after.body : undefined);
    return { after, results };
  }

  /** Whether a streamed answer is held back until the hooks have seen all of it. */
  get holdsStreams(): boolean {
    return this.#parts.hooks.holdsStreams;
  }

  /**
   * As `finish`, for the text of a stream that was held back.
   *
   * @throws {GuardrailDeniedError} If a hook denies it.
   */
  async finishStream(reply: Reply, strict: boolean): Promise<Reply> {
    const { requestType, context } = this.#parts;
    const text = String(reply.body);
    const answer = readStream(text);
    if (!answer) return reply;
    const { after } = await this.#judge(answer);
    const includeUsage = asksForUsage(this.request);
    const stream = after.isTransformed ? replay(requestType, after.body, { includeUsage }) : text;
    const told = { requestType, strict, before: this.#before.results, after: after.results };
    const body = withStreamResults(stream, told);
    context.log.responseBody = body;
    return { ...reply, status: after.isFailed ? hooksFailed : this.status, body };
  }

  /** What a streamed answer is watched with, and what is told in it. */
  stream(strict: boolean): StreamHooks {
    const { requestType, hooks } = this.#parts;
    const isWatched = hooks.after.length + hooks.later.after.length > 0;
    // clients of other routes take no events but their own
    const isTold = this.#parts.tellsInStreams && !strict;
    return new StreamHooks({ guard: this, requestType, strict: !isTold, isWatched, before: this.#before.results });
  }
}

const streamed = "Cannot change an answer that is streamed";

/** What of a workspace its guardrails depend on. */
type SavedView = SavedGuardrails & Pick<WorkspaceView, "providers">;

/** What of a target its guardrails depend on. */
interface GuardedTarget {
  node: Pick<ConfigNode, "provider" | "virtualKey">;
  settings: Pick<InheritedSettings, "hooks">;
}

/** What is known of a request beside its body. */
interface EnteredFacts {
  /** It has no body and calls no model. */
  isBare?: boolean;
  /** Models it names elsewhere than in its body. */
  listModels?: () => readonly string[];
}

/** Guardrails of one request, over all its targets. */
export class RequestGuard {
  /** Made with the first that has guardrails. */
  #entered: Map<GuardedTarget, Promise<TargetGuard>> | undefined;
  readonly #kind: RequestKind;
  readonly #context: CallerContext;
  readonly #services: Services;
  readonly #keep: CallerContext["keepAnswer"];

  readonly #saved: SavedView;

  /** @param saved What the workspace has saved. */
  constructor(kind: RequestKind, saved: SavedView, context: CallerContext) {
    this.#kind = kind;
    this.#saved = saved;
    this.#context = context;
    this.#services = context.services;
    this.#keep = context.keepAnswer;
  }

  /**
   * Runs the hooks before a target's call, once however often it is tried; undefined where it has none.
   *
   * @param request The request, parameters of the config applied; empty where it is not read.
   * @throws {GuardrailDeniedError} If one denies it, or cannot look at it and lets nothing unseen through.
   */
  enter(attempt: GuardedTarget, request: Body, facts: EnteredFacts = {}): Promise<TargetGuard> | undefined {
    const known = this.#entered?.get(attempt);
    if (known) return known;
    const hooks = this.#services.guardrails.of(attempt.settings.hooks, this.#saved, this.#kind.visibility);
    if (!hooks) {
      if (this.#keep) this.#context.keepAnswer = this.#keep;
      return undefined;
    }
    const entered = this.#enter(hooks, attempt, { request, facts });
    this.#entered ??= new Map();
    this.#entered.set(attempt, entered);
    return entered;
  }

  async #enter(
    hooks: TargetHooks,
    { node }: GuardedTarget,
    { request, facts }: { request: Body; facts: EnteredFacts },
  ): Promise<TargetGuard> {
    const [context, services, kind] = [this.#context, this.#services, this.#kind];
    const { type: requestType, alsoTypes, leadsTo = [], fixedBecause } = kind;
    const provider = this.#providerOf(node, request);
    const subject: Subject = {
      phase: "beforeRequestHook",
      requestType,
      alsoTypes,
      leadsTo,
      provider,
      tenant: JSON.stringify([context.principal.organisationId, context.principal.workspaceId]),
      request: {
        body: request,
        header: (name) => readClientHeader(name, context),
        isStreaming: request.stream === true || context.log.stream,
        isTransformed: false,
        isBare: facts.isBare === true,
        otherModels(body) {
          const { names, isUnclear } = modelsInBody(body);
          return { names: [...(facts.listModels?.() ?? []), ...names], isUnclear };
        },
        ownHeaders: { [hopHeader]: services.hops.next(context.headers) },
      },
      response: undefined,
      metadata: context.metadata,
      ...(fixedBecause !== undefined && { fixedBecause }),
    };
    const isFixed = fixedBecause !== undefined;
    const before = isFixed ? hooks.before.filter(({ type }) => type !== "mutator") : hooks.before;
    const outcome = await runHooks(before, subject, services.clock);
    const parts = { requestType, tellsInStreams: !isFixed, hooks: { ...hooks, before }, context };
    const guard = new TargetGuard({ ...parts, keep: this.#keep }, subject, outcome);
    const log = guard.note();
    if (!outcome.isDenied) {
      requireRequest(requestType, request, outcome.body);
      return guard;
    }
    context.log.provider ??= provider === "" ? null : provider;
    throw new GuardrailDeniedError(toDenial(outcome), {
      hookResults: toHookResults(log),
      isSoft: outcome.isSoft,
    });
  }

  /** Slug of the provider a target is about, before it is known how it is called; empty where nothing names one. */
  #providerOf({ provider, virtualKey }: GuardedTarget["node"], { model }: Body): string {
    const { header } = this.#context;
    const slugOf = (name: string | null | undefined) => readStoredName(name)?.slug;
    const named = provider ?? virtualKey ?? header("provider") ?? header("virtual-key");
    const stored = named === null ? slugOf(typeof model === "string" ? model : undefined) : (slugOf(named) ?? named);
    const found = stored === undefined ? undefined : this.#saved.providers.get(stored);
    return found?.integration.aiProviderId ?? named ?? "";
  }
}

/** What a caller is told of a denial. */
function toDenial({ results }: PhaseOutcome): string {
  const closed = results.filter(({ deny, checks }) => deny && checks.some(({ data }) => data?.closed === true));
  if (closed.length === 0) return "Cannot make this call: a guardrail denied the request; hook_results tells which";
  const names = [...new Set(closed.map(({ id }) => id))].join(", ");
  return `Cannot make this call: the default guardrail ${names} cannot look at it, and closes this route`;
}

/** Headers of the gateway's own that tell nothing but where a request stands in a trace. */
const traceNames = ["trace-id", "span-id"];

/** A signed token, with which people may authenticate in place of a key. */
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * A header of the client, as checks may see it: none that holds the gateway key, besides a token that is one, and of the
 * gateway's own, whichever prefix they come with, those of the trace.
 */
function readClientHeader(
  name: string,
  { headers, gatewayKey, services: { headerPrefixes } }: CallerContext,
): string | undefined {
  const lower = name.toLowerCase();
  const prefix = headerPrefixes.find((one) => lower.startsWith(one));
  if (prefix !== undefined && !traceNames.includes(lower.slice(prefix.length))) return undefined;
  const value = headers.get(lower);
  const isToken = lower === "authorization" && tokenForm.test(gatewayKey);
  return value?.includes(gatewayKey) && !isToken ? undefined : value;
}

/** The guardrails of a request for a unified operation. */
export function createRequestGuard(name: OperationName, saved: SavedView, context: CallerContext): RequestGuard {
  return new RequestGuard(kindOf(name), saved, context);
}

/** Status an answer that is passed on gets by what hooks said before it. */
export function statusAfterHooks(status: number, { log }: CallerContext): number {
  return status === 200 && log.hooks?.before.some(({ verdict }) => !verdict) ? hooksFailed : status;
}
