import * as v from "valibot";
import { PatternSum } from "../../packages/patterns/src/pattern.ts";
import { crc32 } from "../lib/hash.ts";
import { plainIssues } from "../lib/issues.ts";
import { isObject } from "../lib/json.ts";
import { maxConfigPatterns } from "../lib/pattern-limits.ts";
import { VerdictOutcome } from "../schemas/verdict-outcome.ts";
import { maxSavedPatterns } from "./tenant-patterns.ts";
import {
  type AnyCheck,
  type BoundCheck,
  type Feedback,
  type Hook,
  type Phase,
  type StreamMode,
  streamModes,
} from "./types.ts";

/** Most hooks of one phase, and checks of one hook. */
const maxHooks = 50;
const maxChecks = 20;

/** The checks a gateway offers. */
export interface KnownChecks {
  get(id: string): AnyCheck | undefined;
  values(): Iterable<AnyCheck>;
}

/** A problem with a hook, and where: `input_guardrails[0].default.contains.words`. */
export interface HookProblem {
  path: string;
  message: string;
}

/** The hooks of a request, by phase, in the order of the config. */
export interface Hooks<Entry = Hook> {
  readonly before: readonly Entry[];
  readonly after: readonly Entry[];
}

/** A saved guardrail that a config names, and what the config overrides. */
export interface HookReference {
  /** Slug or id. */
  readonly name: string;
  readonly overrides: Readonly<Record<string, unknown>>;
}

/** What the hook fields of a config contain. */
export type ReadHooksResult = Hooks<Hook | HookReference> & { readonly problems: readonly HookProblem[] };

/** Hook fields of a config: their phase, and the form of their entries. */
const members: readonly (readonly [name: string, phase: Phase, type: Hook["type"]])[] = [
  ["before_request_hooks", "beforeRequestHook", "guardrail"],
  ["input_guardrails", "beforeRequestHook", "guardrail"],
  ["input_mutators", "beforeRequestHook", "mutator"],
  ["after_request_hooks", "afterRequestHook", "guardrail"],
  ["output_guardrails", "afterRequestHook", "guardrail"],
  ["output_mutators", "afterRequestHook", "mutator"],
];

/** Fields of a hook that are not checks, in both spellings. */
const reserved: Readonly<Record<string, string>> = {
  deny: "deny",
  async: "async",
  id: "id",
  type: "type",
  sequential: "sequential",
  name: "name",
  checks: "checks",
  on_fail: "on_fail",
  onFail: "on_fail",
  on_success: "on_success",
  onSuccess: "on_success",
  guardrail_version_id: "guardrail_version_id",
  guardrailVersionId: "guardrail_version_id",
  on_error: "on_error",
  onError: "on_error",
  stream_mode: "stream_mode",
  streamMode: "stream_mode",
  uninspected: "uninspected",
};

const FeedbackShape = v.object({
  value: v.optional(v.pipe(v.number(), v.minValue(-10), v.maxValue(10))),
  weight: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  metadata: v.optional(v.unknown()),
});
const Outcome = v.pipe(
  VerdictOutcome,
  v.looseObject({ deny: v.optional(v.boolean()), feedback: v.nullish(FeedbackShape) }),
);
const HookMembers = v.looseObject({
  id: v.optional(v.pipe(v.string(), v.maxLength(255))),
  type: v.optional(v.picklist(["guardrail", "mutator"])),
  deny: v.optional(v.boolean(), false),
  async: v.optional(v.boolean(), false),
  sequential: v.optional(v.boolean(), false),
  on_success: v.nullish(Outcome),
  on_fail: v.nullish(Outcome),
  on_error: v.optional(v.picklist(["pass", "fail"])),
  guardrail_version_id: v.optional(v.string()),
  stream_mode: v.optional(v.picklist(streamModes)),
  uninspected: v.optional(v.picklist(["deny", "allow"])),
});
type HookMembers = v.InferOutput<typeof HookMembers>;

/** What a saved guardrail does with its verdict. Other fields, which published examples contain, are ignored. */
const Actions = v.omit(HookMembers, ["id", "type", "guardrail_version_id"]);

/** Content of a saved guardrail. */
export interface SavedGuardrail {
  /** In the long form of a hook's `checks`. */
  readonly checks: readonly unknown[];
  readonly actions: Readonly<Record<string, unknown>>;
}

/** Fields that any check may have beside its parameters. */
const CommonParameters = v.looseObject({
  failOnError: v.optional(v.boolean()),
  soft_deny_200: v.optional(v.boolean(), false),
  scope: v.optional(v.picklist(["last", "user", "all"]), "all"),
});

