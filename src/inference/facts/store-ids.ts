/** What ids of the gateway's vector stores begin with. */
const ownPrefix = "gw_vs_";

/** Whether an id is one of a vector store of the gateway: no provider has such ids. */
export function isOwnStoreId(id: unknown): id is string {
  return typeof id === "string" && id.startsWith(ownPrefix);
}

/** A new id of a vector store. */
export function createStoreId(): string {
  return `${ownPrefix}${crypto.randomUUID()}`;
}

/** Ids of the vector stores that a tool searches. */
export function storesOf({ type, vector_store_ids: ids }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return type === "file_search" && Array.isArray(ids) ? ids : [];
}

/** Whether a tool searches vector stores of the gateway. */
export function isOwnFileTool(tool: Readonly<Record<string, unknown>>): boolean {
  return storesOf(tool).some(isOwnStoreId);
}
