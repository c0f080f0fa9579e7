import { isObject } from "../../lib/json.ts";
import { cacheControl, type Part } from "../chat-writer.ts";

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function toImage(part: Part): Part | undefined {
  const { image_url: url, detail } = part;
  if (!isText(url)) return undefined;
  return { type: "image_url", image_url: { url, ...(isText(detail) && { detail }) }, ...cacheControl(part) };
}

function toFile(part: Part): Part {
  const names = ["file_id", "file_data", "file_url", "filename"];
  const members = names.filter((name) => isText(part[name])).map((name) => [name, part[name]]);
  return { type: "file", file: Object.fromEntries(members), ...cacheControl(part) };
}

function toAudio(part: Part): Part {
  const { data, format } = isObject(part.input_audio) ? part.input_audio : part;
  return { type: "input_audio", input_audio: { data, format } };
}

function toPart(part: Part): Part | undefined {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return isText(part.text) ? { type: "text", text: part.text, ...cacheControl(part) } : undefined;
    case "refusal":
      return isText(part.refusal) ? { type: "text", text: part.refusal } : undefined;
    case "input_image":
      return toImage(part);
    case "input_file":
      return toFile(part);
    case "input_audio":
      return toAudio(part);
    default:
      return undefined;
  }
}

/** Parts of a chat message from an item's content; parts without a counterpart are reported. */
export function toParts(content: unknown, drop: (member: string) => void): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((part): Part[] => {
    const made = toPart(part);
    // an empty part loses nothing
    if (!made && part.text !== "") drop(`input.${String(part.type)}`);
    return made ? [made] : [];
  });
}

/** Text of the parts that have text. */
export function textOfParts(parts: readonly Part[]): string {
  return parts
    .filter(({ type }) => type === "text")
    .map(({ text }) => String(text))
    .join("\n");
}
