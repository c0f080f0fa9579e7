import { isObject } from "../../lib/json.ts";
import { readSegments } from "../../lib/path.ts";
import { FormRequest } from "./operations.ts";

/** Models a call names, as they are written in it. */
interface NamedModels {
  names: string[];
  /** Whether something stands where a model is named that is no name. */
  isUnclear: boolean;
}

/** Members that name models, in lower case and without separators. */
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

/** Members that hold what a model is asked, or says: a name in them chooses no model. */
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

/** Whether a model is asked, or says, what a member holds. A schema names no model, whatever its properties are called. */
function isContent(folded: string): boolean {
  return contentMembers.has(folded) || folded.endsWith("schema");
}

/** A member's name as lenient readers see it: some ignore its case, and each has its own way to separate words. */
export function foldMember(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[-_\s]/g, "");
}

/** Most names that are looked at, and how deep. */
const maxNames = 10_000;
const maxDepth = 64;

/** Names in the value of a member that names models. */
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
  // `fallbacks` and the like hold whole requests too, which are walked
  if (named.length === 0 && isModel) found.isUnclear = true;
}

function walk(value: unknown, found: NamedModels, skipped: string | undefined, depth = 0): void {
  if (found.names.length > maxNames || depth > maxDepth) found.isUnclear = true;
  if (found.isUnclear || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) walk(one, found, undefined, depth + 1);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const folded = foldMember(name);
    if (folded === skipped || isContent(folded)) continue;
    if (modelMembers.has(folded)) readNames(member, folded === "model", found);
    walk(member, found, undefined, depth + 1);
  }
}

/**
 * The models a JSON body names, wherever requests name them: at its top, in a session, a batch or a tool. Not what a prompt
 * or a schema says.
 *
 * @param isNamedInPath The path names the model: a top-level `model` beside it chooses nothing.
 */
export function modelsInBody(body: unknown, { isNamedInPath = false } = {}): NamedModels {
  const found: NamedModels = { names: [], isUnclear: false };
  walk(body instanceof FormRequest ? body.members : body, found, isNamedInPath ? "model" : undefined);
  return found;
}

/** The models the query of a path names. */
export function modelsInQuery(query: string): string[] {
  const members = [...new URLSearchParams(query)];
  return members
    .filter(([name, value]) => modelMembers.has(foldMember(name)) && value !== "")
    .map(([, value]) => value);
}

/** Names of headers by which providers choose a model. */
const modelHeader = /(?:^|-)(?:models?|target-variant|inference-component)(?:-(?:id|name|deployment))?$/;

/** The models headers name. */
export function modelsInHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (modelHeader.test(name.toLowerCase()) ? [value] : []));
}

/** What stands behind a model in paths: what is done with it. */
const action =
  /\/(?:(?:chat\/|extensions\/chat\/)?completions|embeddings|responses|messages|images\/\w+|audio\/\w+|rerank|moderations|invoke[\w-]*|converse[\w-]*|count-tokens|(?:async-)?invocations|infer|generate(?:_stream)?|realtime|pipeline\/[\w-]+|text[-_]to[-_]image|v\d+)$/i;

/** As Google writes it. */
const googleAction = /:(?:[a-z]*(?:Content|Contents|Tokens|Predict)|predict\w*)$/;

const beforeModel = /(?:^|\/)(?:models?|engines|deployments|endpoints|tunedModels|serving-endpoints)\/(.+)$/i;

/** The model a path names in one of the common ways, such as `/models/<model>:<action>` or `/engines/<model>/completions`. */
export function modelInPath(path: string): string | undefined {
  let name = beforeModel.exec(path)?.[1]?.replace(googleAction, "");
  while (name !== undefined && action.test(name)) name = name.replace(action, "");
  return name;
}

/** Most segments of a path that is looked into, and its most characters. */
const maxSegments = 32;
const maxLength = 2_048;

/**
 * Whatever a path could be naming: each run of its segments, also without what stands behind a colon. Undefined for a path
 * that cannot be read, or has too many segments.
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

/** The segments of a path without empty ones; undefined where a percent sign is malformed. */
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

/** A name with the first matching form applied until nothing changes: prefixes may be written more than once. */
export function withoutPrefixes(name: string, prefix: RegExp): string {
  let plain = name;
  for (let rounds = 0; rounds < 64; rounds++) {
    const next = plain.replace(prefix, "");
    if (next === plain) break;
    plain = next;
  }
  return plain;
}
