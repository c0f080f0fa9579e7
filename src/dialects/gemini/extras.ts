import { isObject, objectsIn } from "../../lib/json.ts";
import type { ChatPiece } from "../chat-reader.ts";

type Members = Record<string, unknown>;

/** A picture of an answer as a part. */
function toPicture(holder: Members): Members[] {
  const url = isObject(holder.image_url) ? holder.image_url.url : undefined;
  if (typeof url !== "string") return [];
  const [, mimeType, data] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined) return /^https?:/.test(url) ? [{ fileData: { fileUri: url } }] : [];
  return [{ inlineData: { mimeType: mimeType || "image/png", data } }];
}

/** Pictures a choice holds, whole or in a chunk: beside its text, or among its blocks. */
export function readPictures({ message, delta }: Members): Members[] {
  const holder = isObject(message) ? message : isObject(delta) ? delta : {};
  const blocks = objectsIn(holder.content_blocks).map((block) => (isObject(block.delta) ? block.delta : block));
  const pictures = [...objectsIn(holder.images), ...blocks].filter(({ thought }) => thought !== true);
  return pictures.flatMap(toPicture);
}

/** Pages an answer cites, as what it is grounded on (https://ai.google.dev/api/generate-content#GroundingMetadata). */
export function toGrounding(pieces: readonly ChatPiece[]): Members {
  const groundingChunks = pieces.flatMap((piece) => {
    const cited = piece.kind === "annotation" ? piece.annotation.url_citation : undefined;
    if (!isObject(cited) || typeof cited.url !== "string") return [];
    return [{ web: { uri: cited.url, ...(typeof cited.title === "string" && { title: cited.title }) } }];
  });
  return groundingChunks.length === 0 ? {} : { groundingMetadata: { groundingChunks } };
}
