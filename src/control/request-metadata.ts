import type { Principal } from "../auth/principal.ts";
import { isObject } from "../lib/json.ts";
import { type Metadata, readMetadata } from "../lib/metadata.ts";
import type { WorkspaceView } from "./resources.ts";
import { settingsOf, toRecord } from "./settings.ts";

/** A workspace's settings for the metadata of its requests. */
interface WorkspaceMetadata {
  defaults: Metadata | undefined;
  /** Requests by user keys carry `_user`. */
  namesUsers: boolean;
  /** A request with a user key may set another `_user`. */
  isOpen: boolean;
  /** The key with the session of a request. */
  sessionKey: string | undefined;
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
    sessionKey: sessionKeyOf(view.organisation),
  };
  known.set(view, made);
  return made;
}

/** The key of the metadata with the session of a request, if an organisation names one. */
function sessionKeyOf({ settings }: WorkspaceView["organisation"]): string | undefined {
  const { session_metadata_key: key } = toRecord(settings);
  return typeof key === "string" ? key : undefined;
}

/** The session that the metadata of a request names, by the key that its organisation chose; null without one. */
export function sessionIn(metadata: Metadata, view: WorkspaceView | undefined): string | null {
  const key = view && metadataOf(view).sessionKey;
  if (key === undefined || !Object.hasOwn(metadata, key)) return null;
  return metadata[key] || null;
}

/** The parts of a caller that determine metadata. */
type Named = Pick<Principal, "userId" | "person" | "defaults">;

/** The user of a request by its credential: the user of a key, else of a token. */
function userOf({ userId, person }: Named, view: WorkspaceView, { namesUsers }: WorkspaceMetadata) {
  if (person !== undefined) return person;
  if (userId === null || !namesUsers) return null;
  return view.members.get(userId)?.email ?? userId;
}

/** Longest value of metadata. */
export const maxMetadataLength = 128;

/**
 * The metadata of a request: its own, overridden by its key's, overridden by its workspace's. `_user` is the user of
 * the credential unless set otherwise.
 */
export function mergeMetadata(sent: Metadata, principal: Named, view: WorkspaceView | undefined): Metadata {
  const ofKey = principal.defaults.metadata;
  const ofWorkspace = view && metadataOf(view);
  const person = view && ofWorkspace ? userOf(principal, view, ofWorkspace) : (principal.person ?? null);
  if (ofKey === null && ofWorkspace?.defaults === undefined && person === null) return sent;
  const user = person === null ? undefined : { _user: person.slice(0, maxMetadataLength) };
  const isFixed = principal.userId !== null && principal.person === undefined && ofWorkspace?.isOpen === false;
  return { ...user, ...sent, ...ofKey, ...ofWorkspace?.defaults, ...(isFixed && user) };
}
