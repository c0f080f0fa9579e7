import type { Services } from "../../context.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { GatewayOptionHeaders } from "../../schemas/batches.ts";

/** Kind and field of the sealed headers of a batch. */
export const sealedOptions = { kind: "batches", field: "options" } as const;

/** Most characters of all headers of a batch together. */
const maxLength = 64 * 1024;

function refuseOptions(message: string): never {
  throw new InvalidRequestError(message, { param: "gateway_options", code: "invalid_gateway_options" });
}

/**
 * Headers of a batch's calls, by their names in lower case with the gateway's first prefix.
 *
 * @throws {InvalidRequestError} 400 for a header without the gateway's prefix, and for the gateway key.
 */
export function readGatewayOptions(
  given: GatewayOptionHeaders,
  { headerPrefixes }: Pick<Services, "headerPrefixes">,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [written, value] of Object.entries(given)) {
    const lower = written.toLowerCase();
    const prefix = headerPrefixes.find((one) => lower.startsWith(one));
    const name = prefix === undefined ? lower : `x-gateway-${lower.slice(prefix.length)}`;
    if (prefix === undefined && lower !== "authorization") {
      refuseOptions(`Cannot use ${written}: give headers that begin with x-gateway-, or authorization`);
    }
    if (name === "x-gateway-api-key")
      refuseOptions("Cannot use x-gateway-api-key: a batch runs with the key that created it");
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (!/^[a-z0-9-]+$/.test(name) || !isHeaderValue(text))
      refuseOptions(`Cannot use ${written}: it is not a valid header`);
    headers[name] = text;
  }
  if (JSON.stringify(headers).length > maxLength)
    refuseOptions(`Cannot use gateway_options: they are longer than ${maxLength}`);
  return headers;
}

/** Headers from their sealed form. */
function parseSealedOptions(text: string): Record<string, string> {
  const value = parseJson(text);
  return Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([name, one]) => [name, String(one)]));
}

/** Headers of the calls, sealed when the batch was created. */
export async function openOptions(
  { organisationId, workspaceId, id }: GatewayBatchRow,
  { control }: Pick<Services, "control">,
): Promise<Record<string, string>> {
  const tenant = { organisationId, workspaceId };
  const sealed = await control.stores.secrets.find(tenant, { ...sealedOptions, recordId: id });
  return sealed ? parseSealedOptions(await control.vault.open(sealed)) : {};
}
