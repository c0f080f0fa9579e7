import type { ControlStores } from "../db/stores/control.ts";
import type { ConfigRow } from "../db/tables/configs.ts";
import { readTogether, type Tenant } from "../db/tenant-store.ts";
import { byName } from "../lib/records.ts";
import type { ContentOpener } from "./sealed-contents.ts";

/** A saved config with its current content. */
export interface StoredConfig {
  row: ConfigRow;
  /** The routing object as JSON text, its secrets in clear; undefined where they cannot be opened. */
  content: string | undefined;
}

/** Reads the configs of a workspace, by slug and by id. */
export async function readConfigs(
  { configs, configVersions, secrets }: Pick<ControlStores, "configs" | "configVersions" | "secrets">,
  tenant: Tenant,
  opener: ContentOpener,
): Promise<ReadonlyMap<string, StoredConfig>> {
  const where = { status: "active" } as const;
  const versionIds = configs.values(tenant, "versionId", where);
  const [rows, versions, sealed] = await readTogether([
    configs.query(tenant, { where }),
    configVersions.query(tenant, { where: { id: versionIds } }),
    secrets.query({ ...tenant, workspaceId: null }, { where: { kind: "configs", recordId: versionIds } }),
  ]);
  const contentOf = await opener.open("configs", versions, sealed);
  return byName(rows.map((row) => ({ row, content: contentOf.get(row.versionId) })));
}
