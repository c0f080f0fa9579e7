import { type CallerContext, readRequestMetadata } from "../../context.ts";
import { maxMetadataLength, mergeMetadata, sessionIn } from "../../control/request-metadata.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { isObject } from "../../lib/json.ts";
import { readView } from "./stored-provider.ts";

/**
 * Sets the metadata of a request, and its session if that is named there; synchronous when the workspace is in memory.
 *
 * @throws {GatewayError} 400 for metadata that cannot be parsed; as `readView`.
 */
export function settleMetadata(context: CallerContext): Promise<void> | undefined {
  const sent = readRequestMetadata(context);
  const { principal } = context;
  const set = (view: WorkspaceView | undefined) => {
    context.metadata = mergeMetadata(sent, principal, view);
    context.sessionId ??= sessionIn(context.metadata, view);
  };
  const view = principal.workspaceId === null ? undefined : readView(context);
  if (view instanceof Promise) return view.then(set);
  set(view);
  return undefined;
}

/** Records the end user a body names, where the metadata names none. */
export function noteUser(context: CallerContext, body: unknown): void {
  if (!isObject(body)) return;
  const { user } = body;
  if (typeof user !== "string" || user === "" || user.includes("\0") || Object.hasOwn(context.metadata, "_user"))
    return;
  context.metadata = { ...context.metadata, _user: user.slice(0, maxMetadataLength) };
}
