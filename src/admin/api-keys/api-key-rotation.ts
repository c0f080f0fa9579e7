import { isMintedLookupId } from "../../auth/api-key.ts";
import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import { ConflictError } from "../../errors.ts";
import { minTransitionMs, type RotateApiKey } from "../../schemas/api-keys.ts";
import type { AdminCall } from "../core/endpoint.ts";
import type { Found } from "../core/record-definitions.ts";
import { toIso } from "../core/request.ts";
import { scopesOf } from "./api-key-record.ts";
import { readAllowedModels, requireGrantable } from "./api-key-rules.ts";
import { mintSecret } from "./key-minting.ts";

/** @throws {ConflictError} If the key has expired, or still has two secrets. */
function requireRotatable(row: ApiKeyRow, now: number): void {
  if (row.status === "expired" || (row.expiresAt !== null && row.expiresAt <= now)) {
    throw new ConflictError("Cannot rotate this key: it has expired", { code: "AB07" });
  }
  if (row.transitionEndsAt !== null && row.transitionEndsAt > now) {
    throw new ConflictError(`Cannot rotate this key: its former secret is valid until ${toIso(row.transitionEndsAt)}`, {
      code: "AB07",
    });
  }
}

/** Gives a key a new secret; the former one stays valid for a while. */
export async function rotateKey(call: AdminCall<RotateApiKey>, { row, tenant }: Found<"apiKeys">) {
  const { body, context, now, stores } = call;
  const { services } = context;
  // whoever reads the new secret has all the key's scopes and models
  requireGrantable(context.principal, row.kind, scopesOf(row));
  readAllowedModels(context.principal, row.kind, row.allowedModels);
  requireRotatable(row, now);
  const isOwnForm = isMintedLookupId(row.lookupId);
  const transitionEndsAt = now + (body.key_transition_period_ms ?? minTransitionMs);
  const { key, stored } = await mintSecret(services, isOwnForm ? row.lookupId : undefined);
  const changes = {
    ...stored,
    formerDigest: row.digest,
    formerOfAnyForm: !isOwnForm,
    transitionEndsAt,
    lastRotatedAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: { id: row.id, key, key_transition_expires_at: toIso(transitionEndsAt) },
    statements: [stores.apiKeys.update(tenant, { id: row.id }, changes)],
  };
}
