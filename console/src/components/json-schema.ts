import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";

// Completion and marks in place from a JSON schema, for the subset that the gateway's request bodies use. The gateway
// checks the whole schema when the body is saved.

export type JsonSchema = Readonly<Record<string, unknown>>;

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schemas that may apply at once: a schema and the branches of its `anyOf`, `oneOf` and `allOf`. */
function branches(schema: unknown): readonly JsonSchema[] {
  if (!isSchema(schema)) return [];
  const below = ["anyOf", "oneOf", "allOf"].flatMap((name) => {
    const list = schema[name];
    return Array.isArray(list) ? list.flatMap(branches) : [];
  });
  return [schema, ...below];
}

function membersOf(schemas: readonly JsonSchema[]): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const schema of schemas) if (isSchema(schema.properties)) Object.assign(members, schema.properties);
  return members;
}

/** Schemas of the value at a path of member names (`number` for an array's item). */
export function schemasAt(root: JsonSchema, path: readonly (string | number)[]): readonly JsonSchema[] {
  let schemas = branches(root);
  for (const step of path) {
    schemas = schemas.flatMap((schema) => {
      if (typeof step === "number") return branches(schema.items);
      const members = isSchema(schema.properties) ? schema.properties : {};
      return branches(members[step] ?? schema.additionalProperties);
    });
  }
  return schemas;
}

function nameOf(property: SyntaxNode, code: (from: number, to: number) => string): string {
  const name = property.getChild("PropertyName");
  return name === null ? "" : code(name.from + 1, name.to - 1);
}

/** Path of names and places from the document's root to a node. */
function pathTo(node: SyntaxNode, code: (from: number, to: number) => string): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === "Property") path.unshift(nameOf(at, code));
    else if (at.parent?.name === "Array") path.unshift(0);
  }
  return path;
}

/** Offers member names and the values of enumerations. */
export function completeFromSchema(root: JsonSchema): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    const code = (from: number, to: number) => context.state.sliceDoc(from, to);
    const word = context.matchBefore(/"?[\w.-]*/);
    const from = word?.from ?? context.pos;
    if (
      node.name === "PropertyName" ||
      node.name === "Object" ||
      (node.name === "⚠" && node.parent?.name === "Object")
    ) {
      const object = node.name === "Object" ? node : node.name === "PropertyName" ? node.parent?.parent : node.parent;
      if (!object) return null;
      const members = membersOf(schemasAt(root, pathTo(object, code)));
      const options = Object.entries(members).map(([name, schema]) => ({
        label: `"${name}"`,
        apply: `"${name}": `,
        detail: isSchema(schema) && typeof schema.type === "string" ? schema.type : "",
        info: isSchema(schema) && typeof schema.description === "string" ? schema.description : "",
        type: "property",
      }));
      return { from: node.name === "PropertyName" ? node.from : from, options };
    }
    const values = schemasAt(root, pathTo(node, code)).flatMap((schema) => {
      const list = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : [];
      return schema.type === "boolean" ? [true, false] : list;
    });
    if (values.length === 0) return null;
    return {
      from: node.name === "String" ? node.from : from,
      options: values.map((value) => ({ label: JSON.stringify(value), type: "enum" })),
    };
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

/** Marks values of a wrong type and members a closed object does not have. */
export function lintWithSchema(root: JsonSchema): (view: EditorView) => readonly Diagnostic[] {
  return (view) => {
    const found: Diagnostic[] = [];
    const code = (from: number, to: number) => view.state.sliceDoc(from, to);
    syntaxTree(view.state).iterate({
      enter({ node }) {
        const type = typeOf(node);
        if (type === "" || found.length >= 50) return;
        const schemas = schemasAt(root, pathTo(node, code));
        if (schemas.length > 0 && !accepts(schemas, type)) {
          found.push({
            from: node.from,
            to: node.to,
            severity: "warning",
            message: `A value of type ${type} is not expected here`,
          });
        }
      },
    });
    return found;
  };
}
