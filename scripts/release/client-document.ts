// The document that typed clients are made of, and the calls that check them.

import { createGateway } from "../../mod.ts";

type Schema = { [member: string]: unknown };

/** An operation of the document, as far as clients read it. */
export interface Operation {
  operationId: string;
  tags: string[];
  parameters?: { $ref?: string; name?: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
  /** Which keys call it. Absent: it needs none. */
  "x-gateway-keys"?: string;
}

export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

/** What the gateway serves at `/openapi.json`. */
export async function readDocument(): Promise<ApiDocument> {
  const gateway = createGateway({ database: ":memory:" });
  try {
    const response = await gateway.fetch(new Request("http://127.0.0.1/openapi.json"));
    return await response.json();
  } finally {
    await gateway.close();
  }
}

/** Whether an operation can go to a provider. */
export function isForProvider({ parameters = [] }: Operation): boolean {
  return parameters.some(({ $ref }) => $ref === "#/components/parameters/provider");
}

/** A read that names no record, and a field of its response that is always there. */
export interface Read {
  readonly path: string;
  /** Query parameters without which it is refused: bounds of a period. */
  readonly period: readonly string[];
  readonly operation: Operation;
  /** A field of the response. */
  readonly field: string;
  /** A field of the records in it, if it is a list. */
  readonly recordField: string | undefined;
}

/** A required field whose name is the same in all languages. */
function plainField(schema: unknown): string | undefined {
  const { required = [], properties = {} } = (schema ?? {}) as { required?: string[]; properties?: object };
  return required.find((name) => /^[a-z_]+$/.test(name) && !["object", "type"].includes(name) && name in properties);
}

/** Values of bounds of a period, by the order of their names. */
export const periodValues = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];

/** The reads of the control plane that name no record: one or more for each kind of record. */
export function readsOf({ paths }: ApiDocument): Read[] {
  return Object.entries(paths).flatMap(([path, { get: operation }]) => {
    if (!operation?.["x-gateway-keys"] || path.includes("{") || isForProvider(operation)) return [];
    const schema = operation.responses["200"]?.content?.["application/json"]?.schema;
    const properties = (schema?.properties ?? {}) as Record<string, Schema>;
    const records = properties.data?.type === "array" ? properties.data : undefined;
    const field = records ? "data" : plainField(schema);
    if (field === undefined) return [];
    const period = (operation.parameters ?? []).flatMap(({ name = "", required }) => (required ? [name] : []));
    return [{ path, period, operation, field, recordField: plainField(records?.items) }];
  });
}

/** Name of the client that calls an operation in programs: that of the admin key only where other keys cannot. */
export function clientOf(operation: Operation): string {
  return operation["x-gateway-keys"] === "admin" ? "admin" : "client";
}
