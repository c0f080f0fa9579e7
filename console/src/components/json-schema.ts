import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";
import { text } from "@/text/text.ts";

// Completion and marks in place from a JSON schema, for the subset that the gateway's request bodies use. The gateway
// checks the whole schema when the body is saved, and what it refuses is marked by its path.

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Steps from a document's root to a value: names of members, and places in lists. */
export type JsonPath = readonly (string | number)[];

/** A complaint about a value of the document. */
export interface JsonMark {
  readonly path: JsonPath;
  readonly message: string;
}

type ReadCode = (from: number, to: number) => string;

const words = text.code;

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schema a reference of the document leads to: `#/$defs/Name`. */
function resolve(schema: unknown, root: JsonSchema): unknown {
  const reference = isSchema(schema) ? schema.$ref : undefined;
  if (typeof reference !== "string") return schema;
  const definitions = isSchema(root.$defs) ? root.$defs : {};
  return definitions[reference.replace("#/$defs/", "")];
}

/**
 * The schemas that may apply at once: a schema and the branches of its `anyOf`, `oneOf` and `allOf`. Each counts once:
 * branches may refer to each other in circles.
 */
function branches(written: unknown, root: JsonSchema, seen = new Set<JsonSchema>()): readonly JsonSchema[] {
  const schema = resolve(written, root);
  if (!isSchema(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const below = ["anyOf", "oneOf", "allOf"].flatMap((name) => {
    const list = schema[name];
    return Array.isArray(list) ? list.flatMap((branch) => branches(branch, root, seen)) : [];
  });
  return [schema, ...below];
}

function membersOf(schemas: readonly JsonSchema[]): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const schema of schemas) if (isSchema(schema.properties)) Object.assign(members, schema.properties);
  return members;
}

/** Schemas of the value at a path. */
export function schemasAt(root: JsonSchema, path: JsonPath): readonly JsonSchema[] {
  let schemas = branches(root, root);
  for (const step of path) {
    schemas = schemas.flatMap((schema) => {
      if (typeof step === "number") return branches(schema.items, root);
      const members = isSchema(schema.properties) ? schema.properties : {};
      return branches(members[step] ?? schema.additionalProperties, root);
    });
  }
  return schemas;
}

function nameOf(property: SyntaxNode, code: ReadCode): string {
  const name = property.getChild("PropertyName");
  return name === null ? "" : code(name.from + 1, name.to - 1);
}

const values: ReadonlySet<string> = new Set(["Object", "Array", "String", "Number", "True", "False", "Null"]);

/** The values directly inside a list, or the value of a property. */
function valuesIn(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (values.has(child.name)) found.push(child);
  }
  return found;
}

/** Path of names and places from the document's root to a node. */
export function pathTo(node: SyntaxNode, code: ReadCode): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === "Property") path.unshift(nameOf(at, code));
    else if (at.parent?.name === "Array") {
      const from = at.from;
      path.unshift(valuesIn(at.parent).filter((one) => one.from < from).length);
    }
  }
  return path;
}

/** The node a path leads to; where it leads nowhere, the deepest one on its way. */
export function nodeAt(state: EditorState, path: JsonPath): SyntaxNode | undefined {
  const code: ReadCode = (from, to) => state.sliceDoc(from, to);
  let node = valuesIn(syntaxTree(state).topNode)[0];
  for (const step of path) {
    if (node === undefined) return undefined;
    const below: SyntaxNode | undefined =
      typeof step === "number"
        ? valuesIn(node)[step]
        : (node.getChildren("Property").find((property) => nameOf(property, code) === step)?.lastChild ?? undefined);
    if (below === undefined || !values.has(below.name)) return node;
    node = below;
  }
  return node;
}

function describe(schema: unknown, root: JsonSchema): string {
  const found = branches(schema, root).map(({ description }) => description);
  return String(found.find((description) => typeof description === "string") ?? "");
}

function typesOf(schemas: readonly JsonSchema[]): readonly string[] {
  const types = schemas.flatMap((schema) => {
    if (Array.isArray(schema.type)) return schema.type.map(String);
    return typeof schema.type === "string" ? [schema.type] : [];
  });
  return [...new Set(types)];
}

/** What follows the name of a member: the beginning of a value of its type. */
function openingOf(schemas: readonly JsonSchema[]): string {
  const [type] = typesOf(schemas);
  const openings: Readonly<Record<string, string>> = { object: "{}", array: "[]", string: '""' };
  return openings[type ?? ""] ?? "";
}

/** Inserts a member and puts the cursor into its value; a value that is there already stays. */
function applyMember(name: string, opening: string): Completion["apply"] {
  return (view, _completion, from, to) => {
    const follows = /^"?\s*:/.test(view.state.sliceDoc(to, to + 8));
    const closes = view.state.sliceDoc(to, to + 1) === '"' && !follows ? 1 : 0;
    const insert = follows ? `"${name}` : `"${name}": ${opening}`;
    const inside = opening === "" || follows ? 0 : 1;
    const end = from + insert.length - inside;
    view.dispatch({
      changes: { from, to: to + closes, insert },
      selection: { anchor: end },
      userEvent: "input.complete",
    });
  };
}

/** The object whose members a cursor may name. */
function objectAround(node: SyntaxNode): SyntaxNode | null | undefined {
  if (node.name === "Object") return node;
  if (node.name === "PropertyName") return node.parent?.parent;
  return node.name === "⚠" && node.parent?.name === "Object" ? node.parent : undefined;
}

