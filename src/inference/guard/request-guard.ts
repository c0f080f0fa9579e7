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
import type { Body, Visibility } from "../../guardrails/types.ts";
import { Placeholders } from "../../guardrails/values/placeholders.ts";
import { hopHeader } from "../../lib/headers.ts";
import { stringOf } from "../../lib/json.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { ConfigNode, InheritedSettings } from "../../routing/config.ts";
import { toHookResults } from "../facts/hook-results.ts";
import type { RequestKind } from "../facts/request-types.ts";
import { requireRequest } from "./guardrail-output.ts";
import { hooksFailed, TargetGuard } from "./target-guard.ts";

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
  #entered: Map<GuardedTarget, Promise<TargetGuard>> | undefined;
  readonly #kind: RequestKind;
  readonly #context: CallerContext;
  readonly #services: Services;

  readonly #saved: SavedView;

  /** @param saved The workspace's saved guardrails. */
  constructor(kind: RequestKind, saved: SavedView, context: CallerContext) {
    this.#kind = kind;
    this.#saved = saved;
    this.#context = context;
    this.#services = context.services;
  }

  /**
   * Runs the guardrails before a target's call, once for all its attempts; undefined where it has none.
   *
   * @param request The request with the config's parameters applied; empty where it is not read.
   * @throws {GuardrailDeniedError} If one denies it, or cannot inspect it and denies uninspected content.
   */
  enter(attempt: GuardedTarget, request: Body, facts: EnteredFacts = {}): Promise<TargetGuard> | undefined {
    const known = this.#entered?.get(attempt);
    if (known) return known;
    // what a guardrail asks must not lead to guardrails again
    const hooks = this.#context.connection.isUnguarded ? undefined : this.#find(attempt, this.#kind.visibility);
    if (!hooks) return undefined;
    const entered = this.#enter(hooks, attempt.node, { request, facts });
    this.#entered ??= new Map();
    this.#entered.set(attempt, entered);
    return entered;
  }

  #find({ settings }: GuardedTarget, visibility: Visibility): TargetHooks | undefined {
    const isLocked = !this.#context.principal.defaults.allowConfigOverride;
    return this.#services.guardrails.of(settings.hooks, this.#saved, { visibility, isLocked });
  }

  /** The guardrails that check the parts of a request as they come, such as events; undefined where it has none. */
  listenTo(
    attempt: GuardedTarget,
    request: Body,
    visibility = this.#kind.visibility,
  ): { hooks: TargetHooks; subject: Subject } | undefined {
    const hooks = this.#find(attempt, visibility);
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
        ...(context.connection.outer && { asked: context.connection.outer }),
        ...(context.log.named && { alias: context.log.named.name }),
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
      cleanStrings: services.guardrails.cleanStrings,
      placeholders: new Placeholders(),
      metadata: context.metadata,
      ...(fixedBecause !== undefined && { fixedBecause }),
    };
  }

  async #enter(
    all: TargetHooks,
    node: GuardedTarget["node"],
    { request, facts }: { request: Body; facts: EnteredFacts },
  ): Promise<TargetGuard> {
    const context = this.#context;
    const { type: requestType, fixedBecause } = this.#kind;
    const subject = this.#toSubject(this.#providerOf(node, request), request, facts);
    const isFixed = fixedBecause !== undefined;
    const hooks = isFixed ? { ...all, before: all.before.filter(({ type }) => type !== "mutator") } : all;
    const outcome = await runHooks(hooks.before, subject, this.#services.clock);
    const guard = new TargetGuard({ requestType, addsToStreams: !isFixed, hooks, context }, subject, outcome);
    const log = guard.note();
    if (outcome.isDenied) throw this.#deny(subject, outcome, log);
    if (outcome.isTransformed) requireRequest(requestType, request, outcome.body);
    return guard;
  }

  #deny({ provider }: Subject, outcome: PhaseOutcome, log: HookLog): GuardrailDeniedError {
    this.#context.log.provider ??= provider === "" ? null : provider;
    return new GuardrailDeniedError(toDenial(outcome, this.#kind), {
      hookResults: toHookResults(log),
      isSoft: outcome.isSoft,
    });
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
function toDenial({ results }: PhaseOutcome, { unreadBecause }: RequestKind): string {
  const closed = results.filter(({ deny, checks }) => deny && checks.some(({ data }) => data?.closed === true));
  if (closed.length === 0) return "Cannot make this call: a guardrail denied the request; hook_results names it";
  const names = [...new Set(closed.map(({ id }) => id))].join(", ");
  if (unreadBecause !== undefined) {
    return `Cannot make this call: the guardrail ${names} cannot inspect the body, which ${unreadBecause}`;
  }
  return `Cannot make this call: the guardrail ${names} cannot inspect it and denies uninspected requests`;
}

/** Status of a forwarded response, from the results of the guardrails before it. */
export function statusAfterHooks(status: number, { log }: CallerContext): number {
  return status === 200 && log.hooks?.before.some(({ verdict }) => !verdict) ? hooksFailed : status;
}
