import type { Random } from "./mutations.ts";

type Node = unknown;

/** All values inside a value, itself included. */
function nodesIn(value: Node): Node[] {
  if (typeof value !== "object" || value === null) return [value];
  return [value, ...Object.values(value).flatMap(nodesIn)];
}

const oddValues: readonly Node[] = [null, true, 0, -1, 1e308, "", "__proto__", "\u0000", [], {}, [[[]]], { $ref: "#" }];

/** A value many times: in a list, as fields, inside itself, or as a long text. */
function multiply(value: Node, random: Random, most: number): Node {
  const text = JSON.stringify(value) ?? "";
  const count = 1 + Math.floor(Math.max(1, most / (text.length + 8)) ** random.next());
  switch (random.below(4)) {
    case 0:
      return Array.from({ length: count }, () => value);
    case 1:
      return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, value]));
    case 2: {
      let nested = value;
      for (let depth = Math.min(count, 60); depth > 0; depth--) nested = random.next() < 0.5 ? [nested] : { a: nested };
      return nested;
    }
    default:
      return typeof value === "string" ? value.repeat(count) : "x".repeat(count);
  }
}

/** A copy in which one of so many values is another. */
function changed(value: Node, random: Random, change: (value: Node) => Node, share: number): Node {
  if (random.next() < share) return change(value);
  if (Array.isArray(value)) return value.map((item) => changed(item, random, change, share));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, changed(member, random, change, share)]),
  );
}

/** Valid JSON made of a document, with values exchanged, multiplied, and odd. */
export function mutateJson(text: string, random: Random, maxBytes: number): string {
  const document: Node = JSON.parse(text);
  const nodes = nodesIn(document);
  const isGrown = random.next() < 0.1;
  const change = (value: Node): Node => {
    const kind = random.next();
    if (kind < 0.3) return random.pick(nodes);
    if (kind < 0.6) return random.pick(oddValues);
    return multiply(value, random, isGrown ? maxBytes : 256);
  };
  const written = JSON.stringify(changed(document, random, change, 1.5 / nodes.length)) ?? "null";
  return written.length <= maxBytes ? written : text;
}