/** Offers member names that are not there yet, and the values of enumerations. */
export function completeFromSchema(root: JsonSchema): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    const code: ReadCode = (from, to) => context.state.sliceDoc(from, to);
    const from = context.matchBefore(/"?[\w.-]*/)?.from ?? context.pos;
    const object = objectAround(node);
    if (object) {
      const present = new Set(object.getChildren("Property").map((property) => nameOf(property, code)));
      const here = node.name === "PropertyName" ? code(node.from + 1, node.to - 1) : "";
      const members = membersOf(schemasAt(root, pathTo(object, code)));
      const options = Object.entries(members)
        .filter(([name]) => name === here || !present.has(name))
        .map(([name, schema]) => {
          const schemas = branches(schema, root);
          const info = describe(schema, root);
          return {
            label: `"${name}"`,
            apply: applyMember(name, openingOf(schemas)),
            detail: typesOf(schemas).join(" | "),
            ...(info !== "" && { info }),
            type: "property",
          };
        });
      return { from: node.name === "PropertyName" ? node.from : from, options };
    }
    const offered = schemasAt(root, pathTo(node, code)).flatMap((schema) => {
      const list = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : [];
      return schema.type === "boolean" ? [true, false] : list;
    });
    if (offered.length === 0) return null;
    const options = [...new Set(offered)].map((value) => ({ label: JSON.stringify(value), type: "enum" }));
    return { from: node.name === "String" ? node.from : from, options };
  };
}

function typeOf(node: SyntaxNode): string {
  const types: Readonly<Record<string, string>> = {
    Object: "object",
    Array: "array",
    String: "string",
    Number: "number",
    True: "boolean",
    False: "boolean",
    Null: "null",
  };
  return types[node.name] ?? "";
}

function accepts(schemas: readonly JsonSchema[], type: string): boolean {
  const wanted = schemas.flatMap((schema) => {
    if (Array.isArray(schema.type)) return schema.type;
    if (typeof schema.type === "string") return [schema.type];
    return "const" in schema
      ? [schema.const === null ? "null" : typeof schema.const]
      : Array.isArray(schema.enum)
        ? schema.enum.map((value) => typeof value)
        : [];
  });
  if (wanted.length === 0) return true;
  return wanted.includes(type) || (type === "number" && wanted.includes("integer"));
}

/** What is wrong with a value, by the schemas that may apply to it. */
function complaintOf(node: SyntaxNode, schemas: readonly JsonSchema[], code: ReadCode): string | undefined {
  const type = typeOf(node);
  if (!accepts(schemas, type)) {
    const wanted = typesOf(schemas).join(", ");
    return wanted === "" ? words.noType({ type }) : words.wrongType({ type, wanted });
  }
  const listed = schemas.filter((schema) => Array.isArray(schema.enum) && accepts([schema], type));
  if (node.name === "String" && listed.length > 0) {
    const open = schemas.some(({ type, enum: list }) => type === "string" && list === undefined);
    const choices = listed.flatMap(({ enum: list }) => (Array.isArray(list) ? list.map(String) : []));
    const value = code(node.from + 1, node.to - 1);
    if (!open && !choices.includes(value)) return words.wrongChoice({ choices: choices.join(", ") });
  }
  if (node.name !== "Object") return undefined;
  const present = new Set(node.getChildren("Property").map((property) => nameOf(property, code)));
  const lacking = schemas
    .filter((schema) => schema.type === "object" && Array.isArray(schema.required))
    .map(({ required }) => (Array.isArray(required) ? required.map(String) : []).find((name) => !present.has(name)));
  const [missing] = lacking;
  return lacking.length > 0 && lacking.every((name) => name !== undefined) && missing !== undefined
    ? words.missing({ name: missing })
    : undefined;
}

/** Marks values of a wrong type, unknown choices and missing members. */
export function lintWithSchema(root: JsonSchema): (view: EditorView) => readonly Diagnostic[] {
  return (view) => {
    const found: Diagnostic[] = [];
    const code: ReadCode = (from, to) => view.state.sliceDoc(from, to);
    syntaxTree(view.state).iterate({
      enter({ node }) {
        if (typeOf(node) === "" || found.length >= 50) return;
        const schemas = schemasAt(root, pathTo(node, code));
        const message = schemas.length > 0 ? complaintOf(node, schemas, code) : undefined;
        if (message === undefined) return;
        // a whole object underlined hides where it begins
        const to = node.name === "Object" ? node.from + 1 : node.to;
        found.push({ from: node.from, to, severity: "warning", message });
      },
    });
    return found;
  };
}

/** What the gateway refused, as marks at the values it named. */
export function toDiagnostics(state: EditorState, marks: readonly JsonMark[]): readonly Diagnostic[] {
  return marks.map(({ path, message }) => {
    const node = nodeAt(state, path);
    const from = node?.from ?? 0;
    const to = node === undefined || node.name === "Object" ? Math.min(from + 1, state.doc.length) : node.to;
    return { from, to, severity: "error", message };
  });
}

/** A path as the gateway writes it, without what stands before: `targets[0].weight`. */
export function readJsonPath(written: string): JsonPath {
  return [...written.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, place, name]) =>
    place === undefined ? (name ?? "") : Number(place),
  );
}
