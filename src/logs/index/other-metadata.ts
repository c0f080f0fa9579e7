import { type Column, StringCollector, type StringColumn } from "../../lib/columns.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Steps } from "../../lib/steps.ts";
import { stringAt } from "./conditions.ts";
import { type FieldName, metadataKeyOf } from "./fields.ts";

/** Steps for each object besides its characters. */
const stepsPerObject = 8;
/** Steps that parsing an object takes for each character. */
const parseSteps = 4;

/** The value of a key in each of some JSON objects; null where it has none. */
function* valuesOf({ values }: StringColumn, key: string): Steps<(string | null)[]> {
  const found: (string | null)[] = [];
  const name = `${JSON.stringify(key)}:`;
  for (let place = 0; place < values.size; place++) {
    const text = values.at(place);
    yield text.length + stepsPerObject;
    // few objects have the key, and to parse them takes longer than to look for it
    if (!text.includes(name)) {
      found.push(null);
      continue;
    }
    const object = parseJson(text);
    yield text.length * parseSteps;
    const value = isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
    found.push(typeof value === "string" ? value : null);
  }
  return found;
}

/**
 * The values of a key of the metadata: those of its column, and those in a column of JSON objects.
 *
 * @param own Undefined where the key has no column.
 * @returns Undefined where no row has a value.
 */
export function* mergeKey(
  field: FieldName,
  own: Column | undefined,
  others: StringColumn,
): Steps<StringColumn | undefined> {
  const column = own?.kind === "strings" ? own : undefined;
  const found = yield* valuesOf(others, metadataKeyOf(field) ?? "");
  if (!found.some((value) => value !== null)) return column;
  const { codes } = others;
  const order = Uint32Array.from(codes, (_, row) => row);
  const merged = new StringCollector();
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row] ?? 0;
    const value = code === 0 ? null : (found[code - 1] ?? null);
    merged.set(row, value ?? (column ? stringAt(column, row) : null));
  }
  yield codes.length * stepsPerObject;
  return yield* merged.columnInSteps(order);
}
