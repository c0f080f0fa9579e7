import type { HookLog } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import type { StoreResponse } from "../../dialects/types.ts";
import { GuardrailDeniedError, toErrorBody, UpstreamError } from "../../errors.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import { readStreamStrings } from "../../guardrails/strings/event-strings.ts";
import { RequestStrings } from "../../guardrails/strings/member-kinds.ts";
import type { PhaseOutcome, Subject } from "../../guardrails/subject.ts";
import type { Body, Hook, RequestType } from "../../guardrails/types.ts";
import { Placeholders } from "../../guardrails/values/placeholders.ts";
import { planWindow, WindowChecks } from "../../guardrails/window.ts";
import { parseJson } from "../../lib/json.ts";
import { visitJson } from "../../lib/json-strings.ts";
import type { Reply } from "../../lib/reply.ts";
import { textOfBody, withoutMedia } from "../../logs/body.ts";
import { noteDiscarded } from "../call/cost.ts";
import { toHookResults } from "../facts/hook-results.ts";
import { asksForUsage } from "../facts/operation-facts.ts";
import { cleanStream } from "../stream/clean-event.ts";
import { GuardStages, readStream, withStreamResults } from "../stream/guard-stages.ts";
import { replay } from "../stream/replay.ts";
import { requireAnswer } from "./guardrail-output.ts";
import { readAnswer } from "./read-answer.ts";
import { withinRequest } from "./request-deadline.ts";
import { restoreReply } from "./restore-reply.ts";

/** Status of a response in which a guardrail that does not deny found a violation. */
export const hooksFailed = 246;

/** Whether guardrails find something in the body of an error, which they deny or would replace. */
async function findsAny(checks: WindowChecks, body: unknown): Promise<boolean> {
  const strings: string[] = [];
  visitJson(body, { string: (one) => void strings.push(one) });
  for (const said of strings) {
    const text = checks.createWhole(said);
    text.isEnded = true;
    await checks.look(text, true);
    if (checks.isDenied || text.spans.length > 0) return true;
  }
  return false;
}

/** The failure of a provider without its words. Its status and headers say what to do next. */
function withoutWords({ status, provider, headers, upstreamHeaders }: UpstreamError): UpstreamError {
  const message = `${provider} error: a guardrail found something in its message, which is left out`;
  return new UpstreamError(status, message, {
    ...(provider !== undefined && { provider }),
    headers,
    ...(upstreamHeaders && { upstreamHeaders }),
  });
}

/** What a guard is made from. */
interface GuardParts {
  requestType: RequestType;
  /** Guardrail results may be sent in streams. */
  addsToStreams: boolean;
  hooks: TargetHooks;
  context: CallerContext;
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
  #store: StoreResponse | undefined;
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
   * @param store Stores the response after its guardrails. Default: it is not stored.
   * @returns What the call stores its response with.
   */
  begin(deadline: number | undefined, store?: StoreResponse): StoreResponse | undefined {
    const { context } = this.#parts;
    this.#deadline = deadline;
    this.#store = store;
    this.note();
    this.#unstored = undefined;
    // text removed from a request must not be logged either
    if (this.#before.isTransformed) {
      context.log.requestBody = JSON.stringify(this.request);
      context.log.given = this.request;
      const { outer } = context.connection;
      if (outer) outer.record.hasChangedRounds = true;
    }
    if (!store) return undefined;
    return (answer) => {
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
      // each call of the provider begins with those of the request
      placeholders: new Placeholders(subject.placeholders),
      metadata,
    };
  }

