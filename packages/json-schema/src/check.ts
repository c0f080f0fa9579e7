import type { Pattern } from "../../patterns/src/pattern.ts";
import type { Steps } from "../../patterns/src/steps.ts";
import { jsonFormats } from "./formats.ts";
import { isObject } from "./keywords.ts";
import { type JsonSchema, JsonSchemaError, type SchemaNode, toCanonical } from "./schema.ts";

/** A part of a value that does not match a schema. */
export interface JsonSchemaProblem {
  /** JSON pointer to the part; empty for the value itself. */
  path: string;
  message: string;
}

/** Deepest nesting of a value, and of schemas applied to it. */
const maxValueDepth = 64;
const maxDepth = 600;
/** Most problems that are recorded. */
const maxProblems = 1_000;
/** Most schema applications for one purpose, unless it says otherwise. */
const maxApplications = 100_000;
/** Applications between two points at which the work can be interrupted. */
const pieceSize = 500;
/** Most steps of a synchronous check. */
const maxStepsAtOnce = 50_000_000;

/** Counts the cost of checking and ends it when it is too high: recursive schemas could run for ages. */
export class JsonSchemaWork {
  readonly #most: number;
  #spent = 0;

  /** @param most Schema applications; default 100,000. */
  constructor(most = maxApplications) {
    this.#most = most;
  }

  /** @throws {JsonSchemaError} If the limit is exceeded. */
  spend(applications: number): void {
    this.#spent += applications;
    if (this.#spent > this.#most) throw tooMuch();
  }
}

const tooMuch = () => new JsonSchemaError("Cannot check the value: it takes too many steps");

/** Properties and items of a value that a schema has evaluated. */
interface Evaluated {
  readonly names: Set<string>;
  readonly items: Set<number>;
  /** All items before this index. */
  itemsBefore: number;
  allNames: boolean;
}

const nothingEvaluated = (): Evaluated => ({ names: new Set(), items: new Set(), itemsBefore: 0, allNames: false });

function merge(into: Evaluated | undefined, from: Evaluated | undefined): void {
  if (!into || !from) return;
  for (const name of from.names) into.names.add(name);
  for (const item of from.items) into.items.add(item);
  into.itemsBefore = Math.max(into.itemsBefore, from.itemsBefore);
  into.allNames ||= from.allNames;
}

/** A value and its location. */
interface Place {
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
  readonly valueDepth: number;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isOfType(value: unknown, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : typeOf(value) === type;
}

function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) <= Math.max(1, Math.abs(quotient)) * Number.EPSILON * 4;
}

/** Length of a string in characters; a surrogate pair counts as one. */
function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      length--;
      index++;
    }
  }
  return length;
}

const escapeName = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Checks one value. */
class Checker {
  problems: JsonSchemaProblem[] = [];
  readonly #work: JsonSchemaWork;
  #piece = 0;

  constructor(work: JsonSchemaWork) {
    this.#work = work;
  }

