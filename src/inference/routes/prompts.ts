import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import type { PromptVersionRow } from "../../db/tables/prompts.ts";
import { requireSight } from "../../endpoint/role.ts";
import { defineJsonEndpoint, type Endpoint, type JsonBody, requireBody } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { type PromptTemplate, readPromptTemplate, renderPrompt } from "../../prompts/prompt.ts";
import { readPromptReference } from "../../prompts/reference.ts";
import { isProblem, namesOf, parseTemplate, type Template, type TemplateProblem } from "../../prompts/template.ts";
import { ChatRequest, CompletionRequest } from "../../schemas/chat.ts";
import { PromptCompletionResponse, PromptRequest, RenderResponse } from "../../schemas/prompts.ts";
import { runInference } from "../pipeline/run.ts";
import { readStoredName, readView, refuseUnreadable } from "../target/stored-provider.ts";

/** Most partials one prompt includes, each counted once. */
const maxPartials = 100;

function refuse(message: string, code: string, param: string): never {
  throw new InvalidRequestError(message, { code, param });
}

/** A parser that remembers what it made by the version it was made from: a changed record is another object. */
function rememberParsed<Parsed extends object>(parse: (text: string) => Parsed | TemplateProblem) {
  const known = new WeakMap<object, Parsed | TemplateProblem>();
  return (version: { readonly template: string }): Parsed => {
    const parsed = known.get(version) ?? parse(version.template);
    known.set(version, parsed);
    return isProblem(parsed) ? refuse(`Cannot use this prompt: ${parsed.problem}`, "invalid_prompt", "id") : parsed;
  };
}

const toPrompt = rememberParsed(readPromptTemplate);
const toPartial = rememberParsed<Template>(parseTemplate);

/** The version of a prompt the path names, noted in the log. @throws {NotFoundError} */
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
 * The partials a prompt includes, and those they include, by the names they are included with.
 *
 * @throws {InvalidRequestError} 400 naming those that are not there.
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
      refuse(`Cannot render this prompt: it includes more than ${maxPartials} partials`, "prompt_too_large", "id");
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
    refuse(`Missing variable partials: ${[...missing].toSorted().join(", ")}`, "missing_partials", "id");
  }
  return found;
}

/** Members of a request that a saved prompt says itself, or that only the request decides. */
const notParameters = new Set(["messages", "prompt", "variables", "stream"]);

/** What a version says of the request besides its text; what it does not say is left out. */
function readParameters({ parameters, model, functions, tools, toolChoice }: PromptVersionRow) {
  const own = Object.entries(isObject(parameters) ? parameters : {}).filter(([name]) => !notParameters.has(name));
  const named = Object.entries({ model, functions, tools, tool_choice: toolChoice });
  // an empty list of tools is one that providers refuse
  const isSaid = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries([...own, ...named.filter(([, value]) => isSaid(value))]);
}

/** A saved prompt filled with the values of a request. */
interface FilledPrompt {
  operation: "chat" | "complete";
  /** The body a completion would be asked with. */
  request: Record<string, unknown>;
  /** Slug or id of the stored provider; empty for none. */
  virtualKey: string;
}

/**
 * Fills the prompt a path names. Members of the request override those of the prompt.
 *
 * @throws {GatewayError} 404 for prompts and versions that are not there; 400 for what cannot be filled.
 */
async function fillPrompt({ value }: JsonBody<PromptRequest>, context: CallerContext): Promise<FilledPrompt> {
  // some clients name the prompt of the path once more
  const { variables, promptID: _, prompt_id: __, ...given } = value;
  const own = ["messages", "prompt"].find((name) => given[name] !== undefined);
  if (own !== undefined) refuse(`Cannot use ${own} here: the saved prompt says it`, "invalid_body", own);
  const view = await readView(context);
  const version = await findVersion(context, view);
  const prompt = toPrompt(version);
  const rendered = renderPrompt(prompt, variables, await readPartials(prompt, view));
  if ("problem" in rendered) return refuse(`Cannot render this prompt: ${rendered.problem}`, "prompt_too_large", "id");
  return {
    operation: prompt.kind,
    request: { ...readParameters(version), ...rendered, ...given },
    virtualKey: version.virtualKey,
  };
}

/** The request as if it had named the provider of the prompt, where it names none itself. */
function withProvider(
  context: CallerContext,
  { request, virtualKey }: FilledPrompt,
  given: PromptRequest,
): CallerContext {
  context.log.model = typeof request.model === "string" ? request.model : null;
  const named = context.header("provider") ?? context.header("virtual-key");
  const inModel = typeof given.model === "string" && readStoredName(given.model);
  if (virtualKey === "" || named !== null || inModel) return context;
  return { ...context, header: (name) => (name === "provider" ? `@${virtualKey}` : context.header(name)) };
}

/** Headers that say where a request goes. */
const directions = ["provider", "virtual-key", "config", "custom-host"];

/**
 * Refuses people who may use a prompt and not see it another way than the prompt's own: where they send it they could read it.
 *
 * @throws {PermissionError} 403
 */
async function requireOwnWay(given: PromptRequest, context: CallerContext): Promise<void> {
  const isDirected =
    directions.some((name) => context.header(name) !== null) ||
    (typeof given.model === "string" && readStoredName(given.model) !== undefined);
  if (isDirected) await requireSight(context, "prompts.read");
}

async function completePrompt(body: JsonBody<PromptRequest>, context: CallerContext): Promise<Reply> {
  await requireOwnWay(body.value, context);
  const filled = await fillPrompt(body, context);
  const caller = withProvider(context, filled, body.value);
  return filled.operation === "chat"
    ? runInference("chat", { value: requireBody(ChatRequest, filled.request) }, caller)
    : runInference("complete", { value: requireBody(CompletionRequest, filled.request) }, caller);
}

/** Rows that use saved prompts. */
export const promptEndpoints: readonly Endpoint[] = [
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/prompts/:id/render",
    operation: "renderPrompt",
    tag: "Prompts",
    summary: "Fill a saved prompt with values; nothing is called",
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
    summary: "Answer a saved prompt filled with values",
    access: { keys: "workspace", scopes: ["completions.write"] },
    body: PromptRequest,
    response: PromptCompletionResponse,
    handle: completePrompt,
  }),
];
