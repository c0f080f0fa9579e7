import { FormFile, type FormPart } from "./multipart.ts";

/** Form fields that are not strings. */
export interface FieldKinds {
  /** Numeric fields. */
  readonly numbers?: readonly string[];
  /** Boolean fields, `true` or `false`. */
  readonly flags?: readonly string[];
  /** Fields that are lists even with a single value. */
  readonly lists?: readonly string[];
}

/** Form fields as an object. */
interface FormFields {
  fields: Record<string, unknown>;
  /** Names under which lists were sent, by field. */
  listNames: ReadonlyMap<string, string>;
}

function convert(member: string, value: FormPart["value"], { numbers, flags }: FieldKinds): unknown {
  if (value instanceof FormFile) return value;
  if (flags?.includes(member)) return value === "true" ? true : value === "false" ? false : value;
  if (!numbers?.includes(member) || value.trim() === "") return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}

/** Form parts as an object: `name[]` and repeated names become lists. Values that do not fit their field's type stay strings. */
export function readFields(parts: readonly FormPart[], kinds: FieldKinds): FormFields {
  const fields = new Map<string, unknown>();
  const listNames = new Map<string, string>();
  for (const { name, value } of parts) {
    const isMarked = name.length > 2 && name.endsWith("[]");
    const member = isMarked ? name.slice(0, -2) : name;
    const converted = convert(member, value, kinds);
    const known = fields.get(member);
    if (known === undefined && !isMarked && !kinds.lists?.includes(member)) {
      fields.set(member, converted);
      continue;
    }
    if (!listNames.has(member)) listNames.set(member, name);
    fields.set(member, known === undefined ? [converted] : [...(Array.isArray(known) ? known : [known]), converted]);
  }
  return { fields: Object.fromEntries(fields), listNames };
}

function toValue(value: unknown): FormPart["value"] {
  if (value instanceof FormFile) return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** An object as form parts; lists use the names they were sent under, else `name[]`. Absent and null fields are left out. */
export function toParts(members: object, listNames?: ReadonlyMap<string, string>): FormPart[] {
  return Object.entries(members).flatMap(([member, value]): FormPart[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) return [{ name: member, value: toValue(value) }];
    const name = listNames?.get(member) ?? `${member}[]`;
    return value.map((item) => ({ name, value: toValue(item) }));
  });
}
