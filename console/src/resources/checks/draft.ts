import { isJsonObject } from "../../lib/json.ts";
import { text } from "../../text/text.ts";

/** What was typed for a value and is not read before the form is sent. */
export class Draft {
  readonly label: string;
  readonly typed: string;
  readonly kind: "json" | "number";

  constructor(label: string, typed: string, kind: Draft["kind"]) {
    this.label = label;
    this.typed = typed;
    this.kind = kind;
  }

  /** @throws {Error} It cannot be read. */
  read(): unknown {
    if (this.typed.trim() === "") return undefined;
    if (this.kind === "json") {
      try {
        return JSON.parse(this.typed);
      } catch (cause) {
        throw new Error(text.checks.notJson({ label: this.label }), { cause });
      }
    }
    const value = Number(this.typed);
    if (Number.isNaN(value)) throw new Error(text.checks.notNumber({ label: this.label }));
    return value;
  }
}

/**
 * A value with what was typed for its members read; members that say nothing are left out.
 *
 * @throws {Error} Something that was typed cannot be read.
 */
export function readDrafts(value: unknown): unknown {
  if (value instanceof Draft) return value.read();
  if (Array.isArray(value)) return value.map(readDrafts);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, readDrafts(member)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

/** A record with a member set; undefined removes it. */
export function withMember(record: Readonly<Record<string, unknown>>, name: string, value: unknown) {
  const { [name]: _, ...others } = record;
  return value === undefined ? others : { ...record, [name]: value };
}
