import { ApiError } from "@/api/client.ts";
import type { JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import { missingFields } from "./body.ts";
import { type Complaint, complaintsOf } from "./check-body.ts";
import type { Field, Values } from "./types.ts";

/** What is wrong with fields, by their names. */
export type FieldMarks = Readonly<Record<string, string>>;

/** A form that is not sent: its fields say why. */
class FormError extends Error {
  override readonly name = "FormError";
  readonly marks: FieldMarks;

  constructor(message: string, marks: FieldMarks) {
    super(message);
    this.marks = marks;
  }
}

/** Whether a path is that of a field, or leads to a value in it. */
const isIn = ({ name }: Field, path: string): boolean => path === name || path.startsWith(`${name}.`);

/** The field that holds the value at a path: of several, the one whose name says most. */
function fieldAt(fields: readonly Field[], path: string): Field | undefined {
  const [best] = fields
    .filter((field) => isIn(field, path))
    .toSorted((one, other) => other.name.length - one.name.length);
  return best;
}

/** Where in the lines of a field a path leads: `2. Limit`; empty where it leads to the field itself. */
function placeIn({ name, columns = [] }: Field, path: string): string {
  const [line, column] = path.slice(name.length + 1).split(".");
  if (line === undefined || !/^\d+$/.test(line)) return "";
  const label = columns.find((one) => one.name === column)?.label;
  return `${Number(line) + 1}. ${label ?? ""}`.trim();
}

/** What is said at the fields, of all that is wrong the first for each. */
function marksOf(fields: readonly Field[], complaints: readonly Complaint[]): FieldMarks {
  const marks = complaints.flatMap(({ path, message }) => {
    const field = fieldAt(fields, path);
    if (field === undefined) return [];
    const place = placeIn(field, path);
    return [[field.name, place === "" ? message : `${place}: ${message}`] as const];
  });
  return Object.fromEntries(marks.toReversed());
}

/** What an error says at the fields: of a form that was not sent, or of the gateway, which names one member. */
export function marksOfError(fields: readonly Field[], error: unknown): FieldMarks {
  if (error instanceof FormError) return error.marks;
  if (!(error instanceof ApiError) || error.param === undefined) return {};
  const path = error.param.replace(/\[(\d+)\]/g, ".$1");
  return marksOf(fields, [{ path, message: error.message }]);
}

/** @throws {FormError} Some fields are wrong. */
function refuseMarked(what: string, fields: readonly Field[], marks: FieldMarks): void {
  const labels = fields.filter(({ name }) => marks[name] !== undefined).map(({ label }) => label);
  if (labels.length > 0) throw new FormError(`${what}: ${labels.join(", ")}`, marks);
}

/** @throws {FormError} Required fields are empty. */
export function requireFields(fields: readonly Field[], values: Values): void {
  const missing = missingFields(fields, values);
  const marks = Object.fromEntries(missing.map(({ name }) => [name, text.common.required]));
  refuseMarked(text.common.required, missing, marks);
}

/**
 * Checks a body that a form made by the schema of its row. What no field in view shows is left to the gateway.
 *
 * @throws {FormError} The schema refuses values of fields.
 */
export function checkFields(fields: readonly Field[], schema: JsonObject, body: Values): void {
  refuseMarked(text.forms.check, fields, marksOf(fields, complaintsOf(schema, body)));
}
