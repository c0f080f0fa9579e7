import { createGateway } from "../mod.ts";
import { escapeHtml, toAnchor } from "./anchors.ts";
import type { Part, RenderedPage } from "./render.ts";

/** Members of JSON Schema that the reference shows. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

interface Parameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly "x-gateway-keys"?: string;
  readonly "x-gateway-scopes"?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

/** A page of the reference. */
export interface ReferencePage {
  readonly file: string;
  readonly title: string;
  readonly page: RenderedPage;
}

/** The document that a gateway serves. */
async function readDocument(): Promise<OpenapiDocument> {
  const gateway = createGateway({ database: ":memory:" });
  try {
    const response = await gateway.fetch(new Request("http://gateway/openapi.json"));
    // the gateway's document, whose form its tests hold
    return (await response.json()) as OpenapiDocument;
  } finally {
    await gateway.close();
  }
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "any"}`;
  return [schema.type ?? "any"].flat().join(" or ");
}

function boundsOf({ minimum, maximum, minLength, maxLength }: Schema): string {
  const least = minimum ?? minLength;
  const most = maximum ?? maxLength;
  const unit = minLength === undefined && maxLength === undefined ? "" : " characters";
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return `at least ${least}${unit}`;
  return least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, values: readonly string[]) => values.map((value) => `<${tag}>${value}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("\n");
  return `<div class="table" tabindex="0"><table><thead><tr>${cells("th", head)}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function parametersOf({ parameters = [] }: Operation, document: OpenapiDocument): string {
  const rows = parameters.map((entry) => {
    const found = entry.$ref === undefined ? entry : document.components.parameters[entry.$ref.split("/").at(-1) ?? ""];
    const { name = "", in: place = "", required, description = "", schema = {} } = found ?? {};
    const notes = [required ? "required" : "", boundsOf(schema), description].filter((note) => note !== "");
    return [`<code>${escapeHtml(name)}</code>`, place, escapeHtml(typeOf(schema)), escapeHtml(notes.join("; "))];
  });
  return rows.length === 0 ? "" : tableOf(["parameter", "in", "type", "meaning"], rows);
}

function bodyOf({ requestBody }: Operation): string {
  return Object.entries(requestBody?.content ?? {})
    .slice(0, 1)
    .map(([type, { schema }]) => {
      const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
        const isRequired = schema.required?.includes(name) === true;
        const notes = [isRequired ? "required" : "", boundsOf(member), member.description ?? ""];
        const meaning = notes.filter((note) => note !== "").join("; ");
        return [`<code>${escapeHtml(name)}</code>`, escapeHtml(typeOf(member)), escapeHtml(meaning)];
      });
      const table = rows.length === 0 ? "" : tableOf(["member", "type", "meaning"], rows);
      return `<p>Body: <code>${escapeHtml(type)}</code></p>${table}`;
    })
    .join("");
}

/** A command that calls an endpoint. Values that a reader chooses stand in capitals. */
function exampleOf(path: string, method: string, operation: Operation): string {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const key = operation["x-gateway-keys"] === "organisation" ? "ADMIN_KEY" : "GATEWAY_KEY";
  const header = operation["x-gateway-keys"] === undefined ? "" : ` -H "x-gateway-api-key: $${key}"`;
  const verb = method === "get" ? "" : ` -X ${method.toUpperCase()}`;
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const members = (schema?.required ?? []).map((name) => `"${name}": …`).join(", ");
  const body = schema === undefined ? "" : ` \\\n  -H "content-type: application/json" -d '{${members}}'`;
  return `<pre tabindex="0"><code>${escapeHtml(`curl${verb} "$GATEWAY${address}"${header}${body}`)}</code></pre>`;
}

function accessOf(operation: Operation): string {
  const keys = operation["x-gateway-keys"];
  if (keys === undefined) return "";
  const scopes = (operation["x-gateway-scopes"] ?? []).map((scope) => `<code>${escapeHtml(scope)}</code>`);
  return `<p>Keys: ${escapeHtml(String(keys))}. ${scopes.length > 0 ? `One of the scopes ${scopes.join(", ")}.` : ""}</p>`;
}

function operationHtml(path: string, method: string, operation: Operation, document: OpenapiDocument): string {
  const statuses = Object.entries(operation.responses).map(([status, { description }]) => [
    `<code>${escapeHtml(status)}</code>`,
    escapeHtml(description),
  ]);
  const about = operation.description === undefined ? "" : `<p>${escapeHtml(operation.description)}</p>`;
  return [
    `<p><code>${method.toUpperCase()} ${escapeHtml(path)}</code></p>`,
    about,
    accessOf(operation),
    exampleOf(path, method, operation),
    parametersOf(operation, document),
    bodyOf(operation),
    tableOf(["status", "meaning"], statuses),
  ].join("\n");
}

type Row = readonly [path: string, method: string, operation: Operation];

function toPage(tag: string, rows: readonly Row[], document: OpenapiDocument): ReferencePage {
  const taken = new Map<string, number>();
  const shown = rows.map(([path, method, operation]) => {
    const anchor = toAnchor(operation.summary, taken);
    const part: Part = { anchor, heading: operation.summary, text: `${method.toUpperCase()} ${path}` };
    const html = `<h2 id="${anchor}">${escapeHtml(operation.summary)}</h2>\n${operationHtml(path, method, operation, document)}`;
    return { part, html };
  });
  const parts = shown.map(({ part }) => part);
  const html = `<h1>${escapeHtml(tag)}</h1>\n<p>From <code>/openapi.json</code>, which every gateway serves.</p>\n${shown.map((one) => one.html).join("\n")}`;
  return {
    file: `reference-${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.html`,
    title: tag,
    page: { title: tag, html, parts, outline: parts },
  };
}

/** The pages of the API reference, one for each tag. */
export async function makeReference(): Promise<ReferencePage[]> {
  const document = await readDocument();
  const byTag = new Map<string, Row[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? "Other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), [path, method, operation]]);
    }
  }
  return [...byTag].map(([tag, rows]) => toPage(tag, rows, document));
}
