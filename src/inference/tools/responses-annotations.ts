import { isObject, objectsIn, stringOf } from "../../lib/json.ts";

type Item = Readonly<Record<string, unknown>>;

/** The annotations of a text. */
type Annotate = (text: string) => readonly Item[];

/** A part of a message with annotations, unless it has some of its provider. */
function ofPart(part: Item, annotate: Annotate): Item {
  if (part.type !== "output_text" || objectsIn(part.annotations).length > 0) return part;
  const annotations = annotate(stringOf(part.text) ?? "");
  return annotations.length > 0 ? { ...part, annotations } : part;
}

/** Adds annotations to messages of a round, whole or as events. */
export class AnnotatedItems {
  readonly #annotate: Annotate;

  constructor(annotate: Annotate) {
    this.#annotate = annotate;
  }

  /** An item of a response. */
  ofItem(item: Item): Item {
    if (item.type !== "message" || !Array.isArray(item.content)) return item;
    return { ...item, content: item.content.map((part) => (isObject(part) ? ofPart(part, this.#annotate) : part)) };
  }

  /** What an event becomes: annotations come before the end of their text. */
  ofEvent(event: Item): Item[] {
    const { type, part, item, output_index, item_id, content_index } = event;
    if (type === "response.output_text.done") {
      const place = { item_id, output_index, content_index };
      const annotations = this.#annotate(stringOf(event.text) ?? "").map((annotation, annotation_index) => {
        return { type: "response.output_text.annotation.added", ...place, annotation_index, annotation };
      });
      return [...annotations, event];
    }
    if (type === "response.content_part.done" && isObject(part)) {
      return [{ ...event, part: ofPart(part, this.#annotate) }];
    }
    if (type === "response.output_item.done" && isObject(item)) return [{ ...event, item: this.ofItem(item) }];
    return [event];
  }
}
