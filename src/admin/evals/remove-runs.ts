import type { Statement } from "../../db/client.ts";
import { evalSecretKind } from "../../db/stores/eval-runs.ts";
import type { AdminCall } from "../core/endpoint.ts";

/** What removes runs with their answers. */
export function removeRuns(
  { stores }: AdminCall<unknown>,
  tenant: { readonly organisationId: string; readonly workspaceId: string },
  runId: readonly string[],
): Statement[] {
  if (runId.length === 0) return [];
  return [
    stores.evalAnswers.remove(tenant, { runId }),
    stores.secrets.remove(tenant, { kind: evalSecretKind, recordId: runId }),
    stores.evalRuns.remove(tenant, { id: runId }),
  ];
}
