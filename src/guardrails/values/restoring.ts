import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { hasOwnNames, jsonMembers } from "../strings/member-kinds.ts";
import { StringWalk } from "../strings/string-walk.ts";
import { type AnyCheck, afterOnly, type Body, type BoundCheck, type CheckWindow, type Hook } from "../types.ts";
import { planWindow, type WindowPlan } from "../window.ts";
import { placeholderForm } from "./placeholders.ts";

/** Values by the placeholders that took their place. */
type Restored = ReadonlyMap<string, string>;

/** Members with what a model writes, as text or, if the request asks for it, as JSON. */
const saidMembers: ReadonlySet<string> = new Set(["content", "text", "output_text"]);

/** A string as it stands between the quotes of JSON. */
const escaped = (value: string): string => JSON.stringify(value).slice(1, -1);

/** Puts values back in place of their placeholders. */
class Restoring extends StringWalk {
  readonly #values: Restored;
  readonly #isJson: boolean;

  constructor(values: Restored, isJson: boolean) {
    super();
    this.#values = values;
    this.#isJson = isJson;
  }

  protected override ownsNames(name: string, value: object): boolean {
    return isObject(value) && hasOwnNames(name, value);
  }

  protected override string(string: string, name: string): string {
    if (!string.includes("{{")) return string;
    const isJson = !this.isOwn && (jsonMembers.has(name) || (this.#isJson && saidMembers.has(name)));
    return string.replace(placeholderForm, (placeholder) => {
      const value = this.#values.get(placeholder);
      if (value === undefined) return placeholder;
      return isJson ? escaped(value) : value;
    });
  }
}

/**
 * A response with the values of its request put back; the same response if it holds none of the placeholders.
 *
 * @param isJson Whether the text of the response is JSON, as the request asked for.
 */
export function restoreValues(body: Body, values: Restored, isJson: boolean): Body {
  return new Restoring(values, isJson).walk(body);
}

/** The beginning of a placeholder at the end of a text. */
const begun = /\{(?:\{(?:[A-Z][A-Z0-9_]{0,75}\}?)?)?$/;

/** How placeholders are found in a text that grows. */
function windowOf(values: Restored): CheckWindow {
  const find = (text: string, from: number) => {
    const form = new RegExp(placeholderForm);
    form.lastIndex = from;
    for (let found = form.exec(text); found; found = form.exec(text)) {
      const replacement = values.get(found[0]);
      if (replacement !== undefined) return { start: found.index, end: form.lastIndex, fails: false, replacement };
    }
    return undefined;
  };
  return {
    characters: Math.max(...[...values.keys()].map(({ length }) => length)),
    lacks: (text, from) => text.indexOf("{", from) === -1,
    opensAt(text, from) {
      const tail = Math.max(from, text.length - longestBegun);
      const open = begun.exec(text.slice(tail));
      const end = open ? tail + open.index : text.length;
      return Math.min(end, find(text, from)?.start ?? end);
    },
    // biome-ignore lint/correctness/useYield: it is done in one step
    *find(text, from) {
      return find(text, from);
    },
  };
}

/** Longest beginning of a placeholder. */
const longestBegun = 80;

/** Puts the values back into a streamed response, as the plan of a window. */
export function planRestoring(values: Restored): WindowPlan | undefined {
  const window = windowOf(values);
  const check: AnyCheck = {
    id: "gateway.restore",
    phases: afterOnly,
    parameters: v.never(),
    changes: () => true,
    window: () => window,
    run: () => ({ pass: true }),
  };
  const bound: BoundCheck = {
    check,
    parameters: undefined as never, // it has none
    failOnError: false,
    softDeny: false,
    scope: "all",
  };
  const hook: Hook = {
    id: check.id,
    type: "mutator",
    checks: [bound],
    deny: false,
    async: false,
    isOrdered: true,
    onError: "pass",
    onSuccess: undefined,
    onFail: undefined,
    versionId: undefined,
    allowsUninspected: true,
    streamMode: "window",
  };
  return planWindow([hook]);
}