  #note({ path }: Place, message: string): false {
    if (this.problems.length < maxProblems) this.problems.push({ path, message });
    return false;
  }

  /** Counts the cost of one keyword. */
  #spend(applications: number): void {
    this.#work.spend(applications);
    this.#piece += applications;
  }

  *#pause(): Steps<void> {
    if (this.#piece < pieceSize) return;
    yield this.#piece * 20;
    this.#piece = 0;
  }

  /** Whether a value matches a schema, without recording problems. */
  *#fits(node: SchemaNode, place: Place, evaluated?: Evaluated): Steps<boolean> {
    const { problems } = this;
    this.problems = [];
    const fits = yield* this.apply(node, place, evaluated);
    this.problems = problems;
    return fits;
  }

  *#matches(pattern: Pattern, text: string): Steps<boolean> {
    this.#spend(1);
    return (yield* pattern.find(text)) !== undefined;
  }

  /**
   * Checks a value against a schema and records problems.
   *
   * @param evaluated Collects what was evaluated, for the enclosing schema.
   */
  *apply(node: SchemaNode, at: Place, evaluated?: Evaluated): Steps<boolean> {
    this.#spend(node.cost);
    yield* this.#pause();
    if (at.depth > maxDepth) throw tooMuch();
    if (node.isFalse) return this.#note(at, "False boolean schema.");
    const place = { ...at, depth: at.depth + 1 };
    const needsOwn = node.single.has("unevaluatedProperties") || node.single.has("unevaluatedItems");
    const own = needsOwn || evaluated ? nothingEvaluated() : undefined;
    let fits = this.#checkPlain(node, place);
    if (typeof place.value === "string") fits = (yield* this.#checkText(node, place, place.value)) && fits;
    fits = (yield* this.#applyInPlace(node, place, own)) && fits;
    if (isObject(place.value)) fits = (yield* this.#checkMembers(node, place, place.value, own)) && fits;
    if (Array.isArray(place.value)) fits = (yield* this.#checkItems(node, place, place.value, own)) && fits;
    if (own && needsOwn) fits = (yield* this.#checkUnevaluated(node, place, own)) && fits;
    if (fits) merge(evaluated, own);
    return fits;
  }

  #checkPlain(node: SchemaNode, place: Place): boolean {
    const { keywords } = node;
    const { value } = place;
    const { type } = keywords;
    const types = typeof type === "string" ? [type] : type;
    let fits = true;
    if (types && !types.some((one) => isOfType(value, one))) {
      fits = this.#note(place, `Instance type "${typeOf(value)}" is invalid. Expected "${types.join('", "')}".`);
    }
    if (node.constant || node.choices) {
      const text = toCanonical(value);
      this.#spend(text.length / 200);
      if (node.constant?.has(text) === false) {
        fits = this.#note(place, `Instance does not match ${node.shown}.`);
      }
      if (node.choices?.has(text) === false) {
        fits = this.#note(place, `Instance does not match any of ${node.shown}.`);
      }
    }
    return typeof value === "number" ? this.#checkNumber(keywords, place, value) && fits : fits;
  }

  #checkNumber(keywords: SchemaNode["keywords"], place: Place, value: number): boolean {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = keywords;
    let fits = true;
    if (minimum !== undefined && value < minimum) fits = this.#note(place, `${value} is less than ${minimum}.`);
    if (maximum !== undefined && value > maximum) fits = this.#note(place, `${value} is greater than ${maximum}.`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
      fits = this.#note(place, `${value} is less than or equal to ${exclusiveMinimum}.`);
    }
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) {
      fits = this.#note(place, `${value} is greater than or equal to ${exclusiveMaximum}.`);
    }
    if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
      fits = this.#note(place, `${value} is not a multiple of ${multipleOf}.`);
    }
    return fits;
  }

  *#checkText({ keywords, pattern }: SchemaNode, place: Place, text: string): Steps<boolean> {
    const { minLength, maxLength, format } = keywords;
    let fits = true;
    if (minLength !== undefined || maxLength !== undefined) {
      // a string has at least half as many characters as code units
      const isClear = text.length <= (maxLength ?? text.length) && text.length >= 2 * (minLength ?? 0);
      if (!isClear) this.#spend(text.length / 500);
      const length = isClear ? text.length : lengthOf(text);
      if (minLength !== undefined && length < minLength) {
        fits = this.#note(place, `String is too short (${length} < ${minLength}).`);
      }
      if (maxLength !== undefined && length > maxLength) {
        fits = this.#note(place, `String is too long (${length} > ${maxLength}).`);
      }
    }
    if (format !== undefined) {
      this.#spend(text.length / 500);
      if (jsonFormats[format]?.(text) === false) fits = this.#note(place, `String does not match format "${format}".`);
    }
    if (pattern && !(yield* this.#matches(pattern, text))) {
      fits = this.#note(place, `Instance does not match ${JSON.stringify({ pattern: keywords.pattern })}.`);
    }
    return fits;
  }

  /** Applies schemas to the same value. */
  *#applyInPlace({ target, single, listed }: SchemaNode, place: Place, evaluated?: Evaluated): Steps<boolean> {
    let fits = target === undefined || (yield* this.apply(target, place, evaluated));
    for (const one of listed.get("allOf") ?? []) fits = (yield* this.apply(one, place, evaluated)) && fits;
    const [anyOf, oneOf, not, condition] = [
      listed.get("anyOf"),
      listed.get("oneOf"),
      single.get("not"),
      single.get("if"),
    ];
    if (anyOf && (yield* this.#countFitting(anyOf, place, evaluated)) === 0) {
      fits = this.#note(place, "Instance does not match any subschemas.");
    }
    if (oneOf) {
      const count = yield* this.#countFitting(oneOf, place, evaluated);
      if (count !== 1) fits = this.#note(place, `Instance does not match exactly one subschema (${count} matches).`);
    }
    if (not && (yield* this.#fits(not, place))) fits = this.#note(place, 'Instance matched "not" schema.');
    if (condition) {
      const isMet = yield* this.#fits(condition, place, evaluated);
      const then = single.get(isMet ? "then" : "else");
      if (then) fits = (yield* this.apply(then, place, evaluated)) && fits;
    }
    return fits;
  }

  *#countFitting(nodes: readonly SchemaNode[], place: Place, evaluated?: Evaluated): Steps<number> {
    let count = 0;
    for (const node of nodes) if (yield* this.#fits(node, place, evaluated)) count++;
    return count;
  }

  #below(place: Place, name: string | number, value: unknown): Place {
    const { path, depth, valueDepth } = place;
    if (valueDepth >= maxValueDepth) throw new JsonSchemaError(`Cannot check more than ${maxValueDepth} levels`);
    return { value, path: `${path}/${escapeName(String(name))}`, depth, valueDepth: valueDepth + 1 };
  }

  #checkNames(
    { keywords }: SchemaNode,
    place: Place,
    value: Record<string, unknown>,
    names: readonly string[],
  ): boolean {
    const { required, dependentRequired, minProperties, maxProperties } = keywords;
    let fits = true;
    for (const name of required ?? []) {
      if (!Object.hasOwn(value, name)) {
        fits = this.#note(place, `Instance does not have required property "${name}".`);
      }
    }
    for (const [name, others] of Object.entries(dependentRequired ?? {})) {
      const missing = Object.hasOwn(value, name) ? others.filter((other) => !Object.hasOwn(value, other)) : [];
      if (missing.length > 0) fits = this.#note(place, `Instance has "${name}" but does not have "${missing[0]}".`);
    }
    if (minProperties !== undefined && names.length < minProperties) {
      fits = this.#note(place, `Instance does not have at least ${minProperties} properties.`);
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      fits = this.#note(place, `Instance does not have at most ${maxProperties} properties.`);
    }
    return fits;
  }

  *#checkMembers(
    node: SchemaNode,
    place: Place,
    value: Record<string, unknown>,
    evaluated: Evaluated | undefined,
  ): Steps<boolean> {
    const names = Object.keys(value);
    const { single, named, namePatterns } = node;
    this.#spend(names.length / 20);
    let fits = this.#checkNames(node, place, value, names);
    const [properties, byPattern] = [named.get("properties"), named.get("patternProperties")];
    const [additional, nameSchema] = [single.get("additionalProperties"), single.get("propertyNames")];
    for (const [name, schema] of named.get("dependentSchemas") ?? []) {
      this.#spend(0.1);
      if (Object.hasOwn(value, name)) fits = (yield* this.apply(schema, place, evaluated)) && fits;
    }
    if (!properties && !byPattern && !additional && !nameSchema) return fits;
    for (const name of names) {
      const member = this.#below(place, name, value[name]);
      if (nameSchema && !(yield* this.#fits(nameSchema, { ...member, value: name }))) {
        fits = this.#note(place, `Property name "${name}" does not match schema.`);
      }
      const schemas = [properties?.get(name)];
      for (const [text, pattern] of namePatterns) {
        if (yield* this.#matches(pattern, name)) schemas.push(byPattern?.get(text));
      }
      const found = schemas.filter((schema) => schema !== undefined);
      if (found.length === 0 && additional) found.push(additional);
      for (const schema of found) fits = (yield* this.apply(schema, member)) && fits;
      if (found.length > 0) evaluated?.names.add(name);
    }
    return fits;
  }

  *#checkCounts({ keywords }: SchemaNode, place: Place, items: readonly unknown[]): Steps<boolean> {
    const { minItems, maxItems, uniqueItems } = keywords;
    let fits = true;
    if (minItems !== undefined && items.length < minItems) {
      fits = this.#note(place, `Array has too few items (${items.length} < ${minItems}).`);
    }
    if (maxItems !== undefined && items.length > maxItems) {
      fits = this.#note(place, `Array has too many items (${items.length} > ${maxItems}).`);
    }
    if (!uniqueItems) return fits;
    const seen = new Set<string>();
    for (const [index, item] of items.entries()) {
      const text = toCanonical(item);
      this.#spend(0.2 + text.length / 200);
      yield* this.#pause();
      if (seen.has(text)) return this.#note(place, `Duplicate item at index ${index}.`);
      seen.add(text);
    }
    return fits;
  }

  *#checkItems(
    node: SchemaNode,
    place: Place,
    items: readonly unknown[],
    evaluated: Evaluated | undefined,
  ): Steps<boolean> {
    const first = node.listed.get("prefixItems") ?? [];
    const rest = node.single.get("items");
    let fits = yield* this.#checkCounts(node, place, items);
    const end = rest ? items.length : Math.min(first.length, items.length);
    for (let index = 0; index < end; index++) {
      const schema = first[index] ?? rest;
      if (schema) fits = (yield* this.apply(schema, this.#below(place, index, items[index]))) && fits;
    }
    if (evaluated) evaluated.itemsBefore = Math.max(evaluated.itemsBefore, end);
    const contained = node.single.get("contains");
    if (!contained) return fits;
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = node.keywords;
    let count = 0;
    for (const [index, item] of items.entries()) {
      if (!(yield* this.#fits(contained, this.#below(place, index, item)))) continue;
      count++;
      evaluated?.items.add(index);
    }
    if (count < minContains) fits = this.#note(place, `Array has too few items that match contains (${count}).`);
    if (count > maxContains) fits = this.#note(place, `Array has too many items that match contains (${count}).`);
    return fits;
  }

  /** Checks what no schema has evaluated. */
  *#checkUnevaluated({ single }: SchemaNode, place: Place, evaluated: Evaluated): Steps<boolean> {
    const { value } = place;
    const [members, items] = [single.get("unevaluatedProperties"), single.get("unevaluatedItems")];
    let fits = true;
    if (members && isObject(value) && !evaluated.allNames) {
      for (const name of Object.keys(value)) {
        if (evaluated.names.has(name)) continue;
        fits = (yield* this.apply(members, this.#below(place, name, value[name]))) && fits;
      }
      evaluated.allNames = true;
    }
    if (items && Array.isArray(value)) {
      for (let index = evaluated.itemsBefore; index < value.length; index++) {
        if (evaluated.items.has(index)) continue;
        fits = (yield* this.apply(items, this.#below(place, index, value[index]))) && fits;
      }
      evaluated.itemsBefore = value.length;
    }
    return fits;
  }
}

/** Checks the depth first: a value that is too deep is not checked at all. */
function requireDepth(value: unknown, depth = 1): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > maxValueDepth) throw new JsonSchemaError(`Cannot check more than ${maxValueDepth} levels`);
  // on Bun, `Object.values` takes microseconds for each item of a list
  for (const inner of Array.isArray(value) ? value : Object.values(value)) requireDepth(inner, depth + 1);
}

/**
 * Finds, in steps, where a value does not match a schema; empty if it matches.
 *
 * @param work Shared by all values of one purpose.
 * @throws {JsonSchemaError} If checking takes too long.
 */
export function* checkJsonSteps(
  { root }: JsonSchema,
  value: unknown,
  work = new JsonSchemaWork(),
): Steps<JsonSchemaProblem[]> {
  requireDepth(value);
  const checker = new Checker(work);
  const fits = yield* checker.apply(root, { value, path: "", depth: 0, valueDepth: 0 });
  return fits ? [] : checker.problems;
}

/** As `checkJsonSteps`, synchronously. */
export function checkJson(schema: JsonSchema, value: unknown, work?: JsonSchemaWork): JsonSchemaProblem[] {
  const steps = checkJsonSteps(schema, value, work);
  for (let spent = 0; ; ) {
    const next = steps.next();
    if (next.done) return next.value;
    spent += next.value;
    if (spent > maxStepsAtOnce) throw tooMuch();
  }
}
