import type { Principal } from "../../auth/principal.ts";
import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { holderOfKey } from "../../control/limit-holders.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { InvalidRequestError } from "../../errors.ts";
import { type AppliedLimit, limitsOf } from "../../policies/applied.ts";
import type { Subject } from "../../policies/conditions.ts";
import type { PolicySet } from "../../policies/policy-set.ts";
import { requestTypeOf } from "../facts/request-types.ts";
import { fewModelsOfCall, modelsOfCall, type NamedCall } from "./named-models.ts";

/** The limits that apply to a call. */
export interface ApplicableLimits {
  readonly all: readonly AppliedLimit[];
  /** Those on money. */
  readonly money: readonly AppliedLimit[];
  /** Some of them count tokens. */
  readonly countTokens: boolean;
  /** Some of them let requests wait. */
  readonly hasQueues: boolean;
}

type Limits = readonly AppliedLimit[];

const noLimits: Limits = [];

/** Where no limit applies. */
const none: ApplicableLimits = { all: noLimits, money: noLimits, countTokens: false, hasQueues: false };

/** Limits as calls need them. */
export function toApplicable(all: Limits): ApplicableLimits {
  if (all.length === 0) return none;
  const money = all.filter(({ limit }) => limit.counts === "cost");
  const countTokens = all.some(({ limit }) => limit.counts === "tokens");
  return { all, money, countTokens, hasQueues: all.some(({ queue }) => queue !== undefined) };
}

/** Limits of credentials: a principal lives as long as its key is in memory. */
const ofPrincipals = new WeakMap<Principal, Limits>();

/** The limits of a key, or those in the claims of a token. */
function limitsOfCredential(principal: Principal, limits: NonNullable<Principal["limits"]>): Limits {
  const { keyId, organisationId } = principal;
  const known = ofPrincipals.get(principal);
  if (known) return known;
  const made = limitsOf(holderOfKey({ id: keyId, organisationId }, limits));
  ofPrincipals.set(principal, made);
  return made;
}

const noModels: Subject["models"] = [];

/** What the conditions of policies ask of a call. */
function subjectOf(call: NamedCall, { workspace, policies }: WorkspaceView, context: CallerContext): Subject {
  const { principal, log, metadata } = context;
  return {
    organisationId: principal.organisationId,
    workspaceId: workspace.id,
    workspaceSlug: workspace.slug,
    apiKey: principal.keyId,
    virtualKey: log.stored?.slug ?? null,
    provider: call.provider.slug,
    config: log.configSlug,
    prompt: log.prompt?.slug ?? null,
    models: policies?.looksAtModels ? modelsOfCall(call, log) : noModels,
    endpointType: requestTypeOf(log.operation),
    metadata,
  };
}

/** @throws {InvalidRequestError} 400: a limit may apply, and it depends on a model that cannot be determined. */
function refuseUnclear(): never {
  throw new InvalidRequestError(
    "Cannot make this call: a limit of this workspace depends on the model, and the model of the request cannot be " +
      "determined. Name it in a JSON body without duplicate fields, or in a field of a form, uncompressed",
    { code: "model_unclear", param: "model" },
  );
}

function limitsOfPolicies(policies: PolicySet, subject: Subject): Limits {
  if (subject.models === undefined && policies.dependOnModel(subject)) refuseUnclear();
  return policies.limitsOf(subject);
}

/** Everything that the limits of a call follow from, but for its metadata. */
interface LimitSource {
  readonly policies: PolicySet;
  readonly keyId: string;
  readonly provider: string;
  readonly operation: string;
  readonly configSlug: string | null;
  readonly promptSlug: string | null;
  readonly storedSlug: string | undefined;
  readonly ofCredential: Limits;
  readonly ofWorkspace: Limits;
  readonly ofStored: Limits;
  readonly ofAlias: Limits;
  /** Names and canonical names of the models it names; null where no policy looks at them. */
  readonly models: readonly [string | null, string | null, string, string] | null;
}

function isSameModels(one: LimitSource["models"], other: LimitSource["models"]): boolean {
  if (one === null || other === null) return one === other;
  return one[0] === other[0] && one[1] === other[1] && one[2] === other[2] && one[3] === other[3];
}

function isSameSource(one: LimitSource, other: LimitSource): boolean {
  return (
    one.policies === other.policies &&
    one.keyId === other.keyId &&
    one.provider === other.provider &&
    one.operation === other.operation &&
    one.configSlug === other.configSlug &&
    one.promptSlug === other.promptSlug &&
    one.storedSlug === other.storedSlug &&
    one.ofCredential === other.ofCredential &&
    one.ofWorkspace === other.ofWorkspace &&
    one.ofStored === other.ofStored &&
    one.ofAlias === other.ofAlias &&
    isSameModels(one.models, other.models)
  );
}

/**
 * The last call with some metadata, and its limits: clients repeat their metadata, and most calls of a client are alike.
 * A changed policy makes another set of policies.
 */
const latest = new WeakMap<CallerContext["metadata"], { source: LimitSource; limits: ApplicableLimits }>();

/** @returns Undefined for a call that names more models than most. */
function sourceOf(
  call: NamedCall,
  { policies, ...others }: Pick<LimitSource, "policies" | "ofCredential" | "ofWorkspace" | "ofStored" | "ofAlias">,
  keyId: string,
  log: CallRecord,
): LimitSource | undefined {
  const models = policies.looksAtModels ? fewModelsOfCall(call, log) : null;
  if (models === undefined) return undefined;
  return {
    policies,
    keyId,
    provider: call.provider.slug,
    operation: log.operation,
    configSlug: log.configSlug,
    promptSlug: log.prompt?.slug ?? null,
    storedSlug: log.stored?.slug,
    ofCredential: others.ofCredential,
    ofWorkspace: others.ofWorkspace,
    ofStored: others.ofStored,
    ofAlias: others.ofAlias,
    models,
  };
}

/**
 * Every limit that applies to a call.
 *
 * @param view The caller's workspace; keys of an organisation have none.
 * @throws {InvalidRequestError} 400 `model_unclear`.
 */
export function findLimits(call: NamedCall, view: WorkspaceView | undefined, context: CallerContext): ApplicableLimits {
  const { principal, log, metadata } = context;
  const ofCredential = principal.limits ? limitsOfCredential(principal, principal.limits) : noLimits;
  const ofWorkspace = view?.limits ?? noLimits;
  const ofStored = log.stored?.limits ?? noLimits;
  const ofAlias = log.named?.limits ?? noLimits;
  const policies = view?.policies;
  if (!view || !policies) {
    if (ofCredential.length + ofWorkspace.length + ofStored.length + ofAlias.length === 0) return none;
    return toApplicable([...ofCredential, ...ofWorkspace, ...ofStored, ...ofAlias]);
  }
  const source = sourceOf(call, { policies, ofCredential, ofWorkspace, ofStored, ofAlias }, principal.keyId, log);
  const last = source && latest.get(metadata);
  if (last && isSameSource(last.source, source)) return last.limits;
  const ofPolicies = limitsOfPolicies(policies, subjectOf(call, view, context));
  const limits = toApplicable([...ofCredential, ...ofWorkspace, ...ofStored, ...ofAlias, ...ofPolicies]);
  if (source) latest.set(metadata, { source, limits });
  return limits;
}
