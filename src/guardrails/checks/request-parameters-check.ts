import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { type Steps, stepsPerPiece } from "../../lib/steps.ts";
import { JsonObject } from "../../schemas/objects.ts";
import { findConflicts, findObjections, type ListSets, toSets } from "../lists.ts";
import { type OfferedTool, readOfferedTools } from "../offered-tools.ts";
import { beforeOnly, type Check, type CheckInput } from "../types.ts";

/** Names; an empty list has no effect. */
const Names = v.nullish(v.array(v.string()), []);
const Values = v.nullish(
  v.array(v.nullable(v.union([v.string(), v.number(), v.boolean()], "must be a string, a number, a boolean or null"))),
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
const Config = v.object({ tools: v.nullish(Tools, {}), params: v.nullish(Params, {}) });
type Config = v.InferOutput<typeof Config>;

/** The lists in the form they are looked up for each tool and parameter. */
function toRules({ tools, params }: Config) {
  const values = Object.entries(params.values).map(([name, { blockedValues: blocked, allowedValues: allowed }]) => {
    return [name, toSets<unknown>({ blocked, allowed })] as const;
  });
  return {
    types: toSets({ blocked: tools.blockedTypes, allowed: tools.allowedTypes }),
    names: toSets({ blocked: tools.blockedFunctionNames, allowed: tools.allowedFunctionNames }),
    keys: toSets({ blocked: params.blockedKeys, allowed: params.allowedKeys }),
    values: new Map(values),
  };
}
type Rules = ReturnType<typeof toRules>;

const RequestParametersCheck = v.pipe(
  Config,
  v.transform((config) => ({ config, rules: toRules(config) })),
);

/** Most tools or parameters that a result lists. */
const maxShown = 20;
/** Longest value that a result shows, in characters. */
const maxValueLength = 100;

/** A type with and without its version date, such as `web_search` for `web_search_20250305`. */
function namesOfType(type: string): string[] {
  return [type, type.replace(/_[0-9]{4}_?[0-9]{2}_?[0-9]{2}$/, "")];
}

/** Why a value is blocked, as a result shows it. */
interface Objection {
  readonly reasons: readonly string[];
}

/** How many entries there are, and the first of them. */
interface Counted<Entry> {
  count: number;
  readonly first: Entry[];
}

function note<Entry>(counted: Counted<Entry>, entry: () => Entry): void {
  if (counted.count++ < maxShown) counted.first.push(entry());
}

/** Tools of a request, and those that are blocked. */
interface ToolFindings {
  tools: Counted<OfferedTool>;
  blocked: Counted<OfferedTool & Objection>;
}

/** A tool, and by what it is judged. */
type JudgedTool = OfferedTool & { readonly by: "type" | "name" | "both" };

/**
 * The tools of a request. Those that the gateway runs in rounds have the type that the caller named, and the names of the
 * functions that stand for them.
 */
function* offeredIn({ body, asked }: CheckInput["request"]): Generator<JudgedTool | undefined, void> {
  const found = new Set<string>();
  for (const tool of readOfferedTools(body)) {
    if (asked && tool) found.add(JSON.stringify(tool));
    const isOwn = tool?.type === "function" && asked?.functions.has(tool.name) === true;
    yield tool && { ...tool, by: isOwn ? "name" : "both" };
  }
  if (!asked) return;
  for (const tool of readOfferedTools(asked.body)) {
    yield tool && !found.has(JSON.stringify(tool)) ? { ...tool, by: "type" } : undefined;
  }
}

function* findBlockedTools(request: CheckInput["request"], { types, names }: Rules): Steps<ToolFindings> {
  const findings: ToolFindings = { tools: { count: 0, first: [] }, blocked: { count: 0, first: [] } };
  let read = 0;
  for (const tool of offeredIn(request)) {
    if (++read % 500 === 0) yield stepsPerPiece;
    if (tool === undefined) continue;
    const { type, name, by } = tool;
    const ofType = by === "name" ? [] : findObjections(namesOfType(type), types);
    const ofName = by === "type" ? [] : findObjections([name], names);
    const reasons = [
      ...ofType.map((objection) => `type_${objection}`),
      ...ofName.map((objection) => `name_${objection}`),
    ];
    note(findings.tools, () => ({ type, name }));
    if (reasons.length > 0) note(findings.blocked, () => ({ type, name, reasons }));
  }
  return findings;
}

/** Most fields and items of a value that a result shows, and how deep. */
const maxShownFields = 20;
const maxShownDepth = 3;

/** The beginning of a value of any size. */
function toBeginning(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.slice(0, maxValueLength);
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxShownDepth) return Array.isArray(value) ? [] : {};
  if (Array.isArray(value)) return value.slice(0, maxShownFields).map((item) => toBeginning(item, depth + 1));
  const members = Object.entries(value).slice(0, maxShownFields);
  return Object.fromEntries(members.map(([name, member]) => [name, toBeginning(member, depth + 1)]));
}

