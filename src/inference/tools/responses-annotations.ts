import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import type { MarkCutter } from "./file-marks.ts";

type Item = Readonly<Record<string, unknown>>;

/** What happens to what the model writes. */
export interface TextRules {
  /** Annotations of a text without marks. */
  annotate(text: string): readonly Item[];
  /** What takes marks out of a text; undefined where it has none. */
  cutter(): MarkCutter | undefined;
}

const places = ["index", "start_index", "end_index"] as const;

/** An annotation of the provider, moved to where its place is without marks. */
function moved(annotation: Item, cutter: MarkCutter | undefined): Item {
  if (!cutter) return annotation;
  const found = places.flatMap((name) => {
    const place = annotation[name];
    return typeof place === "number" ? [[name, cutter.toPlace(place)]] : [];
  });
  return { ...annotation, ...Object.fromEntries(found) };
}

/** A text without marks, and the citations that they were. */
function readText(
  given: unknown,
  rules: TextRules,
): { text: string; citations: Item[]; cutter: MarkCutter | undefined } {
  const cutter = rules.cutter();
  const whole = stringOf(given) ?? "";
  const text = cutter ? cutter.push(whole) + cutter.end() : whole;
  const citations = (cutter?.citations ?? []).map((citation) => ({ type: "file_citation", ...citation }));
  return { text, citations, cutter };
}

/** A part of a message without marks, with its annotations. Pages are looked for where the provider annotated nothing. */
function ofPart(part: Item, rules: TextRules): Item {
  if (part.type !== "output_text") return part;
  const { text, citations, cutter } = readText(part.text, rules);
  const others = objectsIn(part.annotations);
  const found = [...citations, ...(others.length > 0 ? [] : rules.annotate(text))];
  if (found.length === 0) return part;
  return { ...part, text, annotations: [...others.map((one) => moved(one, cutter)), ...found] };
}

/** A text of a stream. */
interface OpenText {
  readonly cutter: MarkCutter | undefined;
  /** Annotations that the provider made. */
  annotations: number;
}

/** Adds annotations to messages of a round, whole or as events, and takes marks of citations out of them. */
export class AnnotatedItems {
  readonly #rules: TextRules;
  readonly #open = new Map<string, OpenText>();

  constructor(rules: TextRules) {
    this.#rules = rules;
  }

  /** An item of a response. */
  ofItem(item: Item): Item {
    if (item.type !== "message" || !Array.isArray(item.content)) return item;
    return { ...item, content: item.content.map((part) => (isObject(part) ? ofPart(part, this.#rules) : part)) };
  }

  #textOf({ output_index, content_index }: Item): OpenText {
    const name = `${String(output_index)} ${String(content_index)}`;
    const text = this.#open.get(name) ?? { cutter: this.#rules.cutter(), annotations: 0 };
    this.#open.set(name, text);
    return text;
  }

  /** What an event becomes: annotations come before the end of their text. */
  ofEvent(event: Item): Item[] {
    const { type, part, item } = event;
    if (type === "response.output_text.delta") return this.#ofDelta(event);
    if (type === "response.output_text.annotation.added") return this.#ofAnnotation(event);
    if (type === "response.output_text.done") return this.#ofEnd(event);
    if (type === "response.content_part.done" && isObject(part)) return [{ ...event, part: ofPart(part, this.#rules) }];
    if (type === "response.output_item.done" && isObject(item)) return [{ ...event, item: this.ofItem(item) }];
    return [event];
  }

  #ofDelta(event: Item): Item[] {
    const { cutter } = this.#textOf(event);
    if (!cutter || typeof event.delta !== "string") return [event];
    const delta = cutter.push(event.delta);
    return delta === "" ? [] : [{ ...event, delta }];
  }

  #ofAnnotation(event: Item): Item[] {
    const text = this.#textOf(event);
    text.annotations++;
    return isObject(event.annotation) ? [{ ...event, annotation: moved(event.annotation, text.cutter) }] : [event];
  }

  #ofEnd(event: Item): Item[] {
    const { item_id, output_index, content_index } = event;
    const place = { item_id, output_index, content_index };
    const { cutter, annotations } = this.#textOf(event);
    const rest = cutter?.end() ?? "";
    const { text, citations } = readText(event.text, this.#rules);
    const found = [...citations, ...(annotations > 0 ? [] : this.#rules.annotate(text))];
    return [
      ...(rest === "" ? [] : [{ type: "response.output_text.delta", ...place, delta: rest, logprobs: [] }]),
      ...found.map((annotation, index) => {
        const annotation_index = annotations + index;
        return { type: "response.output_text.annotation.added", ...place, annotation_index, annotation };
      }),
      { ...event, text },
    ];
  }
}
