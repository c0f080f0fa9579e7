import type { StoredProvider } from "../../control/provider-library.ts";
import { BudgetError } from "../../errors.ts";
import { foldName } from "../../lib/fold-name.ts";
import { hasRepeatedName, isObject, parseJson } from "../../lib/json.ts";
import type { Destination, ModelRules } from "../../providers/core/call.ts";
import {
  foldMember,
  modelsInBody,
  modelsInHeaders,
  modelsInQuery,
  namesInPath,
  splitPath,
} from "../../providers/core/model-names.ts";
import type { BoundProvider } from "../../providers/core/types.ts";

/** Which models of an integration a workspace may call. */
export interface ModelList extends ModelRules {
  /** Some models may not be called. */
  readonly isRestricted: boolean;
  /** The entry of a model, as the integration spells it. */
  entryOf(model: string): string | undefined;
}

/** Longest name of a model. */
const maxName = 1_024;

/** The list of one integration, its entries under one normalised name for each model. */
class NamedList implements ModelList {
  readonly #stored: StoredProvider;
  readonly #provider: BoundProvider;
  /** Whether each model may be called, by its normalised name; a model refused under one spelling is refused. */
  readonly #states = new Map<string, boolean>();
  readonly #entries = new Map<string, string>();
  readonly #blocked = new Set<string>();
  readonly isRestricted: boolean;

  constructor(stored: StoredProvider, provider: BoundProvider) {
    this.#stored = stored;
    this.#provider = provider;
    for (const [slug, { enabled }] of stored.models) {
      const name = this.#canonical(slug);
      this.#states.set(name, enabled && this.#states.get(name) !== false);
      if (!this.#entries.has(name)) this.#entries.set(name, slug);
      if (!enabled) this.#blocked.add(foldName(name));
    }
    this.isRestricted = !stored.integration.allowAllModels || this.#blocked.size > 0;
  }

  #canonical(model: string): string {
    return this.#provider.models.canonical(model.normalize("NFC").trim());
  }