/** A value short enough for a result. */
function toShown(value: unknown): unknown {
  const beginning = toBeginning(value);
  if (typeof beginning !== "object" || beginning === null) return beginning;
  return JSON.stringify(beginning).slice(0, maxValueLength);
}

/** Why a field's value is blocked; of a list, why any of its values is. */
function* findValueObjections(value: unknown, lists: ListSets<unknown>): Steps<string[]> {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const objections = new Set<string>();
  for (const [index, one] of values.entries()) {
    for (const objection of findObjections([one], lists)) objections.add(`value_${objection}`);
    if (index % 5_000 === 4_999) yield stepsPerPiece;
  }
  return [...objections];
}

/**
 * The parameters of a request by name. Those of a realtime session are in its `session` and `response`, whose `type` says
 * what kind they are.
 */
function paramsOf({ requestType, request: { body, asked } }: CheckInput): [name: string, value: unknown][] {
  const isOfSession = requestType === "realtime" && (typeof body.type === "string" || isObject(body.session));
  // those that rounds do not send
  const others = Object.entries(asked?.body ?? {}).filter(([name]) => !Object.hasOwn(body, name));
  if (!isOfSession) return [...Object.entries(body), ...others];
  const holders = [body.session, body.response].filter(isObject);
  return holders.flatMap((holder) => Object.entries(holder)).filter(([name]) => name !== "type");
}

function* findBlockedParams(
  params: readonly (readonly [name: string, value: unknown])[],
  { keys, values }: Rules,
): Steps<Counted<{ param: string; value: unknown } & Objection>> {
  const blocked: Counted<{ param: string; value: unknown } & Objection> = { count: 0, first: [] };
  for (const [index, [param, value]] of params.entries()) {
    const lists = values.get(param);
    const ofValue = lists ? yield* findValueObjections(value, lists) : [];
    const reasons = [...findObjections([param], keys).map((objection) => `key_${objection}`), ...ofValue];
    if (reasons.length > 0) note(blocked, () => ({ param, value: toShown(value), reasons }));
    if (index % 1_000 === 999) yield stepsPerPiece;
  }
  return blocked;
}

/** Tools and parameters a request may or may not have. */
export const requestParametersCheck: Check<v.InferOutput<typeof RequestParametersCheck>> = {
  id: "default.requestParametersCheck",
  phases: beforeOnly,
  reads: "body",
  parameters: RequestParametersCheck,
  async run(input, { config, rules }) {
    const { request, work } = input;
    const { tools, blocked } = await work.run(findBlockedTools(request, rules));
    const given = paramsOf(input);
    const params = await work.run(findBlockedParams(given, rules));
    const explanation = `${blocked.count} of ${tools.count} tools and ${params.count} of ${given.length} parameters of the request are blocked or not allowed`;
    return {
      pass: blocked.count + params.count === 0,
      data: {
        explanation,
        toolsInRequest: tools.first,
        blockedToolsFound: blocked.first,
        blockedParamsFound: params.first,
        config,
      },
    };
  },
};
