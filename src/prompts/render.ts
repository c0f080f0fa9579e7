import { isObject } from "../lib/json.ts";
import type { SectionNode, Template, TemplateNode, TemplateProblem } from "./template.ts";

/** Deepest nesting of partials. */
export const maxPartialDepth = 8;
/** Most characters all texts of one prompt may have. */
export const maxRenderedLength = 4 * 1024 * 1024;
/** Most nodes, items and places that are looked at for one prompt. */
const maxRenderSteps = 1_000_000;

/** Ends a rendering that leaves its bounds. */
class RenderLimit extends Error {}

/** Values by name, the nearest last. */
type Frames = readonly unknown[];

/** Fills the templates of one prompt; all of them share its bounds. Names are looked for among own members only. */
export class Renderer {
  readonly #partials: ReadonlyMap<string, Template>;
  readonly #frames: Frames;
  #steps = 0;
  #length = 0;

  /** @param partials By the name they are included with; one that is not there is empty. */
  constructor(variables: Readonly<Record<string, unknown>>, partials: ReadonlyMap<string, Template>) {
    this.#frames = [variables];
    this.#partials = partials;
  }

  /** The filled text. @throws {RenderLimit} Which `withinBounds` catches. */
  fill(template: Template): string {
    const pieces: string[] = [];
    this.#write(template, this.#frames, 0, pieces);
    return pieces.join("");
  }

  #step(): void {
    if (++this.#steps > maxRenderSteps) throw new RenderLimit("it repeats too much");
  }

  #add(text: string, pieces: string[]): void {
    this.#length += text.length;
    if (this.#length > maxRenderedLength) {
      throw new RenderLimit(`its text has more than ${maxRenderedLength} characters`);
    }
    pieces.push(text);
  }

  #write(nodes: readonly TemplateNode[], frames: Frames, depth: number, pieces: string[]): void {
    for (const node of nodes) {
      this.#step();
      if (typeof node === "string") this.#add(node, pieces);
      else if (node.kind === "variable") this.#add(toText(this.#find(node.path, frames)), pieces);
      else if (node.kind === "section") this.#writeSection(node, frames, depth, pieces);
      else {
        const partial = this.#partials.get(node.name);
        if (!partial) continue;
        if (depth >= maxPartialDepth) throw new RenderLimit(`its partials nest deeper than ${maxPartialDepth} levels`);
        this.#write(partial, frames, depth + 1, pieces);
      }
    }
  }

  #writeSection({ path, inverted, nodes }: SectionNode, frames: Frames, depth: number, pieces: string[]): void {
    const value = this.#find(path, frames);
    const isEmpty = Array.isArray(value) ? value.length === 0 : !value;
    if (inverted) {
      if (isEmpty) this.#write(nodes, frames, depth, pieces);
      return;
    }
    if (isEmpty) return;
    for (const item of Array.isArray(value) ? value : [value]) {
      this.#step();
      this.#write(nodes, [...frames, item], depth, pieces);
    }
  }

  /** The value of a name: its first part is looked for from the nearest place outwards, the rest inside what is found. */
  #find([first, ...rest]: readonly string[], frames: Frames): unknown {
    if (first === undefined) return frames.at(-1);
    let found: unknown;
    for (let index = frames.length - 1; index >= 0; index--) {
      this.#step();
      const frame = frames[index];
      if (!hasMember(frame, first)) continue;
      found = frame[first];
      break;
    }
    for (const name of rest) {
      this.#step();
      if (!hasMember(found, name)) return undefined;
      found = found[name];
    }
    return found;
  }
}

/** Whether a value is an object or a list with this member of its own. */
function hasMember(value: unknown, name: string): value is Record<string, unknown> {
  return (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, name);
}

/** A value as text: objects and lists as JSON, what is missing as nothing. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The result of a rendering, or what kept it from one. */
export function withinBounds<Result>(render: () => Result): Result | TemplateProblem {
  try {
    return render();
  } catch (error) {
    if (error instanceof RenderLimit) return { problem: error.message };
    throw error;
  }
}