/** A check as written, in either form. */
interface WrittenCheck {
  /** Object in the config or guardrail; the same object is the same check. */
  source: object;
  id: string;
  parameters: Readonly<Record<string, unknown>>;
  isEnabled: boolean;
  softDeny: boolean;
  path: string;
}

/** Reads the hooks of one config. */
class HookReader {
  readonly problems: HookProblem[] = [];
  readonly #checks: KnownChecks;
  /** They were saved before: checks that can no longer be saved keep working. */
  readonly #isStored: boolean;
  /** Size of the patterns so far. */
  readonly #sum: PatternSum;

  constructor(checks: KnownChecks, sum: PatternSum, { isStored = false } = {}) {
    this.#checks = checks;
    this.#sum = sum;
    this.#isStored = isStored;
  }

  #note(path: string, message: string): undefined {
    this.problems.push({ path, message });
  }

  /** Records what does not match a schema, and returns undefined then. */
  #parse<Schema extends v.GenericSchema>(schema: Schema, value: unknown, path: string) {
    const { success, output, issues } = v.safeParse(schema, value, plainIssues);
    if (success) return output;
    for (const issue of issues) this.#note([path, v.getDotPath(issue)].filter(Boolean).join("."), issue.message);
    return undefined;
  }

  readHook(written: unknown, path: string, member: (typeof members)[number]): Hook | HookReference | undefined {
    if (typeof written === "string") return { name: written, overrides: {} };
    if (!isObject(written)) return this.#note(path, "must be the slug of a guardrail, or an object");
    const own = reservedMembers(written);
    const facts = this.#parse(HookMembers, own, path);
    const isNamed = written.checks === undefined && Object.keys(written).every((key) => Object.hasOwn(reserved, key));
    if (!isNamed || typeof own.id !== "string") return facts && this.#readOwn(written, facts, { path, member });
    return facts && { name: own.id, overrides: own };
  }

  /** A hook that contains its checks. */
  #readOwn(
    written: Record<string, unknown>,
    facts: HookMembers,
    { path, member: [name, phase, type] }: { path: string; member: (typeof members)[number] },
  ): Hook | undefined {
    const listed = this.#listChecks(written, path);
    if (listed === undefined) return undefined;
    const enabled = listed.filter(({ isEnabled }) => isEnabled);
    const checks = enabled.flatMap((one) => this.#readCheck(one, phase) ?? []);
    const prefix = phase === "beforeRequestHook" ? "input" : "output";
    const id = facts.id ?? `${prefix}_guardrail_${shortHash(`${name} ${JSON.stringify(written)}`)}`;
    return toHook(facts, { id, type: facts.type ?? type, checks });
  }

  /** Problems with the checks and actions of a saved guardrail. */
  checkSaved({ checks, actions }: SavedGuardrail, phase: Phase | undefined): void {
    this.#parse(Actions, actions, "actions");
    for (const one of this.#listChecks({ checks }, "") ?? []) this.#readCheck(one, phase);
  }

  /** The checks of a hook: a list, or one field per check. */
  #listChecks(written: Record<string, unknown>, path: string): WrittenCheck[] | undefined {
    const found = Array.isArray(written.checks)
      ? written.checks.map((check, index) => this.#readLong(check, `${path}.checks[${index}]`))
      : Object.entries(written)
          .filter(([key]) => !Object.hasOwn(reserved, key))
          .map(([key, value]) => this.#readShort(key, value, `${path}.${key}`));
    if (found.length === 0) return this.#note(`${path}.checks`, "must have at least one check");
    if (found.length > maxChecks) return this.#note(`${path}.checks`, `must have at most ${maxChecks} checks`);
    return found.filter((check) => check !== undefined);
  }

  #readLong(written: unknown, path: string): WrittenCheck | undefined {
    if (!isObject(written) || typeof written.id !== "string") {
      return this.#note(path, "must be an object with the id of a check");
    }
    const { parameters = {} } = written;
    if (!isObject(parameters)) return this.#note(`${path}.parameters`, "must be an object");
    return {
      source: written,
      id: withSource(written.id),
      parameters,
      path: `${path}.parameters`,
      isEnabled: written.is_enabled !== false,
      softDeny: written.soft_deny_200 === true,
    };
  }

  #readShort(key: string, written: unknown, path: string): WrittenCheck | undefined {
    if (!isObject(written)) return this.#note(path, "must be an object with the parameters of a check");
    const { id, is_enabled: isEnabled, ...parameters } = written;
    return {
      source: written,
      id: withSource(typeof id === "string" ? id : key),
      parameters,
      path,
      isEnabled: isEnabled !== false,
      softDeny: false,
    };
  }

  /** @param phase When the check will run; undefined where that is not known yet. */
  #readCheck(written: WrittenCheck, phase: Phase | undefined): BoundCheck | undefined {
    const { id, path } = written;
    const check = this.#checks.get(id);
    if (!check) return this.#note(path, `is not a known check: ${id}`);
    if (phase !== undefined && !check.phases.includes(phase)) {
      const when = phase === "beforeRequestHook" ? "after" : "before";
      return this.#note(path, `cannot be used here: ${id} runs ${when} the call only`);
    }
    const isUseless = written.parameters.restore === true && !this.#isStored ? findUseless(check, phase) : undefined;
    if (isUseless !== undefined) return this.#note(`${path}.restore`, isUseless);
    // checks above the limit are not even parsed, which would cost time and memory
    if (this.#sum.isOver()) return this.#note(path, tooManyPatterns);
    const known = knownChecks.get(written.source);
    const bound = known?.check === check ? known : this.#bind(written, check);
    if (!bound) return undefined;
    const patterns = check.patterns?.(bound.parameters);
    if (patterns) this.#sum.add(patterns);
    return this.#sum.isOver() ? this.#note(path, tooManyPatterns) : bound;
  }

  /** A check with its parameters parsed. */
  #bind({ source, parameters, path, softDeny }: WrittenCheck, check: AnyCheck): BoundCheck | undefined {
    const common = this.#parse(CommonParameters, parameters, path);
    const own = this.#parse(check.parameters, parameters, path);
    if (common === undefined || own === undefined) return undefined;
    const problem = this.#isStored ? undefined : check.problem?.(own as never); // parsed by the check's own schema
    if (typeof problem === "string") return this.#note(path, problem);
    if (problem !== undefined) return this.#note(`${path}.${problem.member}`, problem.message);
    const bound: BoundCheck = {
      check,
      parameters: own as never, // parsed by the check's own schema
      failOnError: common.failOnError,
      softDeny: softDeny || common.soft_deny_200,
      scope: common.scope,
    };
    knownChecks.set(source, bound);
    return bound;
  }
}

