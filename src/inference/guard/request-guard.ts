import { askGateway } from "../../context/ask-gateway.ts";
import type { HookLog } from "../../context/call-record.ts";
import { readVisibleHeader } from "../../context/visible-header.ts";
import type { CallerContext, Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { GuardrailDeniedError } from "../../errors.ts";
import type { SavedGuardrails } from "../../guardrails/resolve.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import type { PhaseOutcome, Subject } from "../../guardrails/subject.ts";
import type { Body, Hook, RequestType } from "../../guardrails/types.ts";
import { WindowChecks } from "../../guardrails/window.ts";
import { hopHeader } from "../../lib/headers.ts";
import { stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Soon } from "../../lib/soon.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ConfigNode, InheritedSettings } from "../../routing/config.ts";
import { noteDiscarded } from "../call/cost.ts";
import { toHookResults } from "../facts/hook-results.ts";
import { asksForUsage } from "../facts/operation-facts.ts";
import { kindOf, type RequestKind } from "../facts/request-types.ts";
import { replay } from "../stream/replay.ts";
import { readStream, StreamHooks, withStreamResults } from "../stream/stream-hooks.ts";
import { requireAnswer, requireRequest } from "./guardrail-output.ts";
import { readAnswer } from "./read-answer.ts";
import { withinRequest } from "./request-deadline.ts";

/** Status of a response in which a guardrail that does not deny found a violation. */
const hooksFailed = 246;

/** What a guard is made from. */
interface GuardParts {
  requestType: RequestType;
  /** Guardrail results may be sent in streams. */
  addsToStreams: boolean;
  hooks: TargetHooks;
  context: CallerContext;

  /** Stores a response that may be read again. */
  store: CallerContext["storeResponse"];
}

/** The guardrails of one target while it is called; created once for all its attempts. */
export class TargetGuard {
  readonly #parts: GuardParts;
  /** The request after the guardrails changed it. */
  readonly request: Body;
  /** Headers the guardrails set for the provider; null removes one. */
  readonly #headers: Readonly<Record<string, string | null>>;
  readonly #before: PhaseOutcome;
  readonly #subject: Subject;
  #unstored: object | undefined;
  #deadline: number | undefined;

  constructor(parts: GuardParts, subject: Subject, before: PhaseOutcome) {
    this.#parts = parts;
    this.#before = before;
    this.request = before.body;
    this.#headers = before.headers;
    this.#subject = subject;
  }

  /**
   * Prepares a call: a response to be stored waits for its guardrails.
   *
   * @param deadline Monotonic time in milliseconds at which the whole request ends.
   */
  begin(deadline: number | undefined): void {
    const { context, store } = this.#parts;
    this.#deadline = deadline;
    this.note();
    this.#unstored = undefined;
    // text removed from a request must not be logged either
    if (this.#before.isTransformed) {
      context.log.requestBody = JSON.stringify(this.request);
      context.log.given = this.request;
    }
    if (!store) return;
    context.storeResponse = (answer) => {
      this.#unstored = answer;
    };
  }

  /** Sets the headers that guardrails want the provider to receive, and removes those they exclude. */
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

  /** The status of a successful response, after the results of the guardrails before it. */
  get status(): number {
    return this.#before.isFailed ? hooksFailed : 200;
  }

  /** Records the results of the target so far for the log. */
  note(after: PhaseOutcome["results"] = [], later: HookLog["later"] = this.#laterOf(undefined)): HookLog {
    const log: HookLog = { before: this.#before.results, after, later };
    this.#parts.context.log.hooks = log;
    return log;
  }

  /** Async guardrails that run after the response, or after its failure. */
  #laterOf(answer: Body | undefined): HookLog["later"] {
    const {
      hooks,
      context: { services },
    } = this.#parts;
    const { before, after } = hooks.later;
    if (before.length === 0 && (!answer || after.length === 0)) return noLater;
    const run = async (list: readonly Hook[], subject: Subject) =>
      list.length === 0 ? [] : (await runHooks(list, subject, services.clock)).results;
    const asked: Subject = { ...this.#subject, request: this.#sent };
    const answered = answer && this.#toAfter(answer);
    return [async () => ({ before: await run(before, asked), after: answered ? await run(after, answered) : [] })];
  }

  /** The request as the guardrails left it. */
  get #sent(): Subject["request"] {
    const { body, isTransformed } = this.#before;
    const { request } = this.#subject;
    return isTransformed ? { ...request, body, isTransformed } : request;
  }

  /** What output guardrails check. That the request cannot be changed does not matter to them. */
  #toAfter(answer: Body): Subject {
    const subject = this.#subject;
    const { requestType, alsoTypes = noTypes, leadsTo = noTypes, provider, metadata } = subject;
    return {
      phase: "afterRequestHook",
      requestType,
      alsoTypes,
      leadsTo,
      get tenant() {
        return subject.tenant;
      },
      provider: this.#parts.context.log.provider ?? provider,
      request: this.#sent,
      response: { body: answer, status: 200, isTransformed: false },
      metadata,
    };
  }

  /** Runs the output guardrails on a response. */
  #check(answer: Body, fixedBecause: string | undefined): Soon<PhaseOutcome> {
    const { hooks, context } = this.#parts;
    const subject = this.#toAfter(answer);
    const checked = fixedBecause === undefined ? subject : { ...subject, fixedBecause };
    const checking = runHooks(hooks.after, checked, context.services.clock);
    const noted = (after: PhaseOutcome): PhaseOutcome => {
      this.note(after.results, this.#laterOf(after.body));
      return after;
    };
    return checking instanceof Promise ? checking.then(noted) : noted(checking);
  }

  /**
   * Ends a streamed response that was sent: the results of the guardrails that decided while it flowed, and of those
   * that only report.
   *
   * @param answer What was sent; undefined where nothing reads it.
   */
  async conclude(
    answer: Body | undefined,
    { windowed, isCut }: { windowed: PhaseOutcome["results"]; isCut: boolean },
  ): Promise<PhaseOutcome["results"]> {
    const { hooks, context } = this.#parts;
    if (!answer) {
      if (windowed.length > 0) this.note(windowed);
      return windowed;
    }
    const sent: Subject = { ...this.#toAfter(answer), fixedBecause: streamed, isSent: true };
    const subject = isCut ? { ...sent, isCut } : sent;
    const informed = await runHooks(hooks.informed, subject, context.services.clock);
    const results = [...windowed, ...informed.results];
    this.note(results, this.#laterOf(answer));
    return results;
  }

  /**
   * The denial of a streamed response that is being sent.
   *
   * @param strict The client receives no results.
   */
  toDenial(windowed: PhaseOutcome["results"], strict: boolean): GuardrailDeniedError {
    this.note(windowed);
    if (strict) return new GuardrailDeniedError(denied, { isSoft: false });
    const hookResults = toHookResults({ before: this.#before.results, after: windowed });
    return new GuardrailDeniedError(denied, { hookResults, isSoft: false });
  }

  /** Stores the response that may be read again; `body` is what the guardrails made of it. */
  store(body: Body | undefined): void {
    if (this.#unstored) this.#parts.store?.(body ?? this.#unstored);
  }

  /**
   * The response with the guardrail results.
   *
   * @throws {GuardrailDeniedError} If a guardrail denies it.
   */
  finish(reply: Reply): Soon<Reply> {
    // failures are thrown, so this is a response
    const status = this.#before.isFailed ? hooksFailed : reply.status;
    const read = readAnswer(reply, this.#parts);
    if (!read) return { ...reply, status };
    const checking = this.#check(read.value, read.fixedBecause);
    const conclude = (after: PhaseOutcome): Reply => {
      this.#judge(read.value, after);
      const { log } = this.#parts.context;
      if (!log.hooks || log.hooks.before.length + log.hooks.after.length === 0) return reply;
      const text = after.isTransformed ? read.write(after.body) : read.text;
      // the row has the results beside the body
      if (after.isTransformed) log.responseBody = text;
      const body = read.withResults(text, JSON.stringify(toHookResults(log.hooks)));
      return { ...reply, status: after.isFailed ? hooksFailed : status, body };
    };
    return checking instanceof Promise ? this.#waitFor(checking).then(conclude) : conclude(checking);
  }

  /** Ends the check of a response. @throws {GatewayError} If it must not be returned. */
  #judge(answer: Body, after: PhaseOutcome): void {
    const { log } = this.#parts.context;
    // the row shows what the client got
    if ((after.isDenied || after.isTransformed) && log.phases) log.phases.original = null;
    if (after.isDenied) {
      noteDiscarded(this.#parts.context);
      const hookResults = toHookResults({ before: this.#before.results, after: after.results });
      throw new GuardrailDeniedError(denied, { hookResults, isSoft: after.isSoft });
    }
    const { requestType, context } = this.#parts;
    requireAnswer(requestType, [answer, after.body], () => noteDiscarded(context));
    this.store(after.isTransformed ? after.body : undefined);
  }

  /** Waits for guardrails while the request lasts. @throws {GatewayError} When nobody waits for it any longer. */
  async #waitFor(checking: Soon<PhaseOutcome>): Promise<PhaseOutcome> {
    const { context } = this.#parts;
    try {
      return await withinRequest(checking, this.#deadline, context);
    } catch (cause) {
      noteDiscarded(context);
      throw cause;
    }
  }

  /** Guardrails read the response. */
  get checksAnswers(): boolean {
    const { after, later } = this.#parts.hooks;
    return after.length + later.after.length > 0;
  }

  /** Ids of the checks that need all of a streamed response before it may be sent; empty without any. */
  get held(): readonly string[] {
    return this.#parts.hooks.held;
  }

  /**
   * As `finish`, for the text of a stream that was held back.
   *
   * @throws {GuardrailDeniedError} If a guardrail denies it.
   */
  async finishStream(reply: Reply, strict: boolean): Promise<Reply> {
    const { requestType, context } = this.#parts;
    const text = String(reply.body);
    const answer = readStream(text);
    if (!answer) return reply;
    const after = await this.#waitFor(this.#check(answer, undefined));
    this.#judge(answer, after);
    const includeUsage = asksForUsage(this.request);
    const stream = after.isTransformed ? replay(requestType, after.body, { includeUsage }) : text;
    const streamResults = { requestType, strict, before: this.#before.results, after: after.results };
    const body = withStreamResults(stream, streamResults);
    context.log.responseBody = body;
    return { ...reply, status: after.isFailed ? hooksFailed : this.status, body };
  }

  /** What observes a streamed response for its guardrails, and which results it sends. */
  stream(strict: boolean): StreamHooks {
    const { requestType, hooks, context } = this.#parts;
    const { window } = hooks;
    // a stored response is made of what was sent
    const isStored = window !== undefined && context.storeResponse !== undefined;
    const isWatched = isStored || hooks.informed.length + hooks.later.after.length > 0;
    const checks = window && new WindowChecks(window, context.services.clock);
    // clients of other routes accept only the route's own events
    const addsResults = this.#parts.addsToStreams && !strict;
    const before = this.#before.results;
    return new StreamHooks({ guard: this, requestType, strict: !addsResults, isWatched, checks, before });
  }
}

const noTypes: readonly RequestType[] = [];
const noLater: HookLog["later"] = [];

const denied = "Cannot return this response: a guardrail denied it; hook_results names it";
const streamed = "Cannot change a streamed response";

/** The workspace settings its guardrails depend on. */
type SavedView = SavedGuardrails & Pick<WorkspaceView, "providers">;

/** The target settings its guardrails depend on. */
interface GuardedTarget {
  node: Pick<ConfigNode, "provider" | "virtualKey">;
  settings: Pick<InheritedSettings, "hooks">;
}

/** Facts about a request beside its body. */
interface EnteredFacts {
  /** It has no body and calls no model. */
  isBare?: boolean;
  /** Models it names outside its body. */
  listModels?: () => readonly string[];
}

/** Guardrails of one request, for all its targets. */
export class RequestGuard {
  /** Created with the first target that has guardrails. */
  #entered: Map<GuardedTarget, Soon<TargetGuard>> | undefined;
  readonly #kind: RequestKind;
  readonly #context: CallerContext;
  readonly #services: Services;
  readonly #store: CallerContext["storeResponse"];

  readonly #saved: SavedView;

  /** @param saved The workspace's saved guardrails. */
  constructor(kind: RequestKind, saved: SavedView, context: CallerContext) {
    this.#kind = kind;
    this.#saved = saved;
    this.#context = context;
    this.#services = context.services;
    this.#store = context.storeResponse;
  }

  /**
   * Runs the guardrails before a target's call, once for all its attempts; undefined where it has none.
   *
   * @param request The request with the config's parameters applied; empty where it is not read.
   * @throws {GuardrailDeniedError} If one denies it, or cannot inspect it and denies uninspected content.
   */
  enter(attempt: GuardedTarget, request: Body, facts: EnteredFacts = {}): Soon<TargetGuard> | undefined {
    const known = this.#entered?.get(attempt);
    if (known) return known;
    // what a guardrail asks must not lead to guardrails again
    const hooks = this.#context.connection.isOfGuardrail
      ? undefined
      : this.#services.guardrails.of(attempt.settings.hooks, this.#saved, this.#kind.visibility);
    if (!hooks) {
      if (this.#store) this.#context.storeResponse = this.#store;
      return undefined;
    }
    const entered = this.#enter(hooks, attempt.node, { request, facts });
    this.#entered ??= new Map();
    this.#entered.set(attempt, entered);
    return entered;
  }

  /** The guardrails that check the parts of a request as they come, such as events; undefined where it has none. */
  listenTo(
    attempt: GuardedTarget,
    request: Body,
    visibility = this.#kind.visibility,
  ): { hooks: TargetHooks; subject: Subject } | undefined {
    const hooks = this.#services.guardrails.of(attempt.settings.hooks, this.#saved, visibility);
    if (!hooks) return undefined;
    const { fixedBecause: _, ...subject } = this.#toSubject(this.#providerOf(attempt.node, request), request, {});
    return { hooks, subject };
  }

  #toSubject(provider: string, request: Body, facts: EnteredFacts): Subject {
    const [context, services] = [this.#context, this.#services];
    const { type: requestType, alsoTypes, leadsTo = [], fixedBecause } = this.#kind;
    return {
      phase: "beforeRequestHook",
      requestType,
      alsoTypes,
      leadsTo,
      provider,
      get tenant() {
        return JSON.stringify([context.principal.organisationId, context.principal.workspaceId]);
      },
      request: {
        body: request,
        header: (name) => readVisibleHeader(name, context),
        isStreaming: request.stream === true || context.log.stream,
        isTransformed: false,
        isBare: facts.isBare === true,
        otherModels(body) {
          const { names, isUnclear } = modelsInBody(body);
          return { names: [...(facts.listModels?.() ?? []), ...names], isUnclear };
        },
        askModel: (question) => askGateway(context, question),
        get ownHeaders() {
          return { [hopHeader]: services.hops.next(context.headers) };
        },
      },
      response: undefined,
      metadata: context.metadata,
      ...(fixedBecause !== undefined && { fixedBecause }),
    };
  }

  #enter(
    all: TargetHooks,
    node: GuardedTarget["node"],
    { request, facts }: { request: Body; facts: EnteredFacts },
  ): Soon<TargetGuard> {
    const context = this.#context;
    const { type: requestType, fixedBecause } = this.#kind;
    const subject = this.#toSubject(this.#providerOf(node, request), request, facts);
    const isFixed = fixedBecause !== undefined;
    const hooks = isFixed ? { ...all, before: all.before.filter(({ type }) => type !== "mutator") } : all;
    const running = runHooks(hooks.before, subject, this.#services.clock);
    const conclude = (outcome: PhaseOutcome): TargetGuard => {
      const parts = { requestType, addsToStreams: !isFixed, hooks, context, store: this.#store };
      const guard = new TargetGuard(parts, subject, outcome);
      const log = guard.note();
      if (outcome.isDenied) throw this.#deny(subject, outcome, log);
      requireRequest(requestType, request, outcome.body);
      return guard;
    };
    if (running instanceof Promise) return running.then(conclude);
    try {
      return conclude(running);
    } catch (error) {
      // whoever asks again gets it again
      return Promise.reject(error);
    }
  }

  #deny({ provider }: Subject, outcome: PhaseOutcome, log: HookLog): GuardrailDeniedError {
    this.#context.log.provider ??= provider === "" ? null : provider;
    return new GuardrailDeniedError(toDenial(outcome), { hookResults: toHookResults(log), isSoft: outcome.isSoft });
  }

  /** Slug of a target's provider, before its destination is known; empty where nothing names one. */
  #providerOf({ provider, virtualKey }: GuardedTarget["node"], { model }: Body): string {
    const { header } = this.#context;
    const slugOf = (name: string | null | undefined) => readStoredName(name)?.slug;
    const named = provider ?? virtualKey ?? header("provider") ?? header("virtual-key");
    const stored = named === null ? slugOf(stringOf(model)) : (slugOf(named) ?? named);
    const found = stored === undefined ? undefined : this.#saved.providers.get(stored);
    return found?.integration.aiProviderId ?? named ?? "";
  }
}

/** The message of a denial. */
function toDenial({ results }: PhaseOutcome): string {
  const closed = results.filter(({ deny, checks }) => deny && checks.some(({ data }) => data?.closed === true));
  if (closed.length === 0) return "Cannot make this call: a guardrail denied the request; hook_results names it";
  const names = [...new Set(closed.map(({ id }) => id))].join(", ");
  return `Cannot make this call: the default guardrail ${names} cannot inspect it and denies uninspected requests`;
}

/** The guardrails of a request for a unified operation. */
export function createRequestGuard(name: OperationName, saved: SavedView, context: CallerContext): RequestGuard {
  return new RequestGuard(kindOf(name), saved, context);
}

/** Status of a forwarded response, from the results of the guardrails before it. */
export function statusAfterHooks(status: number, { log }: CallerContext): number {
  return status === 200 && log.hooks?.before.some(({ verdict }) => !verdict) ? hooksFailed : status;
}
