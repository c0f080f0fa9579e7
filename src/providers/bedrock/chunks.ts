import * as v from "valibot";
import { fromBase64 } from "../../lib/base64.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { requireNoFailure } from "./stream.ts";

const decoder = new TextDecoder();
const Chunk = v.looseObject({ bytes: v.string() });

/**
 * The model's event inside an event of an InvokeModel stream: base64 of JSON. Undefined for events without content.
 *
 * @throws {UpstreamError} The failure the event reports.
 */
export function readChunk({ event, data }: { event: string; data: string }): Record<string, unknown> | undefined {
  requireNoFailure(event, data);
  if (event !== "chunk") return undefined;
  const { bytes } = v.parse(Chunk, parseJson(data));
  const said = parseJson(decoder.decode(fromBase64(bytes)));
  if (!isObject(said)) throw new TypeError("the chunk contains no event");
  return said;
}
