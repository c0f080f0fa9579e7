import { isObject } from "../../lib/json.ts";
import type { CapabilityKind } from "./mcp-server.ts";
import { type ServerDescription, UpstreamClient, UpstreamFailure, type UpstreamTarget } from "./upstream-client.ts";

/** What a list of capabilities is called, and what names its items. */
interface ListForm {
  readonly kind: CapabilityKind;
  readonly method: string;
  /** Member of the result with the items. */
  readonly member: string;
  /** Member of an item that names it. */
  readonly name: string;
  /** Capability of servers that have the list. */
  readonly capability: string;
}

/** The lists of a server. */
export const listForms: readonly ListForm[] = [
  { kind: "tool", method: "tools/list", member: "tools", name: "name", capability: "tools" },
  { kind: "prompt", method: "prompts/list", member: "prompts", name: "name", capability: "prompts" },
  { kind: "resource", method: "resources/list", member: "resources", name: "uri", capability: "resources" },
  {
    kind: "resource_template",
    method: "resources/templates/list",
    member: "resourceTemplates",
    name: "uriTemplate",
    capability: "resources",
  },
];

/** Items of one list. */
export interface ReadList {
  readonly kind: CapabilityKind;
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** It was read to its end: what it lacks is gone. */
  readonly isComplete: boolean;
}

/** What a server offers. */
export interface UpstreamContents {
  readonly description: ServerDescription;
  readonly lists: readonly ReadList[];
}

const maxPages = 50;
const maxItems = 1_000;
/** Most characters of the items of one list. */
const maxListLength = 5 * 1024 * 1024;

/** Reads one list of a server, page by page. */
async function readList(client: UpstreamClient, { kind, method, member }: ListForm): Promise<ReadList> {
  const items: Record<string, unknown>[] = [];
  const cursors = new Set<string>();
  let length = 0;
  let cursor: unknown;
  for (let page = 0; page < maxPages; page++) {
    const result = await client.request(method, cursor === undefined ? {} : { cursor });
    for (const item of Array.isArray(result[member]) ? result[member] : []) {
      length += JSON.stringify(item)?.length ?? 0;
      if (items.length === maxItems || length > maxListLength) return { kind, items, isComplete: false };
      if (isObject(item)) items.push(item);
    }
    cursor = result.nextCursor;
    // only absence ends a list: an empty text is a cursor
    if (typeof cursor !== "string") return { kind, items, isComplete: true };
    if (cursors.has(cursor)) return { kind, items, isComplete: false };
    cursors.add(cursor);
  }
  return { kind, items, isComplete: false };
}

/** A list that some servers announce and do not have. */
async function readOptionalList(client: UpstreamClient, form: ListForm): Promise<ReadList> {
  try {
    return await readList(client, form);
  } catch (error) {
    const isUnknown = error instanceof UpstreamFailure && error.rpcCode === -32_601;
    if (isUnknown) return { kind: form.kind, items: [], isComplete: true };
    throw error;
  }
}

/**
 * Reads what a server offers.
 *
 * @param totalMs Longest time.
 * @throws {UpstreamFailure}
 */
export async function readUpstream(target: UpstreamTarget, totalMs: number): Promise<UpstreamContents> {
  const client = new UpstreamClient(target, totalMs);
  try {
    const description = await client.open();
    const lists: ReadList[] = [];
    for (const form of listForms) {
      const isOffered = isObject(description.capabilities[form.capability]);
      lists.push(isOffered ? await readOptionalList(client, form) : { kind: form.kind, items: [], isComplete: true });
    }
    return { description, lists };
  } finally {
    await client.close();
  }
}

/** How a server answered a test. */
export interface UpstreamTest {
  readonly status: number | null;
  readonly serverName: string | null;
  /** Null where it works. */
  readonly error: string | null;
}

/** Tests whether a server answers. */
export async function testUpstream(target: UpstreamTarget, totalMs: number): Promise<UpstreamTest> {
  const client = new UpstreamClient(target, totalMs);
  try {
    const { serverInfo } = await client.open();
    const name = serverInfo.title ?? serverInfo.name;
    return {
      status: client.status ?? null,
      serverName: typeof name === "string" ? name.slice(0, 255) : null,
      error: null,
    };
  } catch (error) {
    const message = error instanceof UpstreamFailure ? error.message : "The call failed";
    return { status: client.status ?? null, serverName: null, error: message };
  } finally {
    await client.close();
  }
}
