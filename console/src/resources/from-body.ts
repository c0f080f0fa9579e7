import { isJsonObject } from "@/lib/json.ts";
import { toBody, toInput, toValues } from "./body.ts";
import type { Field, Values } from "./types.ts";

/** The values of a form for a body that was typed. */
interface FormOfBody {
  readonly values: Values;
  /** Dotted paths of what the form cannot show. */
  readonly left: readonly string[];
}

/** The member of a body at a dotted path: null where the body clears it or what it is in, undefined where it says nothing. */
function givenAt(body: Values, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split(".")) {
    if (value === null) return null;
    value = isJsonObject(value) ? value[name] : undefined;
  }
  return value;
}

const isStrings = (value: unknown): boolean =>
  Array.isArray(value) ? value.every((one) => typeof one === "string") : typeof value === "string";

/** Whether the input of a field can show a value. */
function canShow({ kind, options }: Field, value: unknown): boolean {
  if (value === undefined) return true;
  switch (kind) {
    case "json":
    case "file":
      return true;
    case "number":
    case "duration":
      return typeof value === "number";
    case "switch":
      return typeof value === "boolean" || value === 0 || value === 1;
    case "select":
      return typeof value === "string" && (!Array.isArray(options) || options.some((option) => option.value === value));
    case "multi":
    case "tags":
      return isStrings(value);
    case "rows":
      return Array.isArray(value) && value.every(isJsonObject);
    case "pairs":
      return Array.isArray(value) && value.every((line) => isJsonObject(line) && typeof line.value === "string");
    case "own":
      return isJsonObject(value) || (Array.isArray(value) && value.every(isJsonObject));
    default:
      return typeof value === "string";
  }
}

/** Whether two values are the same JSON, in whichever order their members are. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other || (one ?? null) === (other ?? null);
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame(one[name], other[name]));
}

/** Dotted paths of the members of a body that neither the body of the form nor the record has. */
function listLost(body: Values, form: unknown, record: unknown, above = ""): readonly string[] {
  const formRow = isJsonObject(form) ? form : {};
  const recordRow = isJsonObject(record) ? record : {};
  return Object.entries(body).flatMap(([name, value]) => {
    const again = formRow[name];
    if (isSame(value, again) || (again === undefined && isSame(value, recordRow[name]))) return [];
    const isWhole =
      !isJsonObject(value) || (again !== undefined && !isJsonObject(again)) || Object.keys(value).length === 0;
    return isWhole ? [above + name] : listLost(value, again, recordRow[name], `${above}${name}.`);
  });
}

/**
 * The values with which a form says what a body says. What a body of a record that exists leaves out stays as it is stored.
 *
 * @throws {Error} A value is none that its field could have.
 */
export function fromBody(fields: readonly Field[], body: Values, record?: object): FormOfBody {
  const values: Record<string, unknown> = { ...(record !== undefined && toValues(fields, record)) };
  const unshown: string[] = [];
  for (const field of fields) {
    const given = givenAt(body, field.name);
    if (given === undefined) continue;
    const before = values[field.name];
    const isPart = field.isMerged === true && isJsonObject(given) && isJsonObject(before);
    const value =
      given === null || given === field.none ? undefined : toInput(field, isPart ? { ...before, ...given } : given);
    if (canShow(field, value)) values[field.name] = value;
    else unshown.push(field.name);
  }
  const left = listLost(body, toBody(fields, values, record), record);
  return { values, left: [...new Set([...unshown, ...left])] };
}
