import { isObject } from "../../lib/json.ts";
import { type Members, mapItems, maxWalkDepth, membersBefore } from "../../lib/json-strings.ts";
import type { Body } from "../types.ts";
import type { Holder } from "./member-kinds.ts";

/**
 * Walks over every string of a JSON value, whichever member holds it, and over names of members. What is not changed
 * stays the same object.
 */
export abstract class StringWalk {
  /** It met what cannot be read, such as a document that is not text, or a value that is nested too deep. */
  hasOpaque = false;
  /** The names around were chosen by the caller, a model or a tool. */
  protected isOwn = false;
  #depth = 0;

  /** The value with its strings replaced; the same value if nothing changed. */
  walk<Value>(value: Value): Value {
    return this.value(value, "", {}) as Value; // strings stay strings, and objects stay objects
  }

  /** What takes the place of a string. */
  protected abstract string(string: string, name: string, holder: Holder): string;

  /** Whether all names in the object or list of a member are chosen by the caller, a model or a tool. */
  protected abstract ownsNames(name: string, value: object): boolean;

  /** What takes the place of a number below such names. */
  protected number(number: number): number {
    return number;
  }

  /** What takes the place of the name of a member, in the object of the member `outer`. */
  protected name(name: string, _outer: string): string {
    return name;
  }

  /** What takes the place of a member; undefined removes it. */
  protected member(name: string, value: unknown, holder: Body): unknown {
    return this.value(value, name, holder);
  }

  /** What takes the place of a value. Items of a list have the name and the holder of the list. */
  protected value(value: unknown, name: string, holder: Holder): unknown {
    if (typeof value === "string") return this.string(value, name, holder);
    if (typeof value === "number" && this.isOwn) return this.number(value);
    if (typeof value !== "object" || value === null) return value;
    if (this.#depth === maxWalkDepth) {
      this.hasOpaque = true;
      return value;
    }
    const wasOwn = this.isOwn;
    this.isOwn ||= this.ownsNames(name, value);
    this.#depth++;
    const after = isObject(value)
      ? this.object(value, name)
      : mapItems(value, (item) => this.value(item, name, holder));
    this.#depth--;
    this.isOwn = wasOwn;
    return after;
  }

  protected object(holder: Body, outer: string): Body {
    let members: Members | undefined;
    for (const name in holder) {
      const value = holder[name];
      const written = this.name(name, outer);
      const after = this.member(name, value, holder);
      if (after !== value || written !== name) members ??= membersBefore(name, holder);
      if (after !== undefined || value === undefined) members?.push([written, after]);
    }
    return members ? Object.fromEntries(members) : holder;
  }
}
