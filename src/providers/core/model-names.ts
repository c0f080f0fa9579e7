import { memoizeText } from "../../lib/bounded-map.ts";
import { isObject } from "../../lib/json.ts";
import { readSegments } from "../../lib/path.ts";
import { FormRequest } from "./operations.ts";

/** Models a call names, in their original spelling. */
export interface NamedModels {
  names: string[];
  /** Whether a model field contains something other than a name. */
  isUnclear: boolean;
}

/** Fields that name models, in lower case and without separators. */
const modelMembers: ReadonlySet<string> = new Set([
  "model",
  "models",
  "modelid",
  "modelname",
  "modelarn",
  "modelslug",
  "modelidentifier",
  "basemodel",
  "basemodelid",
  "basemodelidentifier",
  "targetmodel",
  "fallbackmodels",
  "fallbacks",
  "engine",
  "engineid",
  "deployment",
  "deploymentid",
  "endpointid",
  "preset",
]);

/** Fields with a model's input or output: names inside them do not select a model. */
const contentMembers: ReadonlySet<string> = new Set([
  "messages",
  "contents",
  "content",
  "input",
  "inputs",
  "prompt",
  "textprompts",
  "system",
  "instructions",
  "documents",
  "records",
  "queries",
  "query",
  "instances",
  "questions",
  "state",
  "metadata",
  "labels",
  "parameters",
  "properties",
  "schema",
  "jsonschema",
  "inputschema",
  "responseformat",
  "arguments",
  "variables",
  "text",
  "prediction",
  "requestmetadata",
  "parameterdefinitions",
  "$defs",
  "definitions",
  "patternproperties",
  "dependentschemas",
  "dependentrequired",
]);

/** Whether a field contains a model's input or output, or a schema. Property names of a schema are not model fields. */
function isContent(folded: string): boolean {
  return contentMembers.has(folded) || folded.endsWith("schema");
}

/** A field's name as lenient parsers see it: without case and word separators. */
export function foldMember(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[-_\s]/g, "");
}

/** What a field contains by its name. */
interface MemberKind {
  readonly folded: string;
  readonly isContent: boolean;
  readonly isModel: boolean;
}

const kindOf: (name: string) => MemberKind = memoizeText(
  4_096,
  (name) => {
    const folded = foldMember(name);
    return { folded, isContent: isContent(folded), isModel: modelMembers.has(folded) };
  },
  64,
);

/** Limits: how many names are checked, and how deep. */
const maxNames = 10_000;
const maxDepth = 64;

/** Names in the value of a field that names models. */
function readNames(value: unknown, isModel: boolean, found: NamedModels, depth = 0): void {
  if (depth > maxDepth) found.isUnclear = true;
  if (value === null || value === undefined || found.isUnclear) return;
  if (typeof value === "string") {
    if (value.trim() !== "") found.names.push(value);
    return;
  }
  if (Array.isArray(value)) {
    for (const one of value) readNames(one, isModel, found, depth + 1);
    return;
  }
  const named = isObject(value)
    ? ["id", "name", "slug"].map((name) => value[name]).filter((name) => typeof name === "string")
    : [];
  found.names.push(...named);
  // `fallbacks` and similar fields also contain whole requests, which are searched too
  if (named.length === 0 && isModel) found.isUnclear = true;
}

function walk(value: unknown, found: NamedModels, skipped: string | undefined, depth = 0): void {
  if (found.names.length > maxNames || depth > maxDepth) found.isUnclear = true;
  if (found.isUnclear || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value)) {
    for (const one of value) walk(one, found, undefined, depth + 1);
    return;
  }
  const members = value as Readonly<Record<string, unknown>>; // it is an object, and its members are looked at
  // an array of pairs would be made of each object of each request
  for (const name of Object.keys(members)) {
    const { folded, isContent, isModel } = kindOf(name);
    if (folded === skipped || isContent) continue;
    const member = members[name];
    if (isModel) readNames(member, folded === "model", found);
    if (typeof member === "object") walk(member, found, undefined, depth + 1);
  }
}

/**
 * The models a JSON body names, in any place where requests name them: at the top level, in a session, a batch or a
 * tool, but not inside a prompt or a schema.
 *
 * @param isNamedInPath The path names the model: a top-level `model` beside it has no effect.
 */
