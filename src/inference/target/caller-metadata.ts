import type { Principal } from "../../auth/principal.ts";
import { type CallerContext, readRequestMetadata } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { settingsOf } from "../../control/settings.ts";
import { isObject } from "../../lib/json.ts";
import { type Metadata, readMetadata } from "../../lib/metadata.ts";
import { readView } from "./stored-provider.ts";

/** A workspace's settings for the metadata of its requests. */
interface WorkspaceMetadata {
  defaults: Metadata | undefined;
  /** Requests by user keys carry `_user`. */
  namesUsers: boolean;
  /** A request with a user key may set another `_user`. */
  isOpen: boolean;
}

const known = new WeakMap<WorkspaceView, WorkspaceMetadata>();

function metadataOf(view: WorkspaceView): WorkspaceMetadata {
  const found = known.get(view);
  if (found) return found;
  const { defaults } = view.workspace;
  const written = isObject(defaults) && isObject(defaults.metadata) ? defaults.metadata : undefined;
  const { user_key_metadata: names, user_key_metadata_override: open } = settingsOf(view);
  const made: WorkspaceMetadata = {
    defaults: written && readMetadata(JSON.stringify(written)),
    namesUsers: names !== 0,
    isOpen: open !== 0,
  };
  known.set(view, made);
  return made;
}

/** The user of a request by its credential: the user of a key, else of a token. */
function userOf({ userId, person }: Principal, view: WorkspaceView, { namesUsers }: WorkspaceMetadata) {
  if (person !== undefined) return person;
  if (userId === null || !namesUsers) return null;
  return view.members.get(userId)?.email ?? userId;
}

/** Longest value of metadata. */
const maxLength = 128;

/**
 * The metadata of a request: its own, overridden by its key's, overridden by its workspace's. `_user` is the user of
 * the credential unless set otherwise.
 */
export function mergeMetadata(sent: Metadata, principal: Principal, view: WorkspaceView | undefined): Metadata {
  const ofKey = principal.defaults.metadata;
  const ofWorkspace = view && metadataOf(view);
  const person = view && ofWorkspace ? userOf(principal, view, ofWorkspace) : (principal.person ?? null);
  if (ofKey === null && ofWorkspace?.defaults === undefined && person === null) return sent;
  const user = person === null ? undefined : { _user: person.slice(0, maxLength) };
  const isFixed = principal.userId !== null && principal.person === undefined && ofWorkspace?.isOpen === false;
  return { ...user, ...sent, ...ofKey, ...ofWorkspace?.defaults, ...(isFixed && user) };
}

/**
 * Sets the metadata of a request; synchronous when the workspace is in memory.
 *
 * @throws {GatewayError} 400 for metadata that cannot be parsed; as `readView`.
 */
export function settleMetadata(context: CallerContext): Promise<void> | undefined {
  const sent = readRequestMetadata(context);
  const { principal } = context;
  const set = (view: WorkspaceView | undefined) => {
    context.metadata = mergeMetadata(sent, principal, view);
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
  context.metadata = { ...context.metadata, _user: user.slice(0, maxLength) };
}
