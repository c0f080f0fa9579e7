import * as v from "valibot";
import { isObject, objectsIn } from "../../lib/json.ts";
import { JsonObject } from "../../schemas/objects.ts";
import { findConflicts, findObjections } from "../lists.ts";
import { type Body, beforeOnly, type Check } from "../types.ts";

/** Names; an empty list says nothing. */
const Names = v.nullish(v.array(v.string()), []);
const Values = v.nullish(
  v.array(v.nullable(v.union([v.string(), v.number(), v.boolean()], "must be a text, a number, a boolean or null"))),
  [],
);

const Tools = v.pipe(
  JsonObject,
  v.object({ blockedTypes: Names, allowedTypes: Names, blockedFunctionNames: Names, allowedFunctionNames: Names }),
  v.check(
    ({ blockedTypes, allowedTypes }) => findConflicts({ blocked: blockedTypes, allowed: allowedTypes }).length === 0,
    "must not have the same entry in blockedTypes and allowedTypes",
  ),
  v.check(
    ({ blockedFunctionNames: blocked, allowedFunctionNames: allowed }) =>
      findConflicts({ blocked, allowed }).length === 0,
    "must not have the same entry in blockedFunctionNames and allowedFunctionNames",
  ),
);
const ValueLists = v.pipe(
  JsonObject,
  v.object({ blockedValues: Values, allowedValues: Values }),
  v.check(
    ({ blockedValues: blocked, allowedValues: allowed }) => findConflicts({ blocked, allowed }).length === 0,
    "must not have the same entry in blockedValues and allowedValues",
  ),
);
const Params = v.pipe(
  JsonObject,
  v.object({
    blockedKeys: Names,
    allowedKeys: Names,
    values: v.nullish(v.pipe(JsonObject, v.record(v.string(), ValueLists)), {}),
  }),
  v.check(
    ({ blockedKeys: blocked, allowedKeys: allowed }) => findConflicts({ blocked, allowed }).length === 0,
    "must not have the same entry in blockedKeys and allowedKeys",
  ),
);
const RequestParametersCheck = v.object({ tools: v.nullish(Tools, {}), params: v.nullish(Params, {}) });
type Config = v.InferOutput<typeof RequestParametersCheck>;

/** Most tools or members that are told of. */
const maxTold = 20;
/** Longest value that is told, in characters. */
const maxValueLength = 100;

/** A tool a request offers to the model. */
interface Tool {
  type: string;
  name: string;
}

const textOr = (value: unknown, other: string): string => (typeof value === "string" && value !== "" ? value : other);

/** Names under which the Gemini API declares functions. */
const declarations = ["functionDeclarations", "function_declarations"];

/** The objects of a list; an object stands for a list of one, as the Gemini API reads it. */
function listedIn(value: unknown): Body[] {
  return isObject(value) ? [value] : objectsIn(value);
}

function readFunctions(list: unknown, type = "function"): Tool[] {
  return listedIn(list).map(({ name }) => ({ type, name: textOr(name, type) }));
}

/**
 * One item of `tools`, in the form of any dialect. Without a `type` it is a function of its own, or a tool of the Gemini
 * API, which names kinds of tools by its members.
 */
function readTool(tool: Body): Tool[] {
  const inner = [
    ...listedIn(tool.tools).flatMap(readTool),
    ...declarations.flatMap((member) => readFunctions(tool[member])),
  ];
  const called = [tool.function, tool.custom].find(isObject);
  if (typeof tool.type !== "string" && typeof tool.name !== "string" && called === undefined) {
    const kinds = Object.keys(tool).filter((member) => !declarations.includes(member));
    return [...kinds.map((kind) => ({ type: kind, name: kind })), ...inner];
  }
  const type = textOr(tool.type, "function");
  return [{ type, name: textOr(called?.name, textOr(tool.name, type)) }, ...inner];
}

/** The tools of a request: those of `tools`, functions of the older form, and servers of tools. */
function readTools(body: Body): Tool[] {
  return [
    ...listedIn(body.tools).flatMap(readTool),
    ...readFunctions(body.functions),
    ...readFunctions(body.mcp_servers, "mcp"),
  ];
}

/** A type, and the same without the date of its version, such as `web_search` of `web_search_20250305`. */
function namesOfType(type: string): string[] {
  return [type, type.replace(/_[0-9]{4}_?[0-9]{2}_?[0-9]{2}$/, "")];
}

function findBlockedTools(tools: readonly Tool[], config: Config["tools"]) {
  const types = { blocked: config.blockedTypes, allowed: config.allowedTypes };
  const names = { blocked: config.blockedFunctionNames, allowed: config.allowedFunctionNames };
  return tools
    .map(({ type, name }) => ({
      ...{ type, name },
      reasons: [
        ...findObjections(namesOfType(type), types).map((objection) => `type_${objection}`),
        ...findObjections([name], names).map((objection) => `name_${objection}`),
      ],
    }))
    .filter(({ reasons }) => reasons.length > 0);
}

/** A value in a size that can be told. */
function toTold(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, maxValueLength);
  return typeof value === "object" && value !== null ? JSON.stringify(value).slice(0, maxValueLength) : value;
}

/** What stands against a member's value; of a list, against any of its values. */
function findValueObjections(value: unknown, lists: v.InferOutput<typeof ValueLists>): string[] {
  const { blockedValues: blocked, allowedValues: allowed } = lists;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const objections = values.flatMap((one) => findObjections<unknown>([one], { blocked, allowed }));
  return [...new Set(objections)].map((objection) => `value_${objection}`);
}

function findBlockedParams(body: Body, config: Config["params"]) {
  const keys = { blocked: config.blockedKeys, allowed: config.allowedKeys };
  return Object.entries(body)
    .map(([param, value]) => ({
      ...{ param, value: toTold(value) },
      reasons: [
        ...findObjections([param], keys).map((objection) => `key_${objection}`),
        ...(Object.hasOwn(config.values, param) && config.values[param]
          ? findValueObjections(value, config.values[param])
          : []),
      ],
    }))
    .filter(({ reasons }) => reasons.length > 0);
}

/** Tools and members a request may have, or may not. */
export const requestParametersCheck: Check<Config> = {
  id: "default.requestParametersCheck",
  phases: beforeOnly,
  reads: "body",
  parameters: RequestParametersCheck,
  run({ request: { body } }, config) {
    const tools = readTools(body);
    const blockedTools = findBlockedTools(tools, config.tools);
    const blockedParams = findBlockedParams(body, config.params);
    const explanation = `${blockedTools.length} of ${tools.length} tools and ${blockedParams.length} of ${Object.keys(body).length} parameters of the request are blocked or not allowed`;
    return {
      pass: blockedTools.length + blockedParams.length === 0,
      data: {
        explanation,
        toolsInRequest: tools.slice(0, maxTold),
        blockedToolsFound: blockedTools.slice(0, maxTold),
        blockedParamsFound: blockedParams.slice(0, maxTold),
        config,
      },
    };
  },
};
