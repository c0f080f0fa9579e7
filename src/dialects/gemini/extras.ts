import { isObject, objectsIn } from "../../lib/json.ts";
import type { ChatPiece } from "../chat-reader.ts";

type Members = Record<string, unknown>;

/** An image of a message as a part. */
function toImage(holder: Members): Members[] {
  const url = isObject(holder.image_url) ? holder.image_url.url : undefined;
  if (typeof url !== "string") return [];
  const [, mimeType, data] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined) return /^https?:/.test(url) ? [{ fileData: { fileUri: url } }] : [];
  return [{ inlineData: { mimeType: mimeType || "image/png", data } }];
}

/** Images of a choice, in its message or delta: beside its text, or among its blocks. */
export function readImages({ message, delta }: Members): Members[] {
  const holder = isObject(message) ? message : isObject(delta) ? delta : {};
  const blocks = objectsIn(holder.content_blocks).map((block) => (isObject(block.delta) ? block.delta : block));
  const images = [...objectsIn(holder.images), ...blocks].filter(({ thought }) => thought !== true);
  return images.flatMap(toImage);
}

/** Cited pages as grounding metadata (https://ai.google.dev/api/generate-content#GroundingMetadata). */
export function toGrounding(pieces: readonly ChatPiece[]): Members {
  const groundingChunks = pieces.flatMap((piece) => {
    const cited = piece.kind === "annotation" ? piece.annotation.url_citation : undefined;
    if (!isObject(cited) || typeof cited.url !== "string") return [];
    return [{ web: { uri: cited.url, ...(typeof cited.title === "string" && { title: cited.title }) } }];
  });
  return groundingChunks.length === 0 ? {} : { groundingMetadata: { groundingChunks } };
}
