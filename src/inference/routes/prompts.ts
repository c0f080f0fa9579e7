import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import type { PromptVersionRow } from "../../db/tables/prompts.ts";
import { requireBody } from "../../endpoint/body.ts";
import { requireSight } from "../../endpoint/role.ts";
import { defineJsonEndpoint, type Endpoint, type JsonBody } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { type PromptTemplate, readPromptTemplate, renderPrompt } from "../../prompts/prompt.ts";
import { readPromptReference } from "../../prompts/reference.ts";
import { createRenderBudget } from "../../prompts/render.ts";
import { isProblem, namesOf, parseTemplate, type Template, type TemplateProblem } from "../../prompts/template.ts";
import { ChatRequest, CompletionRequest } from "../../schemas/chat.ts";
import { PromptCompletionResponse, PromptRequest, RenderResponse } from "../../schemas/prompts.ts";
import { runInference } from "../pipeline/run.ts";
import { listPromptNames, type TargetPrompts } from "../target/config-prompts.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { readView, refuseUnreadable } from "../target/stored-provider.ts";

/** Most partials one prompt includes, each counted once. */
const maxPartials = 100;

function refusePrompt(message: string, code: string, param: string): never {
  throw new InvalidRequestError(message, { code, param });
}

/** A parser with a cache by version: a changed record is another object. */
function rememberParsed<Parsed extends object>(parse: (text: string) => Parsed | TemplateProblem) {
  const known = new WeakMap<object, Parsed | TemplateProblem>();
  return (version: { readonly template: string }): Parsed => {
    const parsed = known.get(version) ?? parse(version.template);
    known.set(version, parsed);
    return isProblem(parsed)
      ? refusePrompt(`Cannot use this prompt: ${parsed.problem}`, "invalid_prompt", "id")
      : parsed;
  };
}

const toPrompt = rememberParsed(readPromptTemplate);
const toPartial = rememberParsed<Template>(parseTemplate);

/** The version of a prompt, and what the log says of it. */
interface FoundVersion {
  version: PromptVersionRow;
  record: NonNullable<CallRecord["prompt"]>;
}

/** The version of a prompt. @throws {NotFoundError} */
async function findVersion(reference: string, { prompts }: WorkspaceView): Promise<FoundVersion> {
  const { name, version } = readPromptReference(reference);
  const stored = prompts.records.get(name);
  if (!stored) throw new NotFoundError("Invalid prompt id", { code: "prompt_not_found", param: "id" });
  const found = await Promise.resolve(prompts.findVersion(stored, version)).catch(refuseUnreadable);
  if (!found) {
    throw new NotFoundError("Cannot find this version of the prompt", {
      code: "prompt_version_not_found",
      param: "id",
    });
  }
  return { version: found, record: { id: stored.row.id, slug: stored.row.slug, versionId: found.id } };
}

/**
 * The partials a prompt includes, and those they include, by their names.
 *
 * @throws {InvalidRequestError} 400 naming the missing ones.
 */
async function readPartials(
  { templates }: PromptTemplate,
  { partials }: WorkspaceView,
): Promise<Map<string, Template>> {
  const found = new Map<string, Template>();
  const missing = new Set<string>();
  const left = namesOf(templates).partials;
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name) || missing.has(name)) continue;
    if (found.size + missing.size === maxPartials) {
      refusePrompt(
        `Cannot render this prompt: it includes more than ${maxPartials} partials`,
        "prompt_too_large",
        "id",
      );
    }
    const reference = readPromptReference(name);
    const stored = partials.records.get(reference.name);
    const version =
      stored && (await Promise.resolve(partials.findVersion(stored, reference.version)).catch(refuseUnreadable));
    if (!version) {
      missing.add(name);
      continue;
    }
    const template = toPartial(version);
    found.set(name, template);
    left.push(...namesOf([template]).partials);
  }
  if (missing.size > 0) {
    refusePrompt(`Missing variable partials: ${[...missing].toSorted().join(", ")}`, "missing_partials", "id");
  }
  return found;
}

