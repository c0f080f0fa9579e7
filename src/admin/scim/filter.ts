import type { ListOptions } from "../../db/tenant-store.ts";
import { InvalidRequestError } from "../../errors.ts";
import { requireJson } from "../../lib/json.ts";

/** One comparison of a filter. */
export interface Condition {
  /** In lower case, without the identifier of the core schema. */
  attribute: string;
  value: string | boolean;
}

/** The target of an operation: an attribute, which of its values, and which subattribute. */
export interface AttributePath {
  /** In lower case, like `part`. */
  attribute: string;
  conditions: readonly Condition[];
  part: string | undefined;
}

const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
const attributeName = String.raw`[A-Za-z$][\w$-]*`;
const comparison = new RegExp(
  String.raw`\s*((?:urn:[\w.:-]+:)?${attributeName}(?:\[[^\]]*\])?(?:\.${attributeName})?)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*(and\s|$)`,
  "iy",
);
const maxConditions = 10;

function refuseFilter(problem: string): never {
  throw new InvalidRequestError(`Cannot use this filter: ${problem}`, { code: "invalidFilter", param: "filter" });
}

function toPlainName(name: string): string {
  return name.replace(coreSchema, "").toLowerCase().replace(/\s+/g, " ");
}

function toValue(text: string): Condition["value"] {
  if (!text.startsWith('"')) return text.toLowerCase() === "true";
  try {
    return String(requireJson(text));
  } catch {
    return refuseFilter("a value is not a JSON string");
  }
}

/**
 * The comparisons of a filter (RFC 7644, section 3.4.2.2): `eq`, joined by `and`.
 *
 * @throws {InvalidRequestError} For any other filter.
 */
function readFilter(text: string): Condition[] {
  const conditions: Condition[] = [];
  let position = 0;
  while (conditions.length < maxConditions) {
    comparison.lastIndex = position;
    const [whole, name, value, joint] = comparison.exec(text) ?? [];
    if (whole === undefined || name === undefined || value === undefined) {
      return refuseFilter('only comparisons such as userName eq "name", joined by and, are supported');
    }
    conditions.push({ attribute: toPlainName(name), value: toValue(value) });
    position += whole.length;
    if (joint === "") return conditions;
  }
  return refuseFilter(`it has more than ${maxConditions} comparisons`);
}

/** Filter of the rows a comparison matches; undefined where its value is of the wrong type. */
export type FilterTable<Row> = Readonly<
  Record<string, (value: Condition["value"]) => Pick<ListOptions<Row>, "where" | "anyCase"> | undefined>
>;

/** List options for a comparison of an attribute that is a string. */
export function textFilter<Row>(toOptions: (text: string) => Pick<ListOptions<Row>, "where" | "anyCase">) {
  return (value: Condition["value"]) => (typeof value === "string" ? toOptions(value) : undefined);
}

/** Both filters combined; undefined when they require different values of one column. */
function join(first: object | undefined, second: object | undefined): Record<string, unknown> | undefined {
  const joined = new Map(Object.entries(first ?? {}));
  for (const [name, value] of Object.entries(second ?? {})) {
    if (joined.has(name) && joined.get(name) !== value) return undefined;
    joined.set(name, value);
  }
  return Object.fromEntries(joined);
}

/**
 * Filter of the rows a SCIM filter matches; undefined when no row can match.
 *
 * @throws {InvalidRequestError} If it compares an attribute the table does not have.
 */
export function toListOptions<Row>(
  text: string | undefined,
  table: FilterTable<Row>,
): Pick<ListOptions<Row>, "where" | "anyCase"> | undefined {
  const wanted = (text === undefined ? [] : readFilter(text)).map(({ attribute, value }) => {
    const toOptions = Object.hasOwn(table, attribute) ? table[attribute] : undefined;
    return toOptions?.(value) ?? refuseFilter(`${attribute} cannot be compared with this value`);
  });
  let options: Pick<ListOptions<Row>, "where" | "anyCase"> | undefined = {};
  for (const { where, anyCase } of wanted) {
    const rows = join(options?.where, where);
    const strings = join(options?.anyCase?.equals, anyCase?.equals);
    // both hold columns of the row, since the table's entries do
    options =
      options && rows && strings ? ({ where: rows, anyCase: { equals: strings } } as typeof options) : undefined;
  }
  return options;
}

const pathForm = new RegExp(String.raw`^(${attributeName})(?:\[([^\]]*)\])?(?:\.(${attributeName}))?$`);

/**
 * The path of an operation (RFC 7644, section 3.5.2). Undefined for attributes of other schemas than the core.
 *
 * @throws {InvalidRequestError} If it is malformed.
 */
export function readPath(text: string): AttributePath | undefined {
  const plain = text.trim().replace(coreSchema, "");
  if (/^urn:/i.test(plain)) return undefined;
  const [, attribute, filter, part] = pathForm.exec(plain) ?? [];
  if (attribute === undefined) {
    throw new InvalidRequestError(`Cannot use this path: "${text.slice(0, 100)}"`, { code: "invalidPath" });
  }
  const conditions = filter === undefined ? [] : readFilter(filter);
  return { attribute: attribute.toLowerCase(), conditions, part: part?.toLowerCase() };
}
