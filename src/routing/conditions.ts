import { compilePattern, PatternSum } from "../../packages/patterns/src/pattern.ts";
import { isObject } from "../lib/json.ts";
import { maxConditionPatterns } from "../lib/pattern-limits.ts";
import type { Steps } from "../lib/steps.ts";
import type { ConfigProblem } from "./problem.ts";

/** The parts of a request that conditions can query. */
export interface RequestFacts {
  metadata: Readonly<Record<string, unknown>>;
  /** Top-level fields of the JSON body. */
  params: Readonly<Record<string, unknown>>;
  /** Path of the request. */
  pathname: string;
  /** What is in the request, for rules of `auto`. */
  request?: Readonly<Record<string, unknown>>;
}

/** What rules of `auto` may ask of a request. */
const requestFacts = ["tokens", "characters", "images", "tools", "code", "language", "turns"] as const;
export type RequestFact = (typeof requestFacts)[number];

/** Whether rules of `auto` may ask for it. */
export const isRequestFact = (name: string): name is RequestFact => requestFacts.some((fact) => fact === name);

/** Evaluating the conditions of a request took too many steps. */
export class ConditionError extends Error {
  override readonly name = "ConditionError";
}

/** Most steps for evaluating the patterns of one request: the event loop is blocked meanwhile. */
const maxSteps = 1_000_000;

/** Counts the steps for one request. */
export class ConditionWork {
  #spent = 0;

  /** @throws {ConditionError} If it takes too many steps. */
  run<Result>(work: Steps<Result>): Result {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      this.#spent += value;
      if (this.#spent > maxSteps) {
        throw new ConditionError("Cannot evaluate the conditions: their patterns take too many steps");
      }
    }
  }
}

type Test = (value: unknown, work: ConditionWork) => boolean;

/** A validated query. */
export type Query =
  | { kind: "all" | "any"; queries: readonly Query[] }
  | { kind: "field"; root: "metadata" | "params" | "url" | "request"; key: string; test: Test };

/** Characters of all patterns of a config together. */
const maxPatternsLength = 25_000;
/** Characters of a text that a pattern sees, and that all patterns of a config see together, each at least a minimum. */
const maxTextLength = 256 * 1024;
const maxSearchedLength = 1024 * 1024;
const leastTextLength = 1024;
/** Longest text that is parsed as a number. */
const maxNumberLength = 1_000;
/** Deepest nesting of `$and` and `$or`. */
const maxDepth = 16;