/** Fields a saved prompt defines, or that only the request may set. */
const notParameters = new Set(["messages", "prompt", "variables", "stream"]);

/** The request fields of a version besides its text; those it does not set are left out. */
function readParameters({ parameters, model, functions, tools, toolChoice }: PromptVersionRow) {
  const own = Object.entries(isObject(parameters) ? parameters : {}).filter(([name]) => !notParameters.has(name));
  const named = Object.entries({ model, functions, tools, tool_choice: toolChoice });
  // providers refuse an empty list of tools
  const isSaid = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries([...own, ...named.filter(([, value]) => isSaid(value))]);
}

/** A saved prompt filled with the values of a request. */
interface FilledPrompt {
  operation: "chat" | "complete";
  /** The body of the completion request. */
  request: Record<string, unknown>;
  record: FoundVersion["record"];
  /** Slug or id of the stored provider; empty without one. */
  virtualKey: string;
  view: WorkspaceView;
}

/**
 * Fills a prompt, such as the one that a path names. Fields of the request override those of the prompt.
 *
 * @throws {GatewayError} 404 for unknown prompts and versions; 400 for a prompt that cannot be filled.
 */
async function fillPrompt(
  { value }: JsonBody<PromptRequest>,
  reference: string,
  context: CallerContext,
): Promise<FilledPrompt> {
  // some clients repeat the prompt of the path in the body
  const { variables, promptID: _, prompt_id: __, ...given } = value;
  const own = ["messages", "prompt"].find((name) => given[name] !== undefined);
  if (own !== undefined) refusePrompt(`Cannot use ${own} here: the saved prompt sets it`, "invalid_body", own);
  const view = await readView(context);
  const { version, record } = await findVersion(reference, view);
  context.log.prompt ??= record;
  const prompt = toPrompt(version);
  const partials = await readPartials(prompt, view);
  const budget = createRenderBudget();
  const rendered = await budget.run(renderPrompt(prompt, { variables, partials }, budget));
  if ("problem" in rendered)
    return refusePrompt(`Cannot render this prompt: ${rendered.problem}`, "prompt_too_large", "id");
  return {
    operation: prompt.kind,
    request: { ...readParameters(version), ...rendered, ...given },
    record,
    virtualKey: version.virtualKey,
    view,
  };
}

/** @throws {InvalidRequestError} 400 naming prompts that a config names and that cannot be used. */
function refuseNamed(names: readonly string[], why = ""): never {
  throw new InvalidRequestError(`Following prompt_id are not valid${why}: ${names.join(", ")}`, {
    code: "invalid_prompt_id",
    param: "x-gateway-config",
  });
}

/**
 * The prompts that targets of a config name, filled in.
 *
 * @throws {GatewayError} 400 for names without a prompt, and for prompts that cannot be filled or are of another operation.
 */
async function fillNamed(
  names: readonly string[],
  { body, operation }: { body: JsonBody<PromptRequest>; operation: FilledPrompt["operation"] },
  context: CallerContext,
): Promise<Map<string, FilledPrompt>> {
  const view = await readView(context);
  const found = await Promise.allSettled(names.map((name) => findVersion(name, view)));
  const unknown = names.filter(
    (_, index) => found[index]?.status === "rejected" && found[index].reason instanceof NotFoundError,
  );
  if (unknown.length > 0) refuseNamed(unknown);
  const filled = new Map<string, FilledPrompt>();
  for (const name of names) filled.set(name, await fillPrompt(body, name, context));
  const others = names.filter((name) => filled.get(name)?.operation !== operation);
  if (others.length > 0) refuseNamed(others, `, as the prompt of the path is a ${operation} prompt and these are not`);
  return filled;
}

/** Whether a model says where a request goes: a stored provider's, an alias, or a saved config. */
function namesTarget(model: unknown, { modelAliases, configs }: WorkspaceView): boolean {
  if (typeof model !== "string") return false;
  return readStoredName(model) !== undefined || modelAliases?.has(model) === true || configs.has(model);
}

