import type { CallerContext } from "../../context.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import { namesOfPrompt, readPromptTemplate } from "../../prompts/prompt.ts";
import { readPromptReference } from "../../prompts/reference.ts";
import { isProblem } from "../../prompts/template.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { promptIn } from "../facts/server-labels.ts";
import { readView } from "../target/stored-provider.ts";
import { messageOf, type ToolOutcome, toPlainName } from "./mcp-tools.ts";
import { callPrompt } from "./own-requests.ts";
import type { OwnCall, ResponsesKit } from "./responses-kit.ts";
import { toBegunEvents, toCallItem, toEndedEvents } from "./responses-mcp.ts";

type Item = Readonly<Record<string, unknown>>;

/** Most prompts of a request, and calls of them: each is a request to a model. */
const most = { prompts: 16, calls: 32 };
/** Most calls at once. */
const maxParallel = 4;

/** Whether a tool is a saved prompt of the workspace. */
export const isPromptTool = (tool: Item): boolean => tool.type === "mcp" && promptIn(tool.server_label) !== undefined;

/** A saved prompt as a model sees it. */
interface PromptTool {
  /** `slug` or `slug@version`. */
  readonly reference: string;
  readonly functionName: string;
  readonly description: string;
  /** Its variables, as strings. */
  readonly parameters: Item;
  /** It has a provider: that of the request is not asked. */
  readonly hasProvider: boolean;
}

/** @throws {GatewayError} 404 for unknown prompts and versions, 400 for one that cannot be read. */
async function findPrompt(reference: string, context: CallerContext): Promise<PromptTool> {
  const { prompts } = await readView(context);
  const { name, version } = readPromptReference(reference);
  const stored = prompts.records.get(name);
  const found = stored && (await prompts.findVersion(stored, version));
  if (!stored || !found) {
    const message = `Cannot find the prompt "${reference}"`;
    throw new NotFoundError(message, { param: "tools", code: "prompt_not_found" });
  }
  const prompt = readPromptTemplate(found.template);
  if (isProblem(prompt)) {
    const message = `Cannot use the prompt "${reference}": ${prompt.problem}`;
    throw new InvalidRequestError(message, { param: "tools", code: "invalid_prompt" });
  }
  const variables = [...namesOfPrompt(prompt).variables];
  const properties = Object.fromEntries(variables.map((variable) => [variable, { type: "string" }]));
  return {
    reference,
    functionName: toPlainName("prompt", stored.row.slug),
    description: stored.row.name,
    parameters: { type: "object", properties, required: variables },
    hasProvider: found.virtualKey !== "",
  };
}

/** What a completion said, as text for the model. */
function toOutcome(status: number, answer: Item): ToolOutcome {
  const [choice = {}] = objectsIn(answer.choices);
  const message = isObject(choice.message) ? choice.message : {};
  const text = stringOf(message.content) ?? stringOf(choice.text);
  if (status > 299) return { text: messageOf(answer), isError: true };
  if (text === undefined || text === "") {
    return { text: "The prompt gave no text: it may ask for tools, which nobody runs here", isError: true };
  }
  return { text, isError: false };
}

/** Saved prompts of the workspace as tools of a request of the Responses API. They have no tools of the gateway themselves. */
export class PromptKit implements ResponsesKit {
  readonly prefix = "mcp";
  readonly #request: ResponsesRequest;
  readonly #context: CallerContext;
  readonly #tools = new Map<string, PromptTool>();
  #calls = 0;

  constructor(request: ResponsesRequest, context: CallerContext) {
    this.#request = request;
    this.#context = context;
  }

  serves = isPromptTool;

  async open(): Promise<readonly Item[]> {
    const labels = objectsIn(this.#request.tools).filter(isPromptTool);
    if (labels.length > most.prompts) {
      const message = `Cannot use more than ${most.prompts} prompts in one request`;
      throw new InvalidRequestError(message, { param: "tools", code: "invalid_tools" });
    }
    const items: Item[] = [];
    for (const { server_label } of labels) {
      const tool = await findPrompt(promptIn(server_label) ?? "", this.#context);
      if (this.#tools.has(tool.functionName)) {
        const message = `Cannot use the prompt "${tool.reference}" twice: name it once, with one version`;
        throw new InvalidRequestError(message, { param: "tools", code: "invalid_tools" });
      }
      this.#tools.set(tool.functionName, tool);
      const { description, parameters } = tool;
      const listed = { name: readPromptReference(tool.reference).name, description, input_schema: parameters };
      items.push({ type: "mcp_list_tools", server_label, tools: [{ ...listed, annotations: null }], error: null });
    }
    return items;
  }

  functions(): readonly Item[] {
    return [...this.#tools.values()].map(({ functionName, description, parameters }) => ({
      type: "function",
      name: functionName,
      description,
      parameters,
      strict: false,
    }));
  }

  has(name: unknown): boolean {
    return typeof name === "string" && this.#tools.has(name);
  }

  toChoice({ type, server_label }: Item): unknown {
    const reference = type === "mcp" ? promptIn(server_label) : undefined;
    const tool = [...this.#tools.values()].find((one) => one.reference === reference);
    return tool && { type: "function", name: tool.functionName };
  }

  async #call({ name, given }: OwnCall): Promise<ToolOutcome> {
    const tool = this.#tools.get(name);
    if (!tool || !isObject(given))
      return { text: "Cannot call the prompt: its arguments are no object", isError: true };
    if (++this.#calls > most.calls) {
      return { text: `Cannot call the prompt: a request has at most ${most.calls} calls of prompts`, isError: true };
    }
    const { status, answer } = await callPrompt(tool, { variables: given, stream: false }, this.#context);
    return toOutcome(status, answer);
  }

  callAll(calls: readonly OwnCall[]): Promise<readonly ToolOutcome[]> {
    return mapParallel(calls, maxParallel, (call) => this.#call(call));
  }

  toItem(call: OwnCall, outcome: ToolOutcome | undefined): Item {
    const { reference = "" } = this.#tools.get(call.name) ?? {};
    const named = { server_label: `@gateway-prompts/${reference}`, name: readPromptReference(reference).name };
    return toCallItem(named, call, outcome);
  }

  toBegun = toBegunEvents;

  toEnded = toEndedEvents;
}
