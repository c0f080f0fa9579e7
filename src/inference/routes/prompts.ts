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

/** The version of a prompt the path names, recorded in the log. @throws {NotFoundError} */
async function findVersion(context: CallerContext, { prompts }: WorkspaceView): Promise<PromptVersionRow> {
  const { name, version } = readPromptReference(context.params.id ?? "");
  const stored = prompts.records.get(name);
  if (!stored) throw new NotFoundError("Invalid prompt id", { code: "prompt_not_found", param: "id" });
  const found = await Promise.resolve(prompts.findVersion(stored, version)).catch(refuseUnreadable);
  if (!found) {
    throw new NotFoundError("Cannot find this version of the prompt", {
      code: "prompt_version_not_found",
      param: "id",
    });
  }
  context.log.prompt = { id: stored.row.id, slug: stored.row.slug, versionId: found.id };
  return found;
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
  /** Slug or id of the stored provider; empty without one. */
  virtualKey: string;
  view: WorkspaceView;
}

/**
 * Fills the prompt a path names. Fields of the request override those of the prompt.
 *
 * @throws {GatewayError} 404 for unknown prompts and versions; 400 for a prompt that cannot be filled.
 */
async function fillPrompt({ value }: JsonBody<PromptRequest>, context: CallerContext): Promise<FilledPrompt> {
  // some clients repeat the prompt of the path in the body
  const { variables, promptID: _, prompt_id: __, ...given } = value;
  const own = ["messages", "prompt"].find((name) => given[name] !== undefined);
  if (own !== undefined) refusePrompt(`Cannot use ${own} here: the saved prompt sets it`, "invalid_body", own);
  const view = await readView(context);
  const version = await findVersion(context, view);
  const prompt = toPrompt(version);
  const partials = await readPartials(prompt, view);
  const budget = createRenderBudget();
  const rendered = await budget.run(renderPrompt(prompt, { variables, partials }, budget));
  if ("problem" in rendered)
    return refusePrompt(`Cannot render this prompt: ${rendered.problem}`, "prompt_too_large", "id");
  return {
    operation: prompt.kind,
    request: { ...readParameters(version), ...rendered, ...given },
    virtualKey: version.virtualKey,
    view,
  };
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

async function completePrompt(body: JsonBody<PromptRequest>, context: CallerContext): Promise<Reply> {
  await requireOwnTarget(body.value, context);
  const filled = await fillPrompt(body, context);
  const caller = withProvider(context, filled, body.value);
  return filled.operation === "chat"
    ? runInference("chat", { value: requireBody(ChatRequest, filled.request) }, caller)
    : runInference("complete", { value: requireBody(CompletionRequest, filled.request) }, caller);
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
      const { request } = await fillPrompt(body, context);
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
