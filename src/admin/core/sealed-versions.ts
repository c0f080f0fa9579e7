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

/** A version as it is stored: its text with masks, and the statements that encrypt its secrets. */
export async function sealVersion(
  { context: { services }, stores, now }: AdminCall<unknown>,
  place: Tenant & { kind: ContentKind; recordId: string },
  content: unknown,
): Promise<{ text: string; sealed: Statement[] }> {
  const { text, secrets } = maskContent(content, services.contentRules);
  const { organisationId, workspaceId, kind, recordId } = place;
  const tenant = { organisationId, workspaceId };
  const rows = await sealContent(services.control.vault, { ...tenant, kind, recordId }, secrets, now);
  return { text, sealed: rows.map((row) => stores.secrets.insert(tenant, row)) };
}
