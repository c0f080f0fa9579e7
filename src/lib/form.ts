import { FormFile, type FormPart } from "./multipart.ts";

/** Fields of a form that are no texts. */
export interface FieldKinds {
  /** Fields whose texts are numbers. */
  readonly numbers?: readonly string[];
  /** Fields whose texts are `true` or `false`. */
  readonly flags?: readonly string[];
  /** Fields that are lists also where one value was sent. */
  readonly lists?: readonly string[];
}

/** Fields of a form as members of an object. */
interface FormFields {
  fields: Record<string, unknown>;
  /** Names under which lists were sent, by their members. */
  listNames: ReadonlyMap<string, string>;
}

function convert(member: string, value: FormPart["value"], { numbers, flags }: FieldKinds): unknown {
  if (value instanceof FormFile) return value;
  if (flags?.includes(member)) return value === "true" ? true : value === "false" ? false : value;
  if (!numbers?.includes(member) || value.trim() === "") return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}

/** Parts as members: `name[]` and repeated names are lists. Texts that are not of their field's kind stay texts. */
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

/** Members as parts; lists under the names they came with, else as `name[]`. Members that are absent or null are left out. */
export function toParts(members: object, listNames?: ReadonlyMap<string, string>): FormPart[] {
  return Object.entries(members).flatMap(([member, value]): FormPart[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) return [{ name: member, value: toValue(value) }];
    const name = listNames?.get(member) ?? `${member}[]`;
    return value.map((item) => ({ name, value: toValue(item) }));
  });
}
