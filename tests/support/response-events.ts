import assert from "node:assert/strict";
import { isObject } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";

/** An event, an item or a response. */
export type Members = Record<string, unknown>;

/** Events of a stream in the order they came; the names of both places must be the same. */
export function parseEvents(text: string): Members[] {
  return readEvents(text).map(({ event, data }) => {
    const value: unknown = JSON.parse(data);
    assert.ok(isObject(value));
    assert.equal(value.type, event);
    return value;
  });
}

/** Ends of what is added, and where their parts add up to. */
const texts: Readonly<Record<string, string>> = {
  "response.output_text": "text",
  "response.refusal": "refusal",
  "response.reasoning_summary_text": "text",
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input",
};

const placeOf = ({ item_id: id, output_index: index, content_index: part, summary_index: summary }: Members): string =>
  JSON.stringify([id ?? null, index, part ?? null, summary ?? null]);

/** Holds a stream against the rules of the Responses API and gives the response it ends with. */
export function checkEvents(events: readonly Members[]): Members {
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
    "numbers without holes",
  );
  const types = events.map(({ type }) => String(type));
  assert.deepEqual(types.slice(0, 2), ["response.created", "response.in_progress"]);
  const last = events.at(-1);
  assert.ok(isObject(last?.response));
  assert.ok(["response.completed", "response.incomplete", "response.failed"].includes(String(last.type)));
  const open = new Map<string, string>();
  const told = new Map<string, string>();
  const output: unknown[] = [];
  for (const event of events) {
    const type = String(event.type);
    const place = placeOf(event);
    const [, kind = "", step] = /^(.*?)(?:\.(added|delta|done))?$/.exec(type) ?? [];
    if (kind === "response.output_item") {
      assert.ok(isObject(event.item));
      const at = `item ${event.output_index}`;
      if (step === "added") assert.equal(event.output_index, output.length, "items are opened in their order");
      else output.push(event.item);
      if (step === "added") open.set(at, String(event.item.id));
      else assert.equal(open.get(at), event.item.id, "an item keeps its id");
      if (step === "done") open.delete(at);
    } else if (step === "added" && kind.endsWith("part")) {
      open.set(kind + place, "part");
    } else if (step === "done" && kind.endsWith("part")) {
      assert.ok(open.delete(kind + place), `${type} was added`);
    } else if (step === "delta") {
      assert.equal(open.get(`item ${event.output_index}`), event.item_id, "deltas belong to what is open");
      told.set(kind + place, (told.get(kind + place) ?? "") + String(event.delta));
    } else if (step === "done") {
      assert.equal(told.get(kind + place) ?? "", event[texts[kind] ?? ""], `${type} is the sum of its deltas`);
      told.delete(kind + place);
    }
  }
  assert.deepEqual([...open.keys(), ...told.keys()], [], "all that was begun is done");
  assert.deepEqual(output, last.response.output, "the response holds the items as they ended");
  return last.response;
}

/** Events as short as a reader can compare them: type, place, and what they add. */
export function summarise(events: readonly Members[]): string[] {
  return events.map((event) => {
    const { type, output_index: index, delta, item, response, message } = event;
    const said = delta ?? message ?? (isObject(item) ? item.type : isObject(response) ? response.status : "");
    return [String(type).replace(/^response\./, ""), index, said]
      .filter((one) => one !== undefined && one !== "")
      .join(" ");
  });
}
