import { type ContentKind, maskContent, restoreSecrets, sealContent } from "../../control/sealed-contents.ts";
import type { Statement } from "../../db/client.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { UnavailableError } from "../../errors.ts";
import { parseJson } from "../../lib/json.ts";
import type { AdminCall } from "./endpoint.ts";
import { refuseField } from "./request.ts";

/**
 * A content from a body, with stored secrets in place of their masks.
 *
 * @param former The same part of the content before, in clear.
 * @throws {InvalidRequestError} AB01 for a mask without a stored secret, or for a secret whose address changed.
 */
export function requireSecrets(
  { context: { services } }: AdminCall<unknown>,
  given: unknown,
  former: unknown,
  param: string,
): unknown {
  const restored = restoreSecrets(given, former, services.contentRules);
  if ("content" in restored) return restored.content;
  return refuseField([param, ...restored.path].join("."), restored.problem);
}

/**
 * The content of a version in clear.
 *
 * @throws {UnavailableError} If its secrets cannot be decrypted.
 */
export async function openVersion(
  { context: { services } }: AdminCall<unknown>,
  kind: ContentKind,
  version: { id: string; organisationId: string; content: string },
): Promise<unknown> {
  const opened = await services.control.contents.open(kind, [version]);
  const text = opened.get(version.id);
  if (text !== undefined) return parseJson(text);
  throw new UnavailableError("Cannot change this: a credential in it is unavailable", {
    code: "credential_unavailable",
    retryAfterSeconds: 5,
  });
}

/** A new version: its id, its content with masks, and the statements that encrypt its secrets. */
interface SealedVersion {
  id: string;
  content: string;
  sealed: Statement[];
}

/** Seals a content as a new version of a record. */
export async function sealVersion(
  { context: { services }, stores, now }: AdminCall<unknown>,
  { organisationId, workspaceId, kind }: Tenant & { kind: ContentKind },
  given: unknown,
): Promise<SealedVersion> {
  const id = crypto.randomUUID();
  const tenant = { organisationId, workspaceId };
  const { text, secrets } = maskContent(given, services.contentRules);
  const rows = await sealContent(services.control.vault, { ...tenant, kind, recordId: id }, secrets, now);
  return { id, content: text, sealed: rows.map((row) => stores.secrets.insert(tenant, row)) };
}

/** Removes the secrets of the versions of a record. */
export function removeSecrets(
  { stores }: AdminCall<unknown>,
  { organisationId, workspaceId, kind }: Tenant & { kind: ContentKind },
  versions: readonly { id: string }[],
): Statement[] {
  const recordId = versions.map(({ id }) => id);
  // records of the organisation are named as such: a tenant without a workspace means all workspaces
  const where = { workspaceId, kind, recordId };
  return recordId.length === 0 ? [] : [stores.secrets.remove({ organisationId, workspaceId }, where)];
}
