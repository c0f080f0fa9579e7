import * as v from "valibot";
import { plainIssues } from "../lib/issues.ts";
import { isObject } from "../lib/json.ts";
import { toSnake } from "../lib/member-names.ts";
import type { ConfigProblem } from "./problem.ts";

/** What is said of a field that no config has. */
export const unknownMember = "is not a member of a config";

/** Replaces a field whose value is invalid: the field is present, without a value. */
const refused = Symbol("refused");

export type Members = Record<string, unknown>;
export type Schemas = Readonly<Record<string, v.GenericSchema>>;

const otherSpellings: Readonly<Record<string, string>> = {
  use_retry_after_header: "use_retry_after_headers",
  strict_openai_compliance: "strict_open_ai_compliance",
};

/** Reads the members of a config's objects, and collects their problems. */
export class MemberReader {
  readonly problems: ConfigProblem[] = [];
  /** Unknown fields and conflicting spellings are problems. */
  readonly isStrict: boolean;

  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }

  note(path: string, message: string): undefined {
    this.problems.push({ path, message });
  }

  /** Fields by their snake_case names, which win over camelCase ones. */
  normalise(value: Members, path: string): Members {
    const members: Members = {};
    for (const [written, member] of Object.entries(value)) {
      const snake = toSnake(written);
      const name = otherSpellings[snake] ?? snake;
      if (Object.hasOwn(members, name)) {
        if (this.isStrict) this.note(join(path, name), "is written in two spellings");
        if (written !== name) continue;
      }
      Object.defineProperty(members, name, { value: member, enumerable: true, configurable: true, writable: true });
    }
    return members;
  }

  /** The fields of an object, validated by their schemas; invalid ones become `refused`, and null counts as absent. */
  check(value: unknown, path: string, schemas: Schemas, others: (name: string) => boolean = () => false): Members {
    if (!isObject(value)) {
      this.note(path, "must be an object");
      return {};
    }
    const members = this.normalise(value, path);
    const checked: Members = {};
    for (const [name, member] of Object.entries(members)) {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
      if (member === null || member === undefined) continue;
      if (!schema) {
        if (others(name)) checked[name] = member;
        else if (this.isStrict) this.note(join(path, name), unknownMember);
        continue;
      }
      const result = v.safeParse(schema, member, plainIssues);
      checked[name] = result.success ? result.output : refused;
      for (const issue of result.issues ?? []) this.note(join(path, name) + pathOf(issue), issue.message);
    }
    return checked;
  }
}

export function join(path: string, name: string): string {
  return [path, name].filter((part) => part !== "").join(".");
}

/** Path of an issue inside a field, such as `[2].name`. */
function pathOf({ path }: v.BaseIssue<unknown>): string {
  return (path ?? []).map(({ type, key }) => (type === "array" ? `[${key}]` : `.${key}`)).join("");
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function flagOf(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

export function codesOf(value: unknown): number[] | undefined {
  return Array.isArray(value) ? value.map(Number) : undefined;
}

/** The entries of a list that are among the known words. */
export function wordsOf<Word extends string>(value: unknown, known: readonly Word[]): Word[] | undefined {
  return Array.isArray(value) ? known.filter((word) => value.includes(word)) : undefined;
}