/** The request with the prompt's provider, where it names none itself. */
function withProvider(
  context: CallerContext,
  { request, virtualKey, view }: FilledPrompt,
  given: PromptRequest,
): CallerContext {
  context.log.model = stringOf(request.model) ?? null;
  const named = context.header("provider") ?? context.header("virtual-key");
  if (virtualKey === "" || named !== null || namesTarget(given.model, view)) return context;
  return { ...context, header: (name) => (name === "provider" ? `@${virtualKey}` : context.header(name)) };
}

/** Headers that say where a request goes. */
const targetHeaders = ["provider", "virtual-key", "config", "custom-host"];

/**
 * Refuses other targets than the prompt's own to users who may use the prompt but not read it: another target would
 * show them the text.
 *
 * @throws {PermissionError} 403
 */
async function requireOwnTarget(given: PromptRequest, context: CallerContext): Promise<void> {
  const isDirected =
    targetHeaders.some((name) => context.header(name) !== null) || namesTarget(given.model, await readView(context));
  if (isDirected) await requireSight(context, "prompts.read");
}

/** The stored provider of a prompt, unless the request names one with its model. */
function providerOf({ virtualKey, view }: FilledPrompt, given: PromptRequest): string | undefined {
  const named = readStoredName(stringOf(given.model));
  if (named) return named.slug;
  return virtualKey === "" || namesTarget(given.model, view) ? undefined : virtualKey;
}

/** The prompt of the path, or that of a config without targets; and those that targets of a config name. */
async function choosePrompts(
  body: JsonBody<PromptRequest>,
  context: CallerContext,
): Promise<{ filled: FilledPrompt; prompts?: TargetPrompts }> {
  const filled = await fillPrompt(body, context.params.id ?? "", context);
  const caller = withProvider(context, filled, body.value);
  const { node } = await readRequestConfig(caller, stringOf(filled.request.model));
  const names = listPromptNames(node);
  if (names.length === 0) return { filled };
  const named = await fillNamed(names, { body, operation: filled.operation }, context);
  const [only] = node.strategy ? [] : named.values();
  if (only) {
    context.log.prompt = only.record;
    return { filled: only };
  }
  const prompts = [...named].map(([name, one]) => {
    const { request, record } = one;
    return [name, { request, record, provider: providerOf(one, body.value) }] as const;
  });
  return { filled, prompts: new Map(prompts) };
}

/** Checks requests of completions, as their routes do. */
const schemas = { chat: ChatRequest, complete: CompletionRequest };

async function completePrompt(body: JsonBody<PromptRequest>, context: CallerContext): Promise<Reply> {
  await requireOwnTarget(body.value, context);
  const { filled, prompts } = await choosePrompts(body, context);
  const caller = withProvider(context, filled, body.value);
  for (const { request } of prompts?.values() ?? []) requireBody(schemas[filled.operation], request);
  return filled.operation === "chat"
    ? runInference("chat", { value: requireBody(ChatRequest, filled.request), prompts }, caller)
    : runInference("complete", { value: requireBody(CompletionRequest, filled.request), prompts }, caller);
}

/** Endpoints that use saved prompts. */
export const promptEndpoints: readonly Endpoint[] = [
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/prompts/:id/render",
    operation: "renderPrompt",
    tag: "Prompts",
    summary: "Render a saved prompt with values, without calling a model",
    access: { keys: "workspace", scopes: ["prompts.render"] },
    body: PromptRequest,
    response: RenderResponse,
    handle: async (body, context) => {
      const { request } = await fillPrompt(body, context.params.id ?? "", context);
      return jsonReply({ success: true, data: request });
    },
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/prompts/:id/completions",
    operation: "completePrompt",
    tag: "Prompts",
    summary: "Answer a saved prompt rendered with values",
    access: { keys: "workspace", scopes: ["completions.write"] },
    body: PromptRequest,
    response: PromptCompletionResponse,
    handle: completePrompt,
  }),
];
