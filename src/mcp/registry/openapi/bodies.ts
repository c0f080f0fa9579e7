import { isHeaderValue } from "../../../lib/headers.ts";
import { isObject, stringOf } from "../../../lib/json.ts";
import type { Steps } from "../../../lib/steps.ts";
import { isJsonType, readStyling } from "./parameters.ts";
import type { DocumentReader, Room } from "./schemas.ts";
import type { Styling } from "./styles.ts";

type Value = Readonly<Record<string, unknown>>;

/** How a body is written. */
type BodyForm = "json" | "form" | "multipart" | "text" | "bytes";

/** How a field of a form is written. */
export interface BodyField {
  /** Its value is base64 of the content of a file. */
  readonly isFile: boolean;
  /** Media type that the document names; undefined without one. */
  readonly type: string | undefined;
  /** Undefined where the document says nothing: objects are written as JSON. */
  readonly styling: (Styling & { readonly allowReserved: boolean }) | undefined;
}

/** The body of a request as the document has it. */
export interface RequestBody {
  readonly form: BodyForm;
  /** Its media type, without the boundary of a form. */
  readonly type: string;
  readonly schema: Record<string, unknown>;
  readonly isRequired: boolean;
  /** Fields of a form that are not written as usual, by name. */
  readonly fields: ReadonlyMap<string, BodyField>;
}

/** Whether the value of a schema is bytes. */
function isBinary({ type, format, contentMediaType, contentEncoding }: Value): boolean {
  const types = Array.isArray(type) ? type : [type];
  if (format === "binary" && types.includes("string")) return true;
  return typeof contentMediaType === "string" && contentEncoding === undefined && !isTextType(contentMediaType);
}

function isTextType(type: string): boolean {
  return (
    isJsonType(type) || /^text\/|^application\/(?:[\w.+-]+\+)?(?:xml|yaml|javascript|graphql)\s*(?:;|$)/i.test(type)
  );
}

/** A schema of bytes as arguments have it. */
function inBase64({ format: _, contentMediaType: __, description, ...rest }: Value): Record<string, unknown> {
  const about = typeof description === "string" ? `${description} (in base64)` : "The content of a file in base64";
  return { ...rest, type: rest.type ?? "string", contentEncoding: "base64", description: about };
}

/** A media type that can be sent as it is; undefined for a range of types. */
function toSendableType(type: string): string | undefined {
  if (type === "*/*" || type === "application/*") return "application/json";
  if (type === "text/*") return "text/plain";
  return type.includes("*") || !isHeaderValue(type) || type.length > 255 ? undefined : type;
}

/** How a body of a media type is written; undefined if it cannot be. */
function formOf(type: string, schema: Value): BodyForm | undefined {
  if (isJsonType(type)) return "json";
  if (/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return "form";
  if (/^multipart\/form-data\s*(?:;|$)/i.test(type)) return "multipart";
  if (/^multipart\//i.test(type)) return undefined;
  const isEmpty = schema.type === undefined && schema.properties === undefined;
  if (isBinary(schema) || (isEmpty && !isTextType(type))) return "bytes";
  return schema.type === "string" || (isEmpty && /^text\//i.test(type)) ? "text" : undefined;
}

function readField(encoding: Value, schema: unknown): BodyField {
  const type = toSendableType(stringOf(encoding.contentType)?.split(",")[0]?.trim() ?? "*");
  const isStyled = ["style", "explode", "allowReserved"].some((name) => encoding[name] !== undefined);
  const items = isObject(schema) && isObject(schema.items) ? schema.items : schema;
  return {
    isFile: isObject(items) && isBinary(items),
    type: encoding.contentType === undefined ? undefined : type,
    styling: isStyled
      ? { ...readStyling(encoding, "query"), allowReserved: encoding.allowReserved === true }
      : undefined,
  };
}

/** Fields of a form, and its schema with files in base64. */
function readFields(schema: Value, encoding: unknown): Pick<RequestBody, "schema" | "fields"> {
  const fields = new Map<string, BodyField>();
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const shown = properties.map(([name, one]): [string, unknown] => {
    const own = isObject(encoding) && Object.hasOwn(encoding, name) ? encoding[name] : undefined;
    const field = readField(isObject(own) ? own : {}, one);
    fields.set(name, field);
    if (!field.isFile || !isObject(one)) return [name, one];
    return [name, isObject(one.items) ? { ...one, items: inBase64(one.items) } : inBase64(one)];
  });
  const changed = properties.length > 0 ? { ...schema, properties: Object.fromEntries(shown) } : schema;
  return { schema: changed, fields };
}

/** Forms of bodies, the one that is chosen first. */
const ranks: Readonly<Record<BodyForm, number>> = { json: 0, multipart: 1, form: 1, text: 2, bytes: 3 };

/**
 * The body that an operation takes; undefined without one.
 *
 * @returns The media types if none of them can be sent.
 */
export function* readBody(
  reader: DocumentReader,
  operation: Value,
  room: Room,
): Steps<RequestBody | string | undefined> {
  const body = reader.followed(operation.requestBody);
  const content = Object.entries(isObject(body?.content) ? body.content : {});
  if (!body || content.length === 0) return undefined;
  const choices = content.slice(0, 20).flatMap(([written, media]) => {
    const type = toSendableType(written.trim());
    if (type === undefined || !isObject(media)) return [];
    const form = formOf(type, reader.followed(media.schema) ?? {});
    return form ? [{ type, form, media }] : [];
  });
  const [chosen] = choices.toSorted((a, b) => ranks[a.form] - ranks[b.form]);
  if (!chosen)
    return content
      .map(([type]) => type)
      .join(", ")
      .slice(0, 100);
  const { type, form, media } = chosen;
  const schema = yield* reader.schema(media.schema, room);
  const isRequired = body.required === true;
  if (form === "bytes") return { form, type, schema: inBase64(schema), isRequired, fields: new Map() };
  if (form === "json" || form === "text") return { form, type, schema, isRequired, fields: new Map() };
  return { form, type, isRequired, ...readFields(schema, media.encoding) };
}
