import type { Budget } from "../../lib/budget.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { type FitOptions, nameRulesOf } from "./fit-chat.ts";
import { createSchemaBudget, fitSchema } from "./fit-schema.ts";
import { isEffort, nearestEffort } from "./model-facts.ts";
import { withoutSealedReasoning } from "./sealed-reasoning.ts";
import { takesName } from "./tool-names.ts";
import type { ConversionOptions, OperationAdapter } from "./types.ts";

type Members = Record<string, unknown>;

/** The reasoning that is asked for, with an effort that the model has. */
function fitReasoning(
  { reasoning }: ResponsesRequest,
  { efforts, effortWord }: ModelFacts,
  { drop }: ConversionOptions,
): ResponsesRequest["reasoning"] {
  const asked = reasoning?.effort ?? undefined;
  if (!reasoning || efforts === undefined || asked === undefined || asked === effortWord) return reasoning;
  const level = isEffort(asked) ? nearestEffort(asked, efforts) : undefined;
  const { effort: _, ...rest } = reasoning;
  if (level === asked && (level === "none" || effortWord === undefined)) return reasoning;
  if (level !== asked) drop("reasoning.effort");
  if (level === undefined) return Object.keys(rest).length > 0 ? rest : undefined;
  return { ...rest, effort: level === "none" ? level : (effortWord ?? level) };
}

function fitTool<Tool extends Members>(tool: Tool, facts: ModelFacts, budget: Budget): Tool {
  const { type, parameters } = tool;
  if (type !== "function" || !isObject(parameters)) return tool;
  const fitted = fitSchema(parameters, facts, budget);
  return fitted === parameters ? tool : { ...tool, parameters: fitted };
}

/** The same list where each of its members stays. */
function mapped<Item>(items: readonly Item[], map: (item: Item) => Item): readonly Item[] {
  const made = items.map(map);
  return made.every((one, index) => one === items[index]) ? items : made;
}

/** A reasoning item of Codex, which writes null for the content that it does not have. */
function fitItem<Item extends Members>(item: Item): Item {
  if (item.type !== "reasoning" || item.content !== null) return item;
  const { content: _, ...rest } = item;
  return rest as Item; // without a member that says nothing
}

/** Fits a request of the Responses API to a host that takes less than OpenAI. The same request where nothing changes. */
function fitResponses(request: ResponsesRequest, facts: ModelFacts, options: ConversionOptions): ResponsesRequest {
  const { tools, input } = request;
  const reasoning = fitReasoning(request, facts, options);
  const budget = createSchemaBudget();
  const fittedTools = tools && mapped(tools, (tool) => fitTool(tool, facts, budget));
  const fittedInput = Array.isArray(input) ? mapped(input, fitItem) : input;
  if (reasoning === request.reasoning && fittedTools === tools && fittedInput === input) return request;
  const { reasoning: _, ...rest } = request;
  return {
    ...rest,
    ...(reasoning && { reasoning }),
    ...(fittedTools && { tools: [...fittedTools] }),
    ...(fittedInput !== undefined && { input: Array.isArray(fittedInput) ? [...fittedInput] : fittedInput }),
  } as ResponsesRequest; // the same fields in the host's form
}

/**
 * A provider's Responses API. Requests are fitted unless the provider speaks OpenAI's dialect itself; reasoning that another host
 * sealed is left out where it is refused.
 */
export function fitResponsesAdapter(
  adapter: OperationAdapter<"responses">,
  { factsOf, isNative }: FitOptions,
): OperationAdapter<"responses"> {
  const repairing = { ...adapter, repair: adapter.repair ?? withoutSealedReasoning };
  if (isNative) return repairing;
  return {
    ...repairing,
    toUpstream(request, options) {
      const known = factsOf(request.model, options);
      const facts = options.modelFacts ? { ...known, ...options.modelFacts } : known;
      const fitted = fitResponses(request, facts, options);
      return adapter.toUpstream ? adapter.toUpstream(fitted, options) : fitted;
    },
  };
}

const isRefusedItem = (item: Members, refused: readonly string[]): boolean =>
  item.type === "additional_tools" ||
  item.namespace !== undefined ||
  (refused.includes("custom") && item.type === "custom_tool_call");

/** Whether a request has tools, or calls of tools, that the host's Responses API refuses and functions can stand for. */
export function hasRefusedTools({ tools, input }: ResponsesRequest, facts: ModelFacts): boolean {
  const { refusedResponsesTools: refused = [] } = facts;
  if (refused.length === 0) return false;
  const rules = nameRulesOf(facts);
  return (
    (tools ?? []).some(
      ({ type, name }) => refused.includes(type) || (type === "function" && !takesName(name, rules)),
    ) || objectsIn(input).some((item) => isRefusedItem(item, refused))
  );
}
