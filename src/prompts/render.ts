import { Budget, ExcessError } from "../lib/budget.ts";
import { isObject, valueText } from "../lib/json.ts";
import type { Steps } from "../lib/steps.ts";
import type { SectionNode, Template, TemplateNode, TemplateProblem } from "./template.ts";

/** Deepest nesting of partials. */
export const maxPartialDepth = 8;
/** Most characters of a rendered prompt. */
export const maxRenderedLength = 4 * 1024 * 1024;
/** Most nodes, list items and path lookups of one rendering. */
const maxRenderSteps = 1_000_000;

/** Ends a rendering that exceeds a limit. */
class RenderLimit extends Error {}

/** Values by name, innermost last. */
type Frames = readonly unknown[];

/** Frames that are copied, and characters that are written, in one step. */
const framesPerStep = 4;
const charactersPerStep = 16;

/** The budget of one rendering. */
export function createRenderBudget(): Budget {
  return new Budget({ source: "caller", what: "the prompt", values: maxRenderSteps });
}

/** Renders the templates of one prompt, which share the limits. Names refer to own properties only. */
export class Renderer {
  readonly #partials: ReadonlyMap<string, Template>;
  readonly #frames: Frames;
  readonly #budget: Budget;
  #length = 0;

  /** @param partials By the name in the template; unknown ones are empty. */
  constructor(variables: Readonly<Record<string, unknown>>, partials: ReadonlyMap<string, Template>, budget: Budget) {
    this.#frames = [variables];
    this.#partials = partials;
    this.#budget = budget;
  }

  /** The rendered text. @throws {RenderLimit} Caught by `withinBounds`. */
  *fill(template: Template): Steps<string> {
    const pieces: string[] = [];
    yield* this.#write(template, this.#frames, 0, pieces);
    return pieces.join("");
  }

  #add(text: string, pieces: string[]): void {
    this.#length += text.length;
    this.#budget.step(Math.ceil(text.length / charactersPerStep));
    if (this.#length > maxRenderedLength) {
      throw new RenderLimit(`its text has more than ${maxRenderedLength} characters`);
    }
    pieces.push(text);
  }

  *#write(nodes: readonly TemplateNode[], frames: Frames, depth: number, pieces: string[]): Steps<void> {
    for (const node of nodes) {
      this.#budget.value();
      if (this.#budget.isDue) yield this.#budget.endPiece();
      if (typeof node === "string") this.#add(node, pieces);
      else if (node.kind === "variable") this.#add(shownValue(this.#find(node.path, frames)), pieces);
      else if (node.kind === "section") yield* this.#writeSection(node, frames, depth, pieces);
      else {
        const partial = this.#partials.get(node.name);
        if (!partial) continue;
        if (depth >= maxPartialDepth) throw new RenderLimit(`its partials nest deeper than ${maxPartialDepth} levels`);
        yield* this.#write(partial, frames, depth + 1, pieces);
      }
    }
  }

  *#writeSection({ path, inverted, nodes }: SectionNode, frames: Frames, depth: number, pieces: string[]): Steps<void> {
    const value = this.#find(path, frames);
    const isEmpty = Array.isArray(value) ? value.length === 0 : !value;
    if (inverted) {
      if (isEmpty) yield* this.#write(nodes, frames, depth, pieces);
      return;
    }
    if (isEmpty) return;
    for (const item of Array.isArray(value) ? value : [value]) {
      this.#budget.value();
      this.#budget.step(Math.ceil(frames.length / framesPerStep));
      if (this.#budget.isDue) yield this.#budget.endPiece();
      yield* this.#write(nodes, [...frames, item], depth, pieces);
    }
  }

  /** The value at a path: its first name is looked up from the innermost frame outwards, the rest inside that value. */
  #find([first, ...rest]: readonly string[], frames: Frames): unknown {
    if (first === undefined) return frames.at(-1);
    let found: unknown;
    for (let index = frames.length - 1; index >= 0; index--) {
      this.#budget.value();
      const frame = frames[index];
      if (!hasMember(frame, first)) continue;
      found = frame[first];
      break;
    }
    for (const name of rest) {
      this.#budget.value();
      if (!hasMember(found, name)) return undefined;
      found = found[name];
    }
    return found;
  }
}

/** Whether a value is an object or a list with this own property. */
function hasMember(value: unknown, name: string): value is Record<string, unknown> {
  return (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, name);
}

/** A value as a template shows it: missing ones as an empty string. */
function shownValue(value: unknown): string {
  return value === undefined || value === null ? "" : valueText(value);
}

/** The result of a rendering, or why it failed. */
export function* withinBounds<Result>(render: Steps<Result>): Steps<Result | TemplateProblem> {
  try {
    return yield* render;
  } catch (error) {
    if (error instanceof ExcessError) return { problem: "it repeats too much" };
    if (error instanceof RenderLimit) return { problem: error.message };
    throw error;
  }
}
