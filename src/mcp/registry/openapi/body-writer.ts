import { fromBase64 } from "../../../lib/base64.ts";
import { readDataUrl } from "../../../lib/data-url.ts";
import { isObject, valueText } from "../../../lib/json.ts";
import { FormFile, type FormPart, writeForm } from "../../../lib/multipart.ts";
import { ArgumentError } from "./argument-error.ts";
import type { BodyField } from "./bodies.ts";
import { isJsonType } from "./parameters.ts";
import { escapeForm, escapeQuery, writePairs } from "./styles.ts";
import type { OpenapiTool, ToolBody } from "./tools.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** A body and its content type. */
interface WrittenBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

/** The value of a body among arguments; undefined without one. */
function bodyValue({ parameters }: OpenapiTool, { names, isOpen }: ToolBody, given: Arguments): unknown {
  if (!names) return Object.hasOwn(given, "body") ? given.body : undefined;
  const others = new Set(parameters.map(({ argument }) => argument));
  const fields = Object.entries(given).flatMap(([argument, value]): [string, unknown][] => {
    const name = names.get(argument) ?? (isOpen && !others.has(argument) ? argument : undefined);
    return name === undefined ? [] : [[name, value]];
  });
  return fields.length > 0 ? Object.fromEntries(fields) : undefined;
}

/** Bytes that an argument holds in base64, also as a data URL. */
function toBytes(name: string, value: unknown): { bytes: Uint8Array; type: string | undefined } {
  const url = typeof value === "string" ? readDataUrl(value) : undefined;
  const text = url?.isBase64 ? url.data : value;
  try {
    if (typeof text !== "string") throw new TypeError("not a string");
    return { bytes: fromBase64(text), type: url && /^[\w.+-]+\/[\w.+-]+$/.test(url.type) ? url.type : undefined };
  } catch {
    throw new ArgumentError(`${name} must be the content of a file in base64`);
  }
}

/** A field of a form without a style: objects are written as JSON, lists item by item. */
function plainValues(value: unknown, field: BodyField | undefined): unknown[] {
  if (field?.type !== undefined && isJsonType(field.type)) return [JSON.stringify(value)];
  return (Array.isArray(value) ? value : [value]).filter((one) => one !== undefined && one !== null);
}

function formText(value: Arguments, fields: ToolBody["fields"]): string {
  return Object.entries(value)
    .flatMap(([name, one]) => {
      const field = fields.get(name);
      const { styling } = field ?? {};
      if (!styling) return plainValues(one, field).map((part) => `${escapeForm(name)}=${escapeForm(valueText(part))}`);
      const quote = (text: string) => (styling.allowReserved ? escapeQuery(text, true) : escapeForm(text));
      return writePairs(name, one, styling, quote);
    })
    .join("&");
}

/** The parts of a field of a multipart form. */
function partsOf(name: string, value: unknown, field: BodyField | undefined): FormPart[] {
  return plainValues(value, field).map((one): FormPart => {
    const isText = typeof one === "string";
    if (field?.isFile) {
      const { bytes, type } = toBytes(name, one);
      return { name, value: new FormFile("file", field.type ?? type, bytes) };
    }
    return { name, value: isText ? one : valueText(one), ...typeOfPart(one, field) };
  });
}

/** The content type of a part that is no file: JSON for objects, none for text unless the document names one. */
function typeOfPart(value: unknown, field: BodyField | undefined): { type?: string } {
  if (field?.type !== undefined) return { type: field.type };
  return typeof value === "object" ? { type: "application/json" } : {};
}

function multipart(value: Arguments, { fields, type }: ToolBody): WrittenBody {
  const parts = Object.entries(value).flatMap(([name, one]) => partsOf(name, one, fields.get(name)));
  const boundary = `gateway-${crypto.randomUUID()}`;
  return { type: `${type.split(";")[0]?.trim()}; boundary=${boundary}`, content: writeForm(parts, boundary) };
}

/**
 * The body of a call; undefined without one.
 *
 * @throws {ArgumentError} If the arguments cannot be sent in the form that the document asks for.
 */
export function writeBody(tool: OpenapiTool, given: Arguments): WrittenBody | undefined {
  const { body } = tool;
  const value = body ? bodyValue(tool, body, given) : undefined;
  if (!body || value === undefined) return undefined;
  const { form, type } = body;
  if (form === "json") return { type, content: JSON.stringify(value) };
  if (form === "text") return { type, content: valueText(value) };
  if (form === "bytes") return { type, content: toBytes("body", value).bytes };
  if (!isObject(value)) throw new ArgumentError("body must be an object");
  return form === "form" ? { type, content: formText(value, body.fields) } : multipart(value, body);
}
