import type { SocketMessage } from "../../../packages/websocket-frames/src/frames.ts";
import type { CallerContext } from "../../context.ts";
import { GuardrailDeniedError } from "../../errors.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import { readStrings } from "../../guardrails/strings/bodies.ts";
import { RequestStrings } from "../../guardrails/strings/member-kinds.ts";
import type { PhaseOutcome, Subject } from "../../guardrails/subject.ts";
import type { Body, Hook } from "../../guardrails/types.ts";
import { WindowChecks } from "../../guardrails/window.ts";
import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject } from "../../lib/json.ts";
import { EventWindow } from "../stream/stream-window.ts";
import { toErrorEvent } from "./session-errors.ts";
import type { RelayStop, Screened, SessionScreen } from "./socket-relay.ts";

/** Most results of events that a row lists. */
const maxResults = 50;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A message as text; undefined for other bytes, such as audio. */
function toText(message: SocketMessage): string | undefined {
  try {
    return typeof message === "string" ? message : decoder.decode(message);
  } catch {
    return undefined;
  }
}

/** A message as JSON; undefined for anything that is no object. */
function readMessage(message: SocketMessage): { body: Body; write(value: unknown): string } | undefined {
  try {
    const { value, write } = parseExact(toText(message) ?? "");
    return isObject(value) ? { body: value, write } : undefined;
  } catch {
    return undefined;
  }
}

/** The guardrails of a session while it runs. */
export interface SessionGuard extends SessionScreen {
  /** Adds the results to the row of the session. */
  note(): void;
  /** Why a guardrail ended the session; undefined where none did. */
  readonly denial: GuardrailDeniedError | undefined;
  /** A guardrail found something in what the server said. */
  readonly isTouched: boolean;
}

const denied = "a guardrail denied it";

/** The hooks of an event without text: tools and parameters of a session are no text. */
function withBodyChecks(hooks: readonly Hook[]): Hook[] {
  return hooks.flatMap((hook) => {
    const checks = hook.checks.filter(({ check }) => check.reads === "body");
    return checks.length > 0 ? [{ ...hook, checks }] : [];
  });
}

/** Checks what the client sends before it goes up, and the text of the server before it comes down. */
class HookedSession implements SessionGuard {
  readonly #hooks: TargetHooks;
  readonly #subject: Subject;
  readonly #context: CallerContext;
  readonly #checks: WindowChecks | undefined;
  readonly #window: EventWindow | undefined;
  /** The hooks that read more of an event than its text, with these checks alone. */
  readonly #ofBodies: readonly Hook[];
  readonly #before: PhaseOutcome["results"][number][] = [];
  denial: GuardrailDeniedError | undefined;

  constructor({ hooks, subject }: { hooks: TargetHooks; subject: Subject }, context: CallerContext) {
    this.#hooks = hooks;
    this.#ofBodies = withBodyChecks(hooks.before);
    this.#subject = subject;
    this.#context = context;
    this.#checks = hooks.window && new WindowChecks(hooks.window, context.services.clock, subject.placeholders);
    const request = new RequestStrings(subject.request.body);
    this.#window = this.#checks && new EventWindow(this.#checks, { requestType: "realtime", request });
  }

  get isTouched(): boolean {
    return this.#checks?.isTouched === true;
  }

  async client(message: SocketMessage): Promise<Screened> {
    if (this.#hooks.before.length === 0) return { pass: [message] };
    const read = readMessage(message);
    const mustRead = this.#hooks.before.some(({ deny }) => deny);
    if (!read) return mustRead ? this.#refuse(null, "it is not a JSON object") : { pass: [message] };
    const hasText = readStrings(this.#subject, read.body, "all").some((text) => text !== "");
    const hooks = hasText ? this.#hooks.before : this.#ofBodies;
    // written again: repeated fields mean different things to different readers
    if (hooks.length === 0) return { pass: [read.write(read.body)] };
    return this.#check(hooks, read);
  }

  async #check(
    hooks: readonly Hook[],
    { body, write }: { body: Body; write(value: unknown): string },
  ): Promise<Screened> {
    const subject = { ...this.#subject, request: { ...this.#subject.request, body } };
    const outcome = await runHooks(hooks, subject, this.#context.services.clock);
    const notable = outcome.results.filter(({ verdict, transformed }) => !verdict || transformed);
    this.#before.push(...notable.slice(0, maxResults - this.#before.length));
    if (outcome.isDenied) return this.#refuse(body.event_id, denied);
    return { pass: [write(outcome.body)] };
  }

  /** The event does not go up; the client learns why, and the session goes on. */
  #refuse(eventId: unknown, why: string): Screened {
    const error = new GuardrailDeniedError(`Cannot send this event: ${why}`, { isSoft: false });
    return { pass: [], back: toErrorEvent(error, typeof eventId === "string" ? eventId : null) };
  }

  async upstream(message: SocketMessage): Promise<Screened> {
    const [window, checks] = [this.#window, this.#checks];
    if (!window || !checks) return { pass: [message] };
    const text = toText(message);
    if (text === undefined) return { pass: [message] };
    window.add(text, text);
    return this.#deliver(await window.release());
  }

  async finish(): Promise<Screened> {
    return this.#window ? this.#deliver(await this.#window.finish()) : { pass: [] };
  }

  #deliver(events: readonly string[]): Screened {
    if (!this.#checks?.isDenied) return { pass: events };
    this.denial ??= new GuardrailDeniedError(`Cannot continue the session: ${denied}`, { isSoft: false });
    const stop: RelayStop = {
      event: toErrorEvent(this.denial, null),
      close: { code: 1008, reason: "a guardrail denied the response" },
    };
    return { pass: [], stop };
  }

  note(): void {
    const { log } = this.#context;
    const opened = log.hooks?.before ?? [];
    const after = this.#checks?.results() ?? [];
    if (opened.length + this.#before.length + after.length === 0) return;
    log.hooks = { before: [...opened, ...this.#before], after, later: log.hooks?.later ?? [] };
  }
}

/** The guardrails of a session while it runs; undefined where none reads its events. */
export function createSessionGuard(
  listening: { hooks: TargetHooks; subject: Subject } | undefined,
  context: CallerContext,
): SessionGuard | undefined {
  return listening && new HookedSession(listening, context);
}
