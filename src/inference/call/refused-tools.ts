import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { isOwnFileTool } from "../facts/store-ids.ts";

/** Operations that take tools which run at their provider. */
const operations: ReadonlySet<OperationName> = new Set(["chat", "messages", "responses", "generateContent"]);

/** Tools that run at their provider, by how conversions name those they leave out. */
const serverTool = new RegExp(
  `^(?:web_search_options|tools\\.(?:${[
    // https://platform.openai.com/docs/guides/tools
    "web_search(?:_preview)?(?:_\\d{4}_\\d\\d_\\d\\d)?",
    "file_search",
    "code_interpreter",
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
    "(?:web_search|web_fetch|code_execution)_\\d{8}",
    // https://ai.google.dev/api/caching#Tool
    "googleSearch",
    "googleSearchRetrieval",
    "enterpriseWebSearch",
    "googleMaps",
    "urlContext",
    "codeExecution",
    "fileSearch",
  ].join("|")}))$`,
);

/** Searches of the web, which the gateway can run. */
const webSearch = /^(?:web_search_options|tools\.(?:web_search|googleSearch|enterpriseWebSearch))/;

type Members = Record<string, unknown>;

/** Names of the functions that a tool of any dialect declares; a tool that runs at its provider declares none. */
function functionsOf(tool: Members): unknown[] {
  const { type, name, function: named, functionDeclarations: declared, tools, input_schema: schema } = tool;
  if (Array.isArray(declared)) return objectsIn(declared).map(({ name }) => name);
  if (type === "namespace") return objectsIn(tools).flatMap(functionsOf);
  if (type === "function") return [isObject(named) ? named.name : name];
  return type === "custom" || schema !== undefined ? [name] : [];
}

/** Whether a choice of a tool names one that is no function of the request. */
function choosesServerTool(choice: unknown, functions: readonly unknown[]): boolean {
  if (!isObject(choice)) return false;
  if (choice.type === "tool") return !functions.includes(choice.name);
  return typeof choice.type === "string" && serverTool.test(`tools.${choice.type}`);
}

/** Whether a request goes on without its search: it has functions beside it, and leaves the choice to the model. */
function goesOnWithoutSearch(request: object): boolean {
  const { tools, tool_choice: choice, input } = request as Members;
  const added = objectsIn(input).flatMap(({ type, tools: more }) =>
    type === "additional_tools" ? objectsIn(more) : [],
  );
  const functions = [...objectsIn(tools), ...added].flatMap(functionsOf);
  return functions.length > 0 && !choosesServerTool(choice, functions);
}

/**
 * Refuses a request whose conversion leaves out a tool that runs at its provider: the model would answer without it, and
 * its caller could not see that. Agents offer a search of the web among their functions in every request: it is left out and
 * reported, unless the request demands it.
 *
 * @throws {InvalidRequestError} 400 naming the tool.
 */
export function refuseServerTool(member: string, operation: OperationName, request: object): void {
  if (!operations.has(operation) || !serverTool.test(member)) return;
  const isSearch = webSearch.test(member);
  if (isSearch && goesOnWithoutSearch(request)) return;
  const name = member.replace(/^tools\./, "");
  const search = isSearch ? "set server_tools.web_search in the config so that the gateway searches, " : "";
  const files = /^file_?search$/i.test(name) ? "search vector stores of the gateway with the Responses API, " : "";
  throw new InvalidRequestError(
    `Cannot use ${name}: the provider of this model does not have it, and the gateway does not run it. Choose another ` +
      `provider, ${search}${files}or leave it out with drop_params: ["${member}"]`,
    { param: member, code: "unsupported_tool" },
  );
}

/**
 * A chat or a request of the Messages API without searches of the gateway's vector stores, which the Responses API alone has:
 * most hosts would get the tool as it came.
 *
 * @param drop Refuses the tool, or reports it as left out.
 */
export function withoutOwnStores<Request extends object>(request: Request, drop: (member: string) => void): Request {
  const tools: unknown = Reflect.get(request, "tools");
  const isOwn = (tool: unknown): boolean => isObject(tool) && isOwnFileTool(tool);
  if (!Array.isArray(tools) || !tools.some(isOwn)) return request;
  drop("tools.file_search");
  const others = tools.filter((tool) => !isOwn(tool));
  return others.length > 0 ? { ...request, tools: others } : { ...request, tools: undefined, tool_choice: undefined };
}