/** Why a check cannot put back what it replaces; undefined where it can. */
function findUseless({ id, restores }: AnyCheck, phase: Phase | undefined): string | undefined {
  if (!restores) return `cannot be used here: ${id} does not number what it replaces`;
  return phase === "afterRequestHook" ? "cannot be used after the call: it concerns values of the request" : undefined;
}

const tooManyPatterns = "has, together with those before it, too many or too large patterns";

/**
 * Checks by the object they were read from, which never changes. Targets of a config share inherited hooks, and all
 * configs that name a saved guardrail share its checks.
 */
const knownChecks = new WeakMap<object, BoundCheck>();

/** Fields of a hook that are not checks, by their snake_case names. */
function reservedMembers(written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(written).flatMap(([key, value]) =>
      Object.hasOwn(reserved, key) ? [[reserved[key] ?? key, value] as const] : [],
    ),
  );
}

/** An id with its source: `default` where it names no source. */
function withSource(id: string): string {
  return id.includes(".") ? id : `default.${id}`;
}

/** Three letters or digits, a hash of a string. */
function shortHash(text: string): string {
  return crc32(text).toString(36).slice(-3).padStart(3, "0");
}

function toFeedback(outcome: HookMembers["on_success"]): Feedback | undefined {
  const { value, weight, metadata } = outcome?.feedback ?? {};
  if (value === undefined) return undefined;
  return { value, ...(weight !== undefined && { weight }), ...(metadata !== undefined && { metadata }) };
}

/** What a hook does to streams: it enforces what it can, at the lowest delay. */
function streamModeOf(
  written: StreamMode | undefined,
  { deny, async, checks }: Pick<Hook, "deny" | "async" | "checks">,
): StreamMode {
  if (async) return "inform";
  if (written === "inform" || written === "buffer") return written;
  const enforces = deny || written === "window";
  const works = checks.every(({ check, parameters }) => check.window?.(parameters) !== undefined);
  if (!works) return enforces ? "buffer" : "inform";
  return enforces || checks.some(({ check, parameters }) => check.changes?.(parameters) === true) ? "window" : "inform";
}