  /** What the list says of a model; undefined: nothing. */
  #stateOf(model: string): boolean | undefined {
    if (model.length > maxName) return false;
    const name = this.#canonical(model);
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const folded = this.#canonical(foldName(model));
    const variants = [name, folded].map((one) => this.#provider.models.variantOf(one));
    const names = [name, folded, ...variants].filter((one) => one !== undefined);
    return names.some((one) => this.#blocked.has(foldName(one))) ? false : undefined;
  }

  get slug(): string {
    return this.#stored.row.slug;
  }

  allows(model: string): boolean {
    return this.#stateOf(model) ?? this.#stored.integration.allowAllModels;
  }

  blocks(model: string): boolean {
    return this.#stateOf(model) === false;
  }

  entryOf(model: string): string | undefined {
    return this.#stored.models.has(model) ? model : this.#entries.get(this.#canonical(model));
  }
}

/** The models of a stored provider, by the names its provider gives them. */
export function createModelList(stored: StoredProvider, provider: BoundProvider): ModelList {
  return new NamedList(stored, provider);
}

const code = "model_not_allowed_error";

/** @throws {BudgetError} 412 */
function refuseModel({ slug }: ModelRules, model: string): never {
  const message = `Cannot call ${model}: the provider ${slug} does not allow this model`;
  throw new BudgetError(message, { code, param: "model" });
}

/** @throws {BudgetError} 412 */
function refuseUnseen(what: string): never {
  throw new BudgetError(`Cannot send this request: some models are not allowed, and ${what}`, { code, param: "model" });
}

/**
 * Refuses a model a stored provider does not allow, and a call without a model where not all are allowed.
 *
 * @throws {BudgetError} 412
 */
export function requireModel({ managed }: Destination, model: string | undefined): void {
  const list = managed?.restrictedTo;
  if (!list) return;
  if (model === undefined || model.trim() === "") refuseUnseen("it names none");
  if (!list.allows(model)) refuseModel(list, model);
}

/**
 * Refuses models named in a call. Names from the settings are the integration's choice, so only those the list forbids
 * are refused.
 */
function requireNames(names: readonly string[], list: ModelRules, { models }: BoundProvider): void {
  for (const name of names) {
    const isOwn = models.own.includes(name);
    if (isOwn ? list.blocks(name) : !list.allows(name)) refuseModel(list, name);
  }
}

/** The model in a path, if there is one. @throws {BudgetError} 412: it may be a forbidden one. */
function requirePath(
  path: string,
  list: ModelRules,
  provider: BoundProvider,
): { model: string | undefined; query: string } {
  const { segments, query } = splitPath(path);
  const possible = segments && namesInPath(segments);
  if (!segments || !possible) refuseUnseen("its path cannot be read");
  const blocked = possible.find((name) => list.blocks(name));
  if (blocked !== undefined) refuseModel(list, blocked);
  return { model: provider.models.inPath(`/${segments.join("/")}`), query };
}

/** The models named in headers, without those the integration sets itself. */
function sentModels(headers: Readonly<Record<string, string>>, managed: Destination["managed"]): string[] {
  const own = managed?.headers ?? {};
  return modelsInHeaders(Object.fromEntries(Object.entries(headers).filter(([name]) => !Object.hasOwn(own, name))));
}

/**
 * Checks the names in a call made from a request whose model was already checked: the call may use another name, or
 * name further models.
 *
 * @throws {BudgetError} 412
 */
export function requireSentModels(
  { managed, provider }: Destination,
  call: { path: string; body?: unknown; headers: Readonly<Record<string, string>> },
): void {
  const list = managed?.restrictedTo;
  if (!list) return;
  const { model, query } = requirePath(call.path, list, provider);
  const inBody = modelsInBody(call.body, { isNamedInPath: model !== undefined });
  if (inBody.isUnclear) refuseUnseen("the requested model cannot be determined");
  const inPath = model === undefined ? [] : [model];
  const names = [...inPath, ...modelsInQuery(query), ...sentModels(call.headers, managed), ...inBody.names];
  requireNames(names, list, provider);
}

/** A forwarded request as it is sent. */
interface ForwardedCall {
  method: string;
  /** With its query. */
  path: string;
  /** Headers of the client that go along. */
  headers: Readonly<Record<string, string>>;
  /** Undefined: it has no body. */
  body: ForwardedBody | undefined;
}

/** The body of a forwarded request. */
interface ForwardedBody {
  /** Its text; undefined where it is not UTF-8 or was not read. */
  text: string | undefined;
}

/** The object in a body, where every parser finds the same fields. */
function readMembers({ text }: ForwardedBody): Record<string, unknown> | undefined {
  const value = text === undefined ? undefined : parseJson(text);
  // some parsers ignore the case of names
  return isObject(value) && text !== undefined && !hasRepeatedName(text, foldMember) ? value : undefined;
}

/** Whether a request without a body needs no model: it reads, removes or ends records. */
export function needsNoModel({ method, path, body }: Pick<ForwardedCall, "method" | "path" | "body">): boolean {
  if (body !== undefined) return false;
  return method === "GET" || method === "DELETE" || /\/cancel\/?(?:\?|$)/.test(path);
}

/**
 * Refuses a forwarded request to a provider with restricted models, unless it evidently names exactly one model, which
 * is allowed.
 *
 * @throws {BudgetError} 412
 */
export function requireForwardedModels({ managed, provider }: Destination, call: ForwardedCall): void {
  const list = managed?.restrictedTo;
  if (!list) return;
  const { model: inPath, query } = requirePath(call.path, list, provider);
  const members = call.body ? readMembers(call.body) : {};
  if (!members) refuseUnseen("its body cannot be parsed: send a JSON object without duplicate fields");
  const inBody = modelsInBody(members);
  if (inBody.isUnclear) refuseUnseen("the requested model cannot be determined");
  if (typeof members.input_file_id === "string") refuseUnseen("the lines of a file may name any");
  const { model: top } = members;
  const chosen = [...modelsInQuery(query), ...sentModels(call.headers, managed)];
  if (inPath !== undefined) chosen.push(inPath);
  // where the path names a deployment, the model in the body has no effect
  if (typeof top === "string" && !(inPath !== undefined && provider.models.isPathOnly)) chosen.push(top);
  const names = [...chosen, ...inBody.names];
  if (names.length === 0 && !needsNoModel(call)) refuseUnseen("it names none");
  requireNames(names, list, provider);
  if (new Set(chosen.map((name) => foldName(provider.models.canonical(name)))).size > 1) {
    refuseUnseen("it names more than one");
  }
}
