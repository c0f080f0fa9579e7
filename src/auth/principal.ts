import type { KeyKind } from "./scopes.ts";

/** Who is calling. Everything here comes from the credential, nothing from the request. */
export interface Principal {
  keyId: string;
  kind: KeyKind;
  organisationId: string;
  /** Null for keys of the organisation. */
  workspaceId: string | null;
  /** Scopes of the key, written with a dot. */
  scopes: ReadonlySet<string>;
}
