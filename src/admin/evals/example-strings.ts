import { isObject, objectsIn } from "../../lib/json.ts";
import type { Example } from "../../schemas/example-sets.ts";

/** Most characters that a table shows of what was asked. */
const maxShown = 4_096;

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

/** The text of a content: of parts, that of those with text. */
function contentText(content: unknown): string {
  const strings = objectsIn(content).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  return strings.length > 0 ? strings.join("\n") : textOf(content);
}

/** What an example asks: the variables of a prompt, or the last message. */
export function inputText({ body, variables }: Example): string {
  if (!body) return textOf(variables).slice(0, maxShown);
  const asked = body.messages ?? body.input ?? body.prompt;
  const last = Array.isArray(asked) ? asked.at(-1) : asked;
  return contentText(isObject(last) ? (last.content ?? last) : last).slice(0, maxShown);
}

/** What is expected, as text. */
export const expectedText = ({ expected }: Example): string | undefined =>
  expected === undefined ? undefined : textOf(expected);
