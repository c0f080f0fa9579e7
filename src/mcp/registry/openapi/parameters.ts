import { createHeaderRules, isHeaderName } from "../../../lib/headers.ts";
import { isObject, stringOf } from "../../../lib/json.ts";
import type { Steps } from "../../../lib/steps.ts";
import type { DocumentReader, Room } from "./schemas.ts";
import type { Style, Styling } from "./styles.ts";

type Value = Readonly<Record<string, unknown>>;

/** Where a parameter goes. */
export type Place = "path" | "query" | "header" | "cookie";

/** A parameter of an operation as the document has it. */
export interface Parameter extends Styling {
  readonly name: string;
  readonly place: Place;
  readonly isRequired: boolean;
  /** Its value is written as JSON. */
  readonly isJson: boolean;
  /** Characters with a meaning in URLs are not escaped. */
  readonly allowReserved: boolean;
  readonly schema: Record<string, unknown>;
}

/** Most parameters of an operation. */
const maxParameters = 100;
/** Longest description that is taken over, in characters. */
export const maxDescription = 8_192;
/** Headers that are no parameters (OpenAPI 3.1, section 4.8.12.2). */
const ignoredHeaders = new Set(["accept", "content-type", "authorization"]);
/** What an API may be sent of headers: nothing that belongs to a connection or to the gateway. */
const headerRules = createHeaderRules(["x-gateway-", "mcp-"]);

/** Styles of a place, its default first. */
const styles: Readonly<Record<Place, readonly [Style, ...Style[]]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/** How the document has the values of a place written. */
export function readStyling({ style, explode }: Value, place: Place): Styling {
  const [usual] = styles[place];
  const known = styles[place].find((one) => one === style) ?? usual;
  return { style: known, explode: typeof explode === "boolean" ? explode : known === "form" };
}

/** Whether a media type is JSON. */
export function isJsonType(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function isHeaderParameter(name: string): boolean {
  const lower = name.toLowerCase();
  return isHeaderName(name) && name.length <= 128 && !ignoredHeaders.has(lower) && headerRules.mayGoUpstream(lower);
}

function isPlace(text: unknown): text is Place {
  return typeof text === "string" && Object.hasOwn(styles, text);
}

/** Whether a parameter can be sent, or is not supported. */
function isSendable(name: string, place: Place): boolean {
  if (place === "header") return isHeaderParameter(name);
  return place !== "cookie" || (isHeaderName(name) && name.length <= 128);
}

/** Parameters by place and name: those of an operation win over those of its path. Undefined for too many. */
function collect(reader: DocumentReader, lists: readonly unknown[]): Map<string, Value> | undefined {
  const found = new Map<string, Value>();
  for (const list of lists) {
    for (const one of Array.isArray(list) ? list : []) {
      const parameter = reader.followed(one);
      const name = stringOf(parameter?.name);
      const place = parameter?.in;
      if (!parameter || name === undefined || name === "" || !isPlace(place) || !isSendable(name, place)) continue;
      found.set(`${place} ${place === "header" ? name.toLowerCase() : name}`, parameter);
      if (found.size > maxParameters) return undefined;
    }
  }
  return found;
}

function* readParameter(reader: DocumentReader, parameter: Value, room: Room): Steps<Parameter> {
  const name = String(parameter.name);
  const place = isPlace(parameter.in) ? parameter.in : "query";
  const [content] = Object.entries(isObject(parameter.content) ? parameter.content : {});
  const media = isObject(content?.[1]) ? content[1] : undefined;
  const copied = yield* reader.schema(media ? media.schema : parameter.schema, room);
  const description = stringOf(parameter.description)?.slice(0, maxDescription);
  reader.take(name.length + (description?.length ?? 0), room);
  return {
    name,
    place,
    isRequired: place === "path" || parameter.required === true,
    isJson: media !== undefined && isJsonType(content?.[0] ?? ""),
    allowReserved: parameter.allowReserved === true,
    ...readStyling(parameter, place),
    schema: { ...copied, ...(description !== undefined && { description }) },
  };
}

/** Names of the parameters in a path. */
function namesIn(path: string): string[] {
  return [...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name = ""]) => name);
}

/**
 * Parameters of an operation. Those that only its path names are text.
 *
 * @returns Undefined if there are too many.
 */
export function* readParameters(
  reader: DocumentReader,
  { path, lists, room }: { path: string; lists: readonly unknown[]; room: Room },
): Steps<Parameter[] | undefined> {
  const found = collect(reader, lists);
  if (!found) return undefined;
  for (const name of namesIn(path)) {
    if (found.has(`path ${name}`)) continue;
    found.set(`path ${name}`, { name, in: "path", schema: { type: "string" } });
  }
  if (found.size > maxParameters) return undefined;
  const parameters: Parameter[] = [];
  for (const parameter of found.values()) parameters.push(yield* readParameter(reader, parameter, room));
  return parameters;
}
