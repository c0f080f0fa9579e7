import * as v from "valibot";
import { readGuardrailContent } from "../../control/guardrail-library.ts";
import type { Statement } from "../../db/client.ts";
import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import type { McpServerGuardrailRow, McpServerRow } from "../../db/tables/mcp.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ChangedMapping, ChangedMappings, ServerMappings } from "../../schemas/guardrails.ts";
import {
  type GuardrailMapping,
  StoredAggregate,
  UpdateGuardrailMapping,
  UpdateGuardrailMappings,
} from "../../schemas/mcp.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { type Direction, phaseOf } from "../core/named-records.ts";
import { namedWorkspace, readTenant, refuseField, requireFound, requireReferenced } from "../core/request.ts";
import { readServerMappings, showMapping } from "./guardrail-mappings.ts";
import { findGuardrail } from "./guardrails.ts";

/** The tenant whose servers a call is about: the guardrail's, or the one that the call names. */
async function readServersTenant(call: AdminCall<unknown>, guardrail: GuardrailRow): Promise<Tenant> {
  const { organisationId, workspaceId } = await readTenant(call, namedWorkspace(call));
  return { organisationId, workspaceId: guardrail.workspaceId ?? workspaceId };
}

/** Whose guardrails a path has: all that a key may see, or those of the organisation alone. */
type Level = "any" | "admin";

/** The guardrail that a path names. Its servers may be those of a workspace also where it is the organisation's. */
async function findMapped(call: AdminCall<unknown>, level: Level, verb: string): Promise<GuardrailRow> {
  const guardrail = await findGuardrail(call, "any", verb);
  const isHere = level === "any" || guardrail.workspaceId === null;
  return requireFound(isHere ? guardrail : undefined, "guardrail");
}

async function listMappings(call: AdminCall<undefined>, level: Level): Promise<AnswerOf<typeof ServerMappings>> {
  const guardrail = await findMapped(call, level, "read");
  const tenant = await readServersTenant(call, guardrail);
  return (await readServerMappings(call, tenant, guardrail)).map(showMapping);
}

/** @throws {InvalidRequestError} AB01 for guardrails of models, and for checks that cannot run where they are to. */
async function requireFitting(
  { stores, context: { services } }: AdminCall<unknown>,
  guardrail: GuardrailRow,
  mappings: readonly GuardrailMapping[],
): Promise<void> {
  if (guardrail.target !== "mcp_tools") refuseField("mcp_servers", "needs a guardrail with the target mcp_tools");
  const version = requireFound(await stores.guardrailVersions.get(guardrail, guardrail.versionId), "guardrail");
  const { checks, actions } = readGuardrailContent(version);
  for (const direction of new Set(mappings.flatMap(({ run_on }) => run_on))) {
    const [problem] = services.guardrails.findSavedProblems({ checks, actions }, phaseOf[direction]);
    if (problem) refuseField("run_on", `cannot have ${direction}: path: ${problem.path}, message: ${problem.message}`);
  }
}

/** Ids of the integrations whose capabilities a server has: its own, or those of its members. */
async function integrationsOf({ stores }: AdminCall<unknown>, server: McpServerRow): Promise<string[]> {
  if (server.integrationId !== null) return [server.integrationId];
  const read = v.safeParse(StoredAggregate, server.aggregate);
  const ids = read.success ? read.output.members.map((member) => member.server_id) : [];
  if (ids.length === 0) return [];
  const { organisationId, workspaceId } = server;
  const members = await stores.mcpServers.all({ organisationId, workspaceId }, { where: { id: ids } });
  return members.flatMap(({ integrationId }) => integrationId ?? []);
}

/** Ids of capabilities that a mapping names. @throws {NotFoundError} AB02 for those of other servers. */
async function requireCapabilities(
  call: AdminCall<unknown>,
  server: McpServerRow,
  { ids, param }: { ids: readonly string[]; param: string },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const where = { integrationId: await integrationsOf(call, server), id: ids };
  const rows = await call.stores.mcpCapabilities.all({ ...server, workspaceId: null }, { where });
  const known = new Set(rows.map(({ id }) => id));
  for (const [index, id] of ids.entries()) requireReferenced(known.has(id) ? id : undefined, `${param}.${index}`);
  return [...new Set(ids)];
}

/** A mapping that is to be stored. */
interface WantedMapping {
  server: McpServerRow;
  runOn: Direction[];
  capabilityIds: string[];
}

async function toWanted(
  call: AdminCall<unknown>,
  server: McpServerRow,
  { given, prefix }: { given: GuardrailMapping; prefix: string },
): Promise<WantedMapping> {
  const names = { ids: given.mcp_integration_capability_ids ?? [], param: `${prefix}mcp_integration_capability_ids` };
  const runOn = [...new Set(given.run_on)].toSorted();
  return { server, runOn, capabilityIds: await requireCapabilities(call, server, names) };
}

