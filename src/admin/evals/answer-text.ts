import { isObject, objectsIn, stringOrEmpty } from "../../lib/json.ts";

type Item = Readonly<Record<string, unknown>>;

/** The text of a content: a string, or parts with text. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map(({ text, refusal }) => stringOrEmpty(text) || stringOrEmpty(refusal))
    .join("");
}

/** A call of a tool as text, by its name and arguments, whatever the form of the response. */
function callText({ function: called, name, arguments: given, input }: Item): string {
  const inner: Item = isObject(called) ? called : {};
  const values = inner.arguments ?? given ?? input ?? "";
  return `${stringOrEmpty(inner.name ?? name)}(${typeof values === "string" ? values : JSON.stringify(values)})`;
}

/** What a message says, or else the tools that it calls, one on each line. */
function saidOr(text: string, calls: readonly Item[]): string {
  return text === "" ? calls.map(callText).join("\n") : text;
}

/** The text of a response to a chat, a completion, or a request of the Messages or Responses API; else of its tool calls. */
export function answerTextOf(body: unknown): string {
  if (!isObject(body)) return "";
  const [choice] = objectsIn(body.choices);
  if (choice) {
    const message: Item = isObject(choice.message) ? choice.message : {};
    const said = textOf(message.content) || stringOrEmpty(message.refusal) || stringOrEmpty(choice.text);
    return saidOr(said, objectsIn(message.tool_calls));
  }
  const output = objectsIn(body.output);
  if (output.length > 0) {
    const said = output.filter(({ type }) => type === "message").map(({ content }) => textOf(content));
    return saidOr(
      said.join(""),
      output.filter(({ type }) => type === "function_call"),
    );
  }
  const blocks = objectsIn(body.content);
  return saidOr(
    textOf(blocks.filter(({ type }) => type === "text")),
    blocks.filter(({ type }) => type === "tool_use"),
  );
}
