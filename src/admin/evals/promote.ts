import { createOwnRequest } from "../../context/own-request.ts";
import type { CallerContext } from "../../context.ts";
import { readStoredName } from "../../control/stored-name.ts";
import type { EvalRunRow } from "../../db/tables/evals.ts";
import { ConflictError, InvalidRequestError, NotFoundError, PermissionError, UnavailableError } from "../../errors.ts";
import { readBytes } from "../../lib/body.ts";
import { isObject, objectsIn, parseJson, stringOrEmpty } from "../../lib/json.ts";
import { readPromptReference, readVersionNumber } from "../../prompts/reference.ts";
import type { PromoteVariant, StoredVariant } from "../../schemas/eval-runs.ts";
import { refuseField } from "../core/request.ts";
import { findWinner, readTotals } from "./totals.ts";

/** Largest response that is read. */
const maxAnswerBytes = 4 * 1024 * 1024;

type Item = Record<string, unknown>;

/** What a variant became the default of. */
interface Promoted {
  readonly variant: string;
  readonly changed: "prompt" | "config";
  readonly slug: string;
}

/** The error of a route, thrown again. */
function refuseAs(status: number, answer: Item): never {
  const { message, code, param } = isObject(answer.error) ? answer.error : {};
  const text = stringOrEmpty(message);
  const details = { code: stringOrEmpty(code), ...(typeof param === "string" && { param }) };
  if (status === 403) throw new PermissionError(text, details);
  if (status === 404) throw new NotFoundError(text, details);
  if (status === 409) throw new ConflictError(text, details);
  if (status >= 500) throw new UnavailableError(text, { ...details, retryAfterSeconds: 1 });
  throw new InvalidRequestError(text, details);
}

/** Calls a route of the control plane as the caller: with its rights, and a separate audit row. */
async function callRoute(method: "GET" | "PUT", path: string, body: object | undefined, context: CallerContext) {
  const { services, principal, request, connection } = context;
  const headers = { "content-type": "application/json" };
  const init = { method, headers, signal: request.signal, ...(body && { body: JSON.stringify(body) }) };
  const response = await services.handle(createOwnRequest(path, init), {
    actingFor: principal,
    ...(connection.remoteAddress !== undefined && { remoteAddress: connection.remoteAddress }),
  });
  const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
  const answer = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
  const value: Item = isObject(answer) ? answer : {};
  return response.status < 300 ? value : refuseAs(response.status, value);
}

const configPath = (slug: string) => `/v1/configs/${encodeURIComponent(slug)}`;

async function readConfig(slug: string, context: CallerContext): Promise<Item> {
  const { config } = await callRoute("GET", configPath(slug), undefined, context);
  const value = typeof config === "string" ? parseJson(config) : config;
  return isObject(value) ? value : {};
}

/** A config whose root, or one of whose targets, calls this model. */
function withModel(config: Item, model: string, target: number | undefined): Item {
  const named = readStoredName(model);
  if (!named) return refuseField("variant", "must have a model as @provider/model to become the target of a config");
  const change = ({ virtual_key: _, override_params: params, ...node }: Item): Item => ({
    ...node,
    provider: `@${named.slug}`,
    override_params: { ...(isObject(params) && params), model: named.model },
  });
  const targets = objectsIn(config.targets);
  if (target === undefined) {
    return targets.length === 0 ? change(config) : refuseField("target", "must be given: the config has targets");
  }
  if (!targets[target]) refuseField("target", "is no target of the config");
  return { ...config, targets: targets.map((node, index) => (index === target ? change(node) : node)) };
}

async function promotePrompt(prompt: string, context: CallerContext): Promise<string> {
  const { name, version } = readPromptReference(prompt);
  const number = readVersionNumber(version);
  if (number === undefined) return refuseField("variant", "must have a numbered version of its prompt");
  await callRoute("PUT", `/v1/prompts/${encodeURIComponent(name)}/makeDefault`, { version: number }, context);
  return name;
}

function chooseVariant(row: EvalRunRow, named: string | undefined, winner: string | null): StoredVariant {
  const wanted = named ?? winner ?? refuseField("variant", "must be given: no variant won");
  return row.variants.find(({ name }) => name === wanted) ?? refuseField("variant", "is no variant of the run");
}

/**
 * Makes a variant the default: the version of its prompt, or what a saved config calls. The caller needs the rights for
 * that change.
 *
 * @throws {GatewayError} As the route that makes the change.
 */
export async function promoteVariant(row: EvalRunRow, body: PromoteVariant, context: CallerContext): Promise<Promoted> {
  const winner = findWinner(row, await readTotals(row, context));
  const { name: variant, ...own } = chooseVariant(row, body.variant, winner);
  if (own.prompt !== undefined) {
    if (body.config !== undefined) refuseField("config", "cannot be given: the variant has a prompt");
    return { variant, changed: "prompt", slug: await promotePrompt(own.prompt, context) };
  }
  const slug = body.config ?? refuseField("config", "must be the saved config that is to call the variant");
  const base = await readConfig(own.config ?? slug, context);
  const config = own.model === undefined ? base : withModel(base, own.model, body.target);
  await callRoute("PUT", configPath(slug), { config }, context);
  return { variant, changed: "config", slug };
}