export function modelsInBody(body: unknown, { isNamedInPath = false } = {}): NamedModels {
  const found: NamedModels = { names: [], isUnclear: false };
  walk(body instanceof FormRequest ? body.members : body, found, isNamedInPath ? "model" : undefined);
  return found;
}

/** Whether a field of a form names a model: `model`, `model[]` or `session[model]`, but not `metadata[model]`. */
function isModelField(name: string): boolean {
  const path = name.split(/[[\].]+/).map(foldMember);
  return path.some((part) => modelMembers.has(part)) && !path.some(isContent);
}

/** The models in the fields of a form. */
export function modelsInFields(fields: Iterable<readonly [name: string, value: string]>): string[] {
  return [...fields].filter(([name, value]) => value.trim() !== "" && isModelField(name)).map(([, value]) => value);
}

/** The models in a query. */
export function modelsInQuery(query: string): string[] {
  const members = [...new URLSearchParams(query)];
  return members
    .filter(([name, value]) => modelMembers.has(foldMember(name)) && value !== "")
    .map(([, value]) => value);
}

/** Header names by which providers select a model. */
const modelHeader = /(?:^|-)(?:models?|target-variant|inference-component)(?:-(?:id|name|deployment))?$/;

/** The models in headers. */
export function modelsInHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (modelHeader.test(name.toLowerCase()) ? [value] : []));
}

/** Path suffixes after a model: the action to perform. */
const action =
  /\/(?:(?:chat\/|extensions\/chat\/)?completions|embeddings|responses|messages|images\/\w+|audio\/\w+|rerank|moderations|invoke[\w-]*|converse[\w-]*|count-tokens|(?:async-)?invocations|infer|generate(?:_stream)?|realtime|pipeline\/[\w-]+|text[-_]to[-_]image|v\d+)$/i;

/** As Google writes it. */
const googleAction = /:(?:[a-z]*(?:Content|Contents|Tokens|Predict)|predict\w*)$/;

const beforeModel = /(?:^|\/)(?:models?|engines|deployments|endpoints|tunedModels|serving-endpoints)\/(.+)$/i;

/** The model in a path of a common form, such as `/models/<model>:<action>` or `/engines/<model>/completions`. */
export function modelInPath(path: string): string | undefined {
  let name = beforeModel.exec(path)?.[1]?.replace(googleAction, "");
  while (name !== undefined && action.test(name)) name = name.replace(action, "");
  return name;
}

/** Limits of a path that is searched: its segments and its length. */
const maxSegments = 32;
const maxLength = 2_048;

/**
 * Every possible model name in a path: each run of segments, with and without the suffix after a colon. Undefined for a
 * path that is malformed or has too many segments.
 */
export function namesInPath(segments: readonly string[]): string[] | undefined {
  if (segments.length > maxSegments) return undefined;
  const names = new Set<string>();
  for (let start = 0; start < segments.length; start++) {
    for (let end = start + 1; end <= segments.length; end++) {
      const name = segments.slice(start, end).join("/");
      names.add(name);
      const colon = name.lastIndexOf(":");
      if (colon > 0) names.add(name.slice(0, colon));
    }
  }
  return [...names];
}

/** The segments of a path without empty ones; undefined for malformed percent-encoding. */
function plainSegments(pathname: string): string[] | undefined {
  try {
    return readSegments(pathname).filter((segment) => segment !== "");
  } catch {
    return undefined;
  }
}

/** Path and query of a call. */
export function splitPath(path: string): { segments: string[] | undefined; query: string } {
  const mark = path.indexOf("?");
  const pathname = mark < 0 ? path : path.slice(0, mark);
  return {
    segments: pathname.length > maxLength ? undefined : plainSegments(pathname),
    query: mark < 0 ? "" : path.slice(mark),
  };
}

/** A name without its prefixes. They are removed until nothing changes, because they may occur more than once. */
export function withoutPrefixes(name: string, prefix: RegExp): string {
  let plain = name;
  for (let rounds = 0; rounds < 64; rounds++) {
    const next = plain.replace(prefix, "");
    if (next === plain) break;
    plain = next;
  }
  return plain;
}
