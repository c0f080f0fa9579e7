import type { CallerContext } from "../../context.ts";
import { decodeUtf8, findJsonExcess, hasRepeatedName, isObject, parseJson } from "../../lib/json.ts";
import { boundaryOf, FormError, FormFile, readForm } from "../../lib/multipart.ts";
import {
  foldMember,
  modelInPath,
  modelsInBody,
  modelsInFields,
  modelsInHeaders,
  modelsInQuery,
  type NamedModels,
  splitPath,
} from "../../providers/core/model-names.ts";
import type { BoundProvider } from "../../providers/core/types.ts";

const unclear: NamedModels = { names: [], isUnclear: true };
const nothing: NamedModels = { names: [], isUnclear: false };

/** Models named in the path, the query and the headers of a forwarded request. */
export function modelsAroundBody({ url, headers }: CallerContext): string[] {
  const { segments = [], query } = splitPath(`${url.pathname}${url.search}`);
  const inPath = modelInPath(`/${segments.join("/")}`);
  return [...(inPath === undefined ? [] : [inPath]), ...modelsInQuery(query), ...modelsInHeaders(headers.values())];
}

/** Models in a JSON text. Parsers may differ about repeated fields, and the lines of a file may name any model. */
function modelsInJson(bytes: Uint8Array): NamedModels {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    return unclear;
  }
  const value = findJsonExcess(bytes) === undefined ? parseJson(text) : undefined;
  if (value === undefined || hasRepeatedName(text, foldMember)) return unclear;
  return isObject(value) && typeof value.input_file_id === "string" ? unclear : modelsInBody(value);
}

const encoder = new TextEncoder();

/** Models in a form: in its fields, and in those that hold JSON. */
function modelsInForm(bytes: Uint8Array, boundary: string): NamedModels {
  const fields: [string, string][] = [];
  const names: string[] = [];
  try {
    for (const { name, value } of readForm(bytes, boundary)) {
      if (value instanceof FormFile) continue;
      fields.push([name, value]);
      if (!/^\s*[[{]/.test(value)) continue;
      const inside = modelsInJson(encoder.encode(value));
      if (inside.isUnclear) return unclear;
      names.push(...inside.names);
    }
  } catch (error) {
    if (error instanceof FormError) return unclear;
    throw error;
  }
  return { names: [...modelsInFields(fields), ...names], isUnclear: false };
}

/** The models a body names, by its type. They are unclear where it cannot be read. */
export function modelsInBytes(bytes: Uint8Array, { headers }: CallerContext): NamedModels {
  const type = headers.get("content-type") ?? "";
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") return unclear;
  if (/^multipart\//i.test(type)) {
    const boundary = boundaryOf(type);
    return boundary === undefined ? unclear : modelsInForm(bytes, boundary);
  }
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return modelsInJson(bytes);
  return { names: modelsInFields(new URLSearchParams(new TextDecoder().decode(bytes))), isUnclear: false };
}

/** A forwarded request at its target. */
interface ForwardedRequest {
  readonly provider: Pick<BoundProvider, "models">;
  /** Its path at the provider, with the query. */
  readonly path: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined;
  /** The models its body names, if they were read already. */
  readonly named: NamedModels | undefined;
}

/** The models a forwarded request names. They are unclear where its body is not read, or cannot be. */
export function modelsOfForwarded(forwarded: ForwardedRequest, context: CallerContext): NamedModels {
  const { provider, path } = forwarded;
  const { segments } = splitPath(path);
  if (!segments) return unclear;
  const inPath = provider.models.inPath(`/${segments.join("/")}`);
  const around = [...(inPath === undefined ? [] : [inPath]), ...modelsAroundBody(context)];
  const { names, isUnclear } = namesInUpload(forwarded, context);
  return { names: [...around, ...names], isUnclear };
}

function namesInUpload({ body, named }: ForwardedRequest, context: CallerContext): NamedModels {
  const { models } = context.connection;
  // an internal request may call models that its body does not name
  if (models) return { names: [...models], isUnclear: false };
  // a file that is stored calls no model
  if (body === undefined || context.log.operation === "uploadFile") return nothing;
  return named ?? (body instanceof Uint8Array ? modelsInBytes(body, context) : unclear);
}