  /** Runs the output guardrails on a response. */
  async #check(answer: Body, more: Pick<Subject, "fixedBecause" | "streamStrings"> = {}): Promise<PhaseOutcome> {
    const { hooks, context } = this.#parts;
    const checked = Object.assign(this.#toAfter(answer), more);
    const after = await runHooks(hooks.after, checked, context.services.clock);
    this.note(after.results, this.#laterOf(after.body));
    return after;
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
    if (this.#unstored) this.#store?.(body ?? this.#unstored);
  }

  /**
   * The response with the guardrail results, and with the values of the request that its guardrails put back.
   *
   * @throws {GuardrailDeniedError} If a guardrail denies it.
   */
  async finish(reply: Reply): Promise<Reply> {
    const finished = await this.#conclude(reply);
    const values = this.#subject.placeholders?.restored;
    if (!values || values.size === 0) return finished;
    const { requestType, context } = this.#parts;
    return restoreReply(finished, { requestType, request: this.request, values, context });
  }

  async #conclude(reply: Reply): Promise<Reply> {
    // failures are thrown, so this is a response
    const status = this.#before.isFailed ? hooksFailed : reply.status;
    const read = readAnswer(reply, this.#parts);
    if (!read) {
      this.#requireNoText(reply);
      return { ...reply, status };
    }
    const { fixedBecause } = read;
    const after = await this.#waitFor(this.#check(read.value, fixedBecause === undefined ? {} : { fixedBecause }));
    this.#judge(read.value, after);
    const { log } = this.#parts.context;
    if (!log.hooks || log.hooks.before.length + log.hooks.after.length === 0) return reply;
    const text = after.isTransformed ? read.write(after.body) : read.text;
    // the row has the results beside the body
    if (after.isTransformed) log.responseBody = isHeavy(this.#parts) ? withoutMedia(after.body) : text;
    const body = read.withResults(text, JSON.stringify(toHookResults(log.hooks)));
    return { ...reply, status: after.isFailed ? hooksFailed : status, body };
  }

  /** @throws {GuardrailDeniedError} For a response that a denying guardrail cannot read. */
  #requireNoText({ body, headers }: Reply): void {
    const { hooks, context } = this.#parts;
    const isClosed = hooks.after.some(({ deny, allowsUninspected }) => deny && !allowsUninspected);
    // streams were checked where they came
    const isStream = body instanceof ReadableStream || headers["content-type"]?.startsWith("text/event-stream");
    if (body === null || isStream || !isClosed) return;
    noteDiscarded(context);
    const hookResults = toHookResults({ before: this.#before.results, after: [] });
    throw new GuardrailDeniedError(unreadable, { hookResults, isSoft: false });
  }

  /**
   * The failure of a call as its caller may see it: where a guardrail finds something in what the provider says, its
   * words are left out.
   */
  async readFailure(failure: unknown): Promise<unknown> {
    if (!(failure instanceof UpstreamError) || failure.provider === undefined) return failure;
    const { hooks, context } = this.#parts;
    const plan = planWindow(hooks.after);
    if (!plan || plan.stages.length === 0) return failure;
    const { phases } = context.log;
    const original = phases?.original ? textOfBody(phases.original) : "";
    const said = [toErrorBody(failure), parseJson(original) ?? original];
    if (!(await findsAny(new WindowChecks(plan, context.services.clock), said))) return failure;
    if (phases) phases.original = null;
    return withoutWords(failure);
  }

  /** Ends the check of a response. @throws {GatewayError} If it must not be returned. */
  #judge(answer: Body, after: PhaseOutcome): void {
    const { log } = this.#parts.context;
    // the row shows what the client got
    if (this.hidesOriginals && log.phases) log.phases.original = null;
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
  async #waitFor(checking: Promise<PhaseOutcome>): Promise<PhaseOutcome> {
    const { context } = this.#parts;
    try {
      return await withinRequest(checking, this.#deadline, context);
    } catch (cause) {
      noteDiscarded(context);
      throw cause;
    }
  }

  /** The row shows no response as the provider sent it: guardrails decide about the one that the client receives. */
  get hidesOriginals(): boolean {
    const { window, after } = this.#parts.hooks;
    return window !== undefined || after.some(enforces);
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
    const answer = readStream(text) ?? {};
    const streamStrings = readStreamStrings(requestType, text, new RequestStrings(this.request));
    const after = await this.#waitFor(this.#check(answer, { streamStrings }));
    this.#judge(answer, after);
    const includeUsage = asksForUsage(this.request);
    const stream = after.isTransformed ? replay(requestType, after.body, { includeUsage }) : cleanStream(text);
    const streamResults = { requestType, strict, before: this.#before.results, after: after.results };
    const body = withStreamResults(stream, streamResults);
    context.log.responseBody = body;
    return { ...reply, status: after.isFailed ? hooksFailed : this.status, body };
  }

  /** The stages that check a streamed response while it is sent, and add the results. */
  stages(strict: boolean): GuardStages {
    const { requestType, hooks, context } = this.#parts;
    const { window } = hooks;
    // a stored response is made of what was sent
    const isStored = window !== undefined && this.#store !== undefined;
    const isWatched = isStored || hooks.informed.length + hooks.later.after.length > 0;
    const { placeholders } = this.#subject;
    const checks = window && new WindowChecks(window, context.services.clock, new Placeholders(placeholders));
    // clients of other routes accept only the route's own events
    const addsResults = this.#parts.addsToStreams && !strict;
    const before = this.#before.results;
    const { request } = this;
    return new GuardStages({ guard: this, requestType, request, strict: !addsResults, isWatched, checks, before });
  }
}

const noTypes: readonly RequestType[] = [];
const noLater: HookLog["later"] = [];

/** Whether a hook may deny a response, or change it. */
const enforces = ({ deny, checks }: Hook): boolean =>
  deny || checks.some(({ check, parameters }) => check.changes?.(parameters) === true);

const unreadable = "Cannot return this response: a guardrail that denies cannot read it";
const denied = "Cannot return this response: a guardrail denied it; hook_results names it";
const streamed = "Cannot change a streamed response";

/** Whether responses of a request type hold images. */
const isHeavy = ({ requestType }: GuardParts): boolean =>
  requestType === "imageGenerate" || requestType === "imageEdit";
