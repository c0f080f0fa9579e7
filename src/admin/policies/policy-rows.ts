import type * as v from "valibot";
import type { ControlStores, RecordStoreName } from "../../db/stores/control.ts";
import type { Filter, TenantStore } from "../../db/tenant-store.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { CreatedPolicy, type PolicyCondition, policyStatuses } from "../../schemas/policies.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { namedWorkspace, readChoice, readPage, readTenant, requireFound, requireId, toList } from "../core/request.ts";

/** The columns that endpoints need of each kind of policy. */
interface PolicyRow {
  id: string;
  organisationId: string;
  workspaceId: string;
  status: (typeof policyStatuses)[number];
  lastUpdatedAt: number;
}

/** The store of a kind of policy. */
type PolicyStore<Row> = Pick<TenantStore<Row, Row>, "find" | "list" | "update">;

/** The status filter of a list. Default `active`. */
function readStatus(query: URLSearchParams) {
  return readChoice(query, "status", policyStatuses) ?? "active";
}

/** A condition of a body: an exclusion may be null. */
type GivenCondition = Omit<PolicyCondition, "excludes"> & { excludes?: PolicyCondition["excludes"] | null };

/** Conditions as they are stored: an exclusion that is null is left out. */
export function toStoredConditions(conditions: readonly GivenCondition[]): PolicyCondition[] {
  return conditions.map(({ excludes, ...condition }) => (excludes == null ? condition : { ...condition, excludes }));
}

/**
 * The policy a path names.
 *
 * @param status States it may have.
 * @throws {NotFoundError} AB08
 */
export async function findPolicy<Row extends PolicyRow>(
  call: AdminCall<unknown>,
  store: PolicyStore<Row>,
  status: readonly string[],
): Promise<Row> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const id = requireId(call.params, "id", "policy");
  // the columns are those of every policy
  return requireFound(await store.find(tenant, { id, status } as unknown as Filter<Row>), "policy");
}

/** A kind of policy: its endpoints, and what they do differently. */
interface PolicyKind<Row extends PolicyRow, Create extends v.GenericSchema, Update extends v.GenericSchema> {
  /** Schemas of a page of the list, and of one policy. */
  responses: { list: v.GenericSchema; one: v.GenericSchema };
  /** Path of its endpoints. */
  path: string;
  /** The kind in the audit log. */
  resource: string;
  /** For summaries. */
  words: { one: string; many: string };
  store: RecordStoreName;
  storeOf(stores: ControlStores): PolicyStore<Row>;
  /** Filters of the list beside the workspace and the status: the values of each column. */
  filters: Readonly<Record<string, readonly string[]>>;
  createBody: Create;
  updateBody: Update;
  /** A policy as lists show it. */
  show(row: Row): object;
  create(call: AdminCall<v.InferOutput<Create>>): Promise<Outcome<CreatedPolicy>>;
  update(call: AdminCall<v.InferOutput<Update>>, row: Row): Promise<Outcome<AnswerOf<typeof NoContent>>>;
  /** What the endpoint of one policy can show besides. */
  detail?: { query: readonly QueryParameter[]; read(call: AdminCall<undefined>, row: Row): Promise<object> };
}

/** The scopes of an endpoint of policies. */
export const policyAccess = (...verbs: readonly string[]) => ({
  keys: "any" as const,
  scopes: verbs.map((verb) => `policies.${verb}`),
});
const statusQuery = { name: "status", description: "active (default) or archived" };
/** The workspace of a policy. */
export const workspaceQuery = { name: "workspace_id", description: "One workspace, for keys of the organisation" };

/** Parameters of a list with pages of at most `max` rows. */
export const pageQuery = (max: number): QueryParameter[] => [
  { name: "current_page", description: "Page, counted from 0" },
  { name: "page_size", description: `Rows per page; default 50, at most ${max}` },
];

/** Tag of the endpoints. */
export const tag = "Policies";

/** A page of the policies of a kind. */
async function listPolicies<Row extends PolicyRow>(
  call: AdminCall<undefined>,
  { storeOf, filters, show }: Pick<PolicyKind<Row, v.GenericSchema, v.GenericSchema>, "storeOf" | "filters" | "show">,
) {
  const { stores, query } = call;
  const tenant = await readTenant(call);
  const given = Object.entries(filters).map(([name, values]) => [name, readChoice(query, name, values)]);
  const where = { status: readStatus(query), ...Object.fromEntries(given) } as Filter<Row>; // names of columns
  const { rows, total } = await storeOf(stores).list(tenant, { where, page: readPage(query) });
  return toList(rows.map(show), total);
}

async function archivePolicy<Row extends PolicyRow>(call: AdminCall<undefined>, store: PolicyStore<Row>) {
  const row = await findPolicy(call, store, ["active"]);
  const changes = { status: "archived", lastUpdatedAt: call.now } as Partial<Row>; // columns of every policy
  // every policy has an id
  const statement = store.update(row, { id: row.id } as Filter<Row>, changes);
  return { answer: {}, recordId: row.id, statements: [statement] };
}

/** The endpoints of a kind of policy. */
export function definePolicies<
  Row extends PolicyRow,
  Create extends v.GenericSchema,
  Update extends v.GenericSchema<unknown, unknown>,
>(kind: PolicyKind<Row, Create, Update>): AdminEndpoint[] {
  const { words, storeOf, detail, responses } = kind;
  const all = { tag, path: kind.path };
  const one = { tag, path: `${kind.path}/:id` };
  const audit = (action: string) => ({ resource: kind.resource, action, store: kind.store });
  const filterQuery = Object.entries(kind.filters).map(([name, values]) => ({ name, description: values.join(", ") }));
  return [
    defineRead({
      ...all,
      method: "GET",
      summary: `List ${words.many}`,
      access: policyAccess("list"),
      query: [workspaceQuery, statusQuery, ...filterQuery, ...pageQuery(1_000)],
      response: responses.list,
      handle: (call) => listPolicies(call, kind),
    }),
    defineWrite({
      ...all,
      method: "POST",
      summary: `Make ${words.one}`,
      access: policyAccess("create"),
      audit: audit("create"),
      body: kind.createBody,
      response: CreatedPolicy,
      handle: kind.create,
    }),
    defineRead({
      ...one,
      method: "GET",
      summary: `Show ${words.one}`,
      access: policyAccess("read"),
      query: [workspaceQuery, statusQuery, ...(detail?.query ?? [])],
      response: responses.one,
      async handle(call) {
        const row = await findPolicy(call, storeOf(call.stores), [readStatus(call.query)]);
        const shown = kind.show(row);
        return detail ? { ...shown, ...(await detail.read(call, row)) } : shown;
      },
    }),
    defineWrite({
      ...one,
      method: "PUT",
      summary: `Change ${words.one}`,
      access: policyAccess("update"),
      audit: audit("update"),
      body: kind.updateBody,
      response: NoContent,
      handle: async (call) => kind.update(call, await findPolicy(call, storeOf(call.stores), policyStatuses)),
    }),
    defineWrite({
      ...one,
      method: "DELETE",
      summary: `Archive ${words.one}`,
      access: policyAccess("delete"),
      audit: audit("delete"),
      response: NoContent,
      handle: (call) => archivePolicy(call, storeOf(call.stores)),
    }),
  ];
}
