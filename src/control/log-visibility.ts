import type { OrganisationRow } from "../db/tables/tenants.ts";
import type { DeniedFields } from "../logs/denied-fields.ts";
import { toRecord } from "./settings.ts";

/** The fields that an organisation denies. */
export function deniedFieldsOf({ settings }: Pick<OrganisationRow, "settings">): DeniedFields {
  const { deniedFields } = toRecord(toRecord(settings).export_settings);
  return new Set(Array.isArray(deniedFields) ? deniedFields.map(String) : []);
}