/** The statement that stores a mapping; undefined where it is stored already. */
function store(
  { stores, now }: AdminCall<unknown>,
  guardrail: GuardrailRow,
  wanted: WantedMapping,
  former: McpServerGuardrailRow | undefined,
): { id: string; statement: Statement | undefined } {
  const { organisationId, workspaceId, id: serverId } = wanted.server;
  const tenant = { organisationId, workspaceId };
  const values = { runOn: wanted.runOn, capabilityIds: wanted.capabilityIds };
  if (!former) {
    const id = crypto.randomUUID();
    const row = { id, ...tenant, guardrailId: guardrail.id, serverId, ...values, createdAt: now };
    return { id, statement: stores.mcpServerGuardrails.insert(tenant, row) };
  }
  const isSame = JSON.stringify([former.runOn, former.capabilityIds]) === JSON.stringify(Object.values(values));
  const changes = { ...values, lastUpdatedAt: now };
  const statement = isSame ? undefined : stores.mcpServerGuardrails.update(tenant, { id: former.id }, changes);
  return { id: former.id, statement };
}

async function updateMappings(
  call: AdminCall<UpdateGuardrailMappings>,
  level: Level,
): Promise<Outcome<AnswerOf<typeof ChangedMappings>>> {
  const { body, stores } = call;
  const guardrail = await findMapped(call, level, "update");
  const tenant = await readServersTenant(call, guardrail);
  await requireFitting(call, guardrail, Object.values(body.mcp_servers));
  const stored = await readServerMappings(call, tenant, guardrail);
  const wanted = new Map<string, WantedMapping>();
  for (const [name, given] of Object.entries(body.mcp_servers)) {
    const prefix = `mcp_servers.${name}.`;
    const server = requireReferenced(await stores.mcpServers.get(tenant, name), `mcp_servers.${name}`);
    if (wanted.has(server.id)) refuseField(`mcp_servers.${name}`, "is listed twice");
    wanted.set(server.id, await toWanted(call, server, { given, prefix }));
  }
  const removed = stored.filter(({ serverId }) => !wanted.has(serverId));
  const written = [...wanted.values()].map((one) => {
    const former = stored.find(({ serverId }) => serverId === one.server.id);
    return { isNew: !former, ...store(call, guardrail, one, former) };
  });
  const changed = written.filter(({ statement }) => statement !== undefined);
  const added = changed.filter(({ isNew }) => isNew).length;
  const counts = { added, updated: changed.length - added, removed: removed.length };
  const statements = [
    ...removed.map(({ id, ...row }) => stores.mcpServerGuardrails.remove(row, { id })),
    ...changed.flatMap(({ statement }) => statement ?? []),
  ];
  return { answer: { changed: statements.length > 0, ...counts }, recordId: guardrail.id, statements };
}

async function updateMapping(
  call: AdminCall<UpdateGuardrailMapping>,
  level: Level,
): Promise<Outcome<AnswerOf<typeof ChangedMapping>>> {
  const { body, params, stores } = call;
  const guardrail = await findMapped(call, level, "update");
  const tenant = await readServersTenant(call, guardrail);
  const server = requireFound(await stores.mcpServers.get(tenant, params.serverId ?? ""), "MCP server");
  await requireFitting(call, guardrail, [body]);
  const [former] = await stores.mcpServerGuardrails.all(tenant, {
    where: { guardrailId: guardrail.id, serverId: server.id },
  });
  const wanted = await toWanted(call, server, { given: body, prefix: "" });
  const { id, statement } = store(call, guardrail, wanted, former);
  return { answer: { map_id: id }, recordId: guardrail.id, statements: statement ? [statement] : [] };
}

const audit = { resource: "guardrails", action: "update", store: "guardrails" as const };

function defineMappings(level: Level, guardrails: string, what: string): readonly AdminEndpoint[] {
  const families = level === "any" ? ["guardrails", "organisation_guardrails"] : ["organisation_guardrails"];
  const access = (verb: string) => ({ keys: level, scopes: families.map((family) => `${family}.${verb}`) });
  const row = { tag: "Guardrails", path: `${guardrails}/:id/mcp-servers` };
  return [
    defineRead({
      ...row,
      method: "GET",
      summary: `List the MCP servers that ${what} runs on`,
      access: access("read"),
      response: ServerMappings,
      handle: (call) => listMappings(call, level),
    }),
    defineWrite({
      ...row,
      method: "PUT",
      summary: `Set the MCP servers that ${what} runs on`,
      access: access("update"),
      audit,
      body: UpdateGuardrailMappings,
      response: ChangedMappings,
      handle: (call) => updateMappings(call, level),
    }),
    defineWrite({
      ...row,
      method: "PUT",
      path: `${row.path}/:serverId`,
      summary: `Run ${what} on an MCP server`,
      access: access("update"),
      audit,
      body: UpdateGuardrailMapping,
      response: ChangedMapping,
      handle: (call) => updateMapping(call, level),
    }),
  ];
}

/** Endpoints of the MCP servers that a guardrail runs on. */
export const guardrailServerEndpoints: readonly AdminEndpoint[] = [
  ...defineMappings("any", "/v1/guardrails", "a guardrail"),
  ...defineMappings("admin", "/v1/admin/v2/guardrails", "a guardrail of the organisation"),
];