function isPlain(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** A comparison of numbers; never true for anything but numbers. */
function compareNumbers(wanted: unknown, holds: (value: number, wanted: number) => boolean): Test {
  const bound = isPlain(wanted) ? Number.parseFloat(String(wanted)) : Number.NaN;
  return (value) => isPlain(value) && holds(Number.parseFloat(String(value).slice(0, maxNumberLength)), bound);
}

function toList(wanted: unknown, isIn: boolean): Test | string {
  if (!Array.isArray(wanted)) return "must be a list";
  const known = new Set<unknown>(wanted);
  return (value) => isPlain(value) && known.has(value) === isIn;
}

/** Operators besides `$regex`: they return a test, or a problem with the operand. A missing value never passes. */
const operators: Readonly<Record<string, (wanted: unknown) => Test | string>> = {
  $eq: (wanted) => (value) => isPlain(value) && value === wanted,
  $ne: (wanted) => (value) => isPlain(value) && value !== wanted,
  $gt: (wanted) => compareNumbers(wanted, (value, bound) => value > bound),
  $gte: (wanted) => compareNumbers(wanted, (value, bound) => value >= bound),
  $lt: (wanted) => compareNumbers(wanted, (value, bound) => value < bound),
  $lte: (wanted) => compareNumbers(wanted, (value, bound) => value <= bound),
  $in: (wanted) => toList(wanted, true),
  $nin: (wanted) => toList(wanted, false),
};

const fieldForm = /^(metadata|params|url|request)\.([^\0]+)$/;

/** Reads queries and records their problems. */
class QueryReader {
  readonly #problems: ConfigProblem[];
  readonly #sum: PatternSum;
  #patternsLength = 0;
  #patterns = 0;

  /** Whether queries may ask what is in the request. */
  hasRequest = false;

  constructor(problems: ConfigProblem[], sum: PatternSum) {
    this.#problems = problems;
    this.#sum = sum;
  }

  #note(path: string, message: string): undefined {
    this.#problems.push({ path, message });
  }

  /** Reads the query at `path`. */
  read(written: unknown, path: string, depth = 0): Query | undefined {
    if (!isObject(written)) return this.#note(path, "must be an object");
    const entries = Object.entries(written);
    if (entries.length === 0) return this.#note(path, "must name at least one field");
    if (depth > maxDepth) return this.#note(path, `must not nest deeper than ${maxDepth} levels`);
    const queries = entries.map(([name, value]) => this.#readMember(name, value, `${path}.${name}`, depth));
    return { kind: "all", queries: queries.filter((query) => query !== undefined) };
  }

  #readMember(name: string, value: unknown, path: string, depth: number): Query | undefined {
    if (name === "$and" || name === "$or") return this.#readList(name === "$and" ? "all" : "any", value, path, depth);
    if (name.startsWith("$")) return this.#note(path, `Unsupported operator used in the query router: ${name}`);
    const [, root, key] = fieldForm.exec(name) ?? [];
    if (root === undefined || key === undefined || (root === "url" && key !== "pathname")) {
      return this.#note(path, "must be metadata.<name>, params.<name> or url.pathname");
    }
    if (root === "request" && !(this.hasRequest && isRequestFact(key))) {
      const names = requestFacts.join(", ");
      return this.#note(path, `must be, in rules of the mode auto, request.<name> with one of the names ${names}`);
    }
    const tests = isObject(value) ? this.#readOperators(value, path) : this.#readValue(value, path);
    // the pattern above allows no other root
    return {
      kind: "field",
      root: root as "metadata",
      key,
      test: (found, work) => tests.every((test) => test(found, work)),
    };
  }

  #readList(kind: "all" | "any", value: unknown, path: string, depth: number): Query | undefined {
    if (!Array.isArray(value) || value.length === 0) return this.#note(path, "must be a list of queries");
    const queries = value.map((query, index) => this.read(query, `${path}[${index}]`, depth + 1));
    return { kind, queries: queries.filter((query) => query !== undefined) };
  }

  #textLength(): number {
    return Math.min(maxTextLength, Math.max(leastTextLength, Math.floor(maxSearchedLength / this.#patterns)));
  }

  #toPattern(wanted: unknown): Test | string {
    if (typeof wanted !== "string") return "must be a regular expression";
    this.#patternsLength += wanted.length;
    if (this.#patternsLength > maxPatternsLength) {
      return `must have, together with all other patterns, at most ${maxPatternsLength} characters`;
    }
    const pattern = compilePattern(wanted, this.#sum);
    if (typeof pattern === "string") return pattern;
    this.#patterns++;
    return (value, work) => {
      if (!isPlain(value)) return false;
      return work.run(pattern.find(String(value).slice(0, this.#textLength()))) !== undefined;
    };
  }

  #readValue(value: unknown, path: string): Test[] {
    if (isPlain(value)) return [(found) => found === value];
    this.#note(path, "must be a string, a number, true, false or an object of operators");
    return [];
  }

  #readOperators(written: Record<string, unknown>, path: string): Test[] {
    const entries = Object.entries(written);
    if (entries.length === 0) this.#note(path, "must name at least one operator");
    return entries.flatMap(([name, wanted]) => {
      const known = Object.hasOwn(operators, name) ? operators[name] : undefined;
      const make = name === "$regex" ? (pattern: unknown) => this.#toPattern(pattern) : known;
      if (!make) {
        this.#note(`${path}.${name}`, `Unsupported operator used in the query router: ${name}`);
        return [];
      }
      const test = make(wanted);
      if (typeof test !== "string") return [test];
      this.#note(`${path}.${name}`, test);
      return [];
    });
  }
}

/** Reads the query at a path of a config; rules of `auto` may ask what is in the request. */
export type ReadQuery = (written: unknown, path: string, isRule?: boolean) => Query | undefined;

/**
 * Creates the reader of all queries of one config; problems are added to `problems`.
 *
 * @param sum Size of the config's patterns so far; these queries add theirs.
 */
export function createQueryReader(problems: ConfigProblem[], sum = new PatternSum(maxConditionPatterns)): ReadQuery {
  const reader = new QueryReader(problems, sum);
  return (written, path, isRule = false) => {
    reader.hasRequest = isRule;
    return reader.read(written, path);
  };
}

function factOf({ root, key }: Extract<Query, { kind: "field" }>, facts: RequestFacts): unknown {
  if (root === "url") return facts.pathname;
  const holder = facts[root] ?? {};
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Fields of a root that a query asks for. */
export function fieldsOf(query: Query, root: string): string[] {
  if (query.kind === "field") return query.root === root ? [query.key] : [];
  return query.queries.flatMap((one) => fieldsOf(one, root));
}

/**
 * Whether a query matches a request.
 *
 * @param work Shared by all queries of one request.
 * @throws {ConditionError} If evaluating takes too many steps.
 */
export function holds(query: Query, facts: RequestFacts, work = new ConditionWork()): boolean {
  if (query.kind === "field") return query.test(factOf(query, facts), work);
  const { kind, queries } = query;
  return kind === "all"
    ? queries.every((one) => holds(one, facts, work))
    : queries.some((one) => holds(one, facts, work));
}
