import { listDefaultGuardrails } from "../../control/guardrail-library.ts";
import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { type Direction, directions } from "../core/named-records.ts";
import { directionsOf, readServerMappings } from "./guardrail-mappings.ts";

/** Something that names a guardrail. */
interface GuardrailUse {
  /** For messages, such as `the config pc-main-1a2b3c`. */
  holder: string;
  direction: Direction;
}

type Names = readonly string[];

/** Directions in which a node of a config, or one below it, names a guardrail. */
function directionsIn(node: unknown, names: Names): Direction[] {
  if (!isObject(node)) return [];
  const isNamed = (entry: unknown) => names.some((name) => name === (isObject(entry) ? entry.id : entry));
  const own = directions.filter((direction) =>
    [node[`${direction}_guardrails`], node[`${direction}Guardrails`]].some(
      (list) => Array.isArray(list) && list.some(isNamed),
    ),
  );
  const targets = Array.isArray(node.targets) ? node.targets : [];
  const copies = isObject(node.shadow) ? [node.shadow.target] : [];
  return [...own, ...[...targets, ...copies].flatMap((target) => directionsIn(target, names))];
}

/** Active configs whose current content names a guardrail. */
async function findConfigs({ stores }: AdminCall<unknown>, row: GuardrailRow): Promise<GuardrailUse[]> {
  const names = [row.id, row.slug];
  const configs = await stores.configs.all(row, { where: { status: "active" } });
  const where = { id: configs.map(({ versionId }) => versionId) };
  // the database searches the text, so that only the few matching contents are read
  const found = await Promise.all(
    names.map((name) => stores.configVersions.all(row, { where, contains: { content: name } })),
  );
  const slugOf = new Map(configs.map(({ versionId, slug }) => [versionId, slug]));
  return found.flat().flatMap(({ id, content }) => {
    const holder = `the config ${slugOf.get(id)}`;
    return directionsIn(parseJson(content), names).map((direction) => ({ holder, direction }));
  });
}

/** MCP servers that a guardrail runs on. */
async function findServers(call: AdminCall<unknown>, row: GuardrailRow): Promise<GuardrailUse[]> {
  const mappings = await readServerMappings(call, row, row);
  const where = { id: mappings.map(({ serverId }) => serverId) };
  const servers = await call.stores.mcpServers.all({ ...row, workspaceId: null }, { where });
  const slugOf = new Map(servers.map(({ id, slug }) => [id, slug]));
  return mappings.flatMap((mapping) => {
    const holder = `the MCP server ${slugOf.get(mapping.serverId)}`;
    return directionsOf(mapping).map((direction) => ({ holder, direction }));
  });
}

/**
 * Everything that names a guardrail: defaults of the organisation and of active workspaces, active configs, and MCP
 * servers.
 */
export async function findUses(call: AdminCall<unknown>, row: GuardrailRow): Promise<GuardrailUse[]> {
  const { stores } = call;
  const { organisationId, workspaceId } = row;
  const where = { status: "active" as const, ...(workspaceId !== null && { id: workspaceId }) };
  const [organisation, workspaces, configs] = await Promise.all([
    stores.organisations.get(organisationId),
    stores.workspaces.all({ organisationId, workspaceId: null }, { where }),
    findConfigs(call, row),
  ]);
  const holders = [
    { holder: "the defaults of the organisation", defaults: organisation?.defaults },
    ...workspaces.map(({ slug, defaults }) => ({ holder: `the defaults of the workspace ${slug}`, defaults })),
  ];
  const named = holders.flatMap(({ holder, defaults }) =>
    directions
      .filter((direction) => listDefaultGuardrails(defaults, direction).includes(row.id))
      .map((direction) => ({ holder, direction })),
  );
  return [...named, ...configs, ...(await findServers(call, row))];
}