function toHook(facts: HookMembers, { id, type, checks }: Pick<Hook, "id" | "type" | "checks">): Hook {
  const { on_success: onSuccess, on_fail: onFail } = facts;
  const mayChange = checks.some(({ check, parameters }) => check.changes?.(parameters) === true);
  const deny = facts.deny || onFail?.deny === true || onSuccess?.deny === true;
  return {
    id,
    type,
    checks,
    deny,
    async: facts.async,
    isOrdered: type === "mutator" || facts.sequential || mayChange,
    onError: facts.on_error,
    onSuccess: toFeedback(onSuccess),
    onFail: toFeedback(onFail),
    versionId: facts.guardrail_version_id,
    streamMode: streamModeOf(facts.stream_mode, { deny, async: facts.async, checks }),
    allowsUninspected: facts.uninspected === "allow",
  };
}

/** Problems of a saved guardrail: with its fields, or with its use in a phase. */
export function findSavedProblems(saved: SavedGuardrail, checks: KnownChecks, phase?: Phase): HookProblem[] {
  const reader = new HookReader(checks, new PatternSum(maxSavedPatterns));
  reader.checkSaved(saved, phase);
  return reader.problems.map(({ path, message }) => ({ path: path.replace(/^\./, ""), message }));
}

/** A saved guardrail as a workspace's view stores it. */
export interface StoredGuardrail extends SavedGuardrail {
  readonly row: {
    readonly id: string;
    readonly slug: string;
    readonly versionId: string;
    /** Null for those of the organisation. */
    readonly workspaceId?: string | null;
  };
}

/** A saved guardrail as a hook of a phase; undefined where it cannot be used in that phase. */
export function toSavedHook(
  { row, checks: written, actions }: StoredGuardrail,
  { overrides }: Pick<HookReference, "overrides">,
  { phase, checks }: { phase: Phase; checks: KnownChecks },
): Hook | undefined {
  const reader = new HookReader(checks, new PatternSum(maxSavedPatterns), { isStored: true });
  const { id: _, ...others } = overrides;
  const saved = { ...reservedMembers(actions), ...others, id: row.slug, guardrail_version_id: row.versionId };
  const hook = reader.readHook({ ...saved, checks: written }, "", ["", phase, "guardrail"]);
  if (!hook || !("checks" in hook) || reader.problems.length > 0) return undefined;
  return { ...hook, isSaved: true, ...(row.workspaceId === null && { isOrganisations: true }) };
}

/** Warnings for whoever saves a guardrail. */
export function findSavedWarnings({ checks: written, actions }: SavedGuardrail, checks: KnownChecks): string[] {
  const read = (phase: Phase): Hook | undefined => {
    const reader = new HookReader(checks, new PatternSum(maxSavedPatterns));
    const hook = reader.readHook({ ...reservedMembers(actions), checks: written }, "", ["", phase, "guardrail"]);
    return hook !== undefined && "checks" in hook && reader.problems.length === 0 ? hook : undefined;
  };
  const [early, late] = [read("beforeRequestHook"), read("afterRequestHook")];
  const hook = early ?? late;
  const ofChecks = hook ? hook.checks.flatMap(({ check }) => check.warning?.(hook) ?? []) : [];
  const isLate = late?.deny === true && !late.async && late.streamMode === "inform";
  return [...new Set(ofChecks), ...(isLate ? [informsOnly] : [])];
}

const informsOnly =
  'As an output guardrail it cannot deny streamed answers, which reach the client before it has seen them: set actions.stream_mode to "window", or leave it out';

/**
 * Reads the hook fields of a config, such as `input_guardrails`, and reports problems.
 *
 * @param sum Size of the config's patterns so far; these hooks add theirs.
 */
export function readHooks(
  written: Readonly<Record<string, readonly unknown[]>>,
  checks: KnownChecks,
  sum = new PatternSum(maxConfigPatterns),
): ReadHooksResult {
  const reader = new HookReader(checks, sum);
  const found: Record<Phase, (Hook | HookReference)[]> = { beforeRequestHook: [], afterRequestHook: [] };
  for (const member of members) {
    const [name, phase] = member;
    const list = (Object.hasOwn(written, name) && written[name]) || [];
    if (found[phase].length + list.length > maxHooks) {
      reader.problems.push({
        path: name,
        message: `must have, together with the other hooks of its phase, at most ${maxHooks} hooks`,
      });
      continue;
    }
    for (const [index, one] of list.entries()) {
      const hook = reader.readHook(one, `${name}[${index}]`, member);
      if (hook) found[phase].push(hook);
    }
  }
  return { before: found.beforeRequestHook, after: found.afterRequestHook, problems: reader.problems };
}
