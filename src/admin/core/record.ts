import type * as v from "valibot";
import type { Statement } from "../../db/client.ts";
import type { ControlStores, RecordStoreName } from "../../db/stores/control.ts";
import type { Filter, Tenant, TenantStore } from "../../db/tenant-store.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, type AnswerSchema, defineRead, defineWrite, type Outcome } from "./endpoint.ts";
import type {
  ChangedColumns,
  ChangedRecord,
  Found,
  FurtherDefinition,
  ListDefinition,
  ListFilter,
  ListSchema,
  NewPlace,
  NewRecord,
  NewRowOf,
  RecordDeclaration,
  RecordTenant,
  RowOf,
  VerbDefinition,
  WrittenRecord,
} from "./record-definitions.ts";
import {
  createSlug,
  namedWorkspace,
  readChoice,
  readPage,
  readSearch,
  readTenant,
  readText,
  requireFound,
  requireId,
  requireWorkspace,
} from "./request.ts";
import { columnOf } from "./shown-row.ts";

/** The columns that every record has. */
const plainOf = (row: object): PlainRow => row as PlainRow; // all tables of records have them

/** The columns that this file reads and writes. */
interface PlainRow {
  id: string;
  organisationId: string;
  workspaceId?: string | null;
  lastUpdatedAt?: number;
}

/** Parameters of a list with pages. */
export const pageQuery = (size = 50, max = 1_000): QueryParameter[] => [
  { name: "current_page", description: "Page, counted from 0" },
  { name: "page_size", description: `Rows per page; default ${size}, at most ${max}` },
];

/** The workspace of a list or a record. */
export const workspaceQuery = { name: "workspace_id", description: "One workspace, for keys of the organisation" };

const describeFilter = ({ values, otherwise }: ListFilter): string =>
  otherwise === undefined
    ? values.join(", ")
    : [`${otherwise} (default)`, ...values.filter((value) => value !== otherwise)].join(" or ");

/** The endpoints of a kind of record. Each method declares one. */
class RecordEndpoints<Name extends RecordStoreName> {
  readonly #kind: RecordDeclaration<Name>;
  readonly #noun: string;
  readonly #one: string;

  constructor(kind: RecordDeclaration<Name>) {
    this.#kind = kind;
    this.#noun = kind.noun ?? kind.words.one.replace(/^an? /, "");
    this.#one = `${kind.path}/:${kind.param ?? "id"}`;
  }

  /** The record that a path names. @throws {NotFoundError} AB08. */
  async find(call: AdminCall<unknown>, verb = "read"): Promise<Found<Name>> {
    const { param = "id", find, hasIdsOnly } = this.#kind;
    const row = find ? await find(call, verb) : await this.#read(call, param, hasIdsOnly);
    const { organisationId, workspaceId = null } = plainOf(row);
    // the row's own values
    return { row, tenant: { organisationId, workspaceId } as RecordTenant<Name> };
  }

  /** `GET` of the list. */
  list<All extends ListSchema>(definition: ListDefinition<Name, All>): AdminEndpoint {
    const { ofOrganisation } = this.#kind;
    const { response, filters = {}, search, page, maxPage, query = [], rows: readRows } = definition;
    const { ofWorkspaces = ofOrganisation ? "" : workspaceQuery.description } = definition;
    const tenantOf = definition.tenant ?? ((call: AdminCall<undefined>) => this.#tenant(call));
    const literals = Object.entries(response.entries).flatMap(([name, entry]) =>
      "literal" in entry ? [[name, entry.literal]] : [],
    );
    return defineRead({
      ...this.#row("GET", this.#kind.path, "list"),
      summary: definition.summary ?? `List ${this.#kind.words.many}`,
      query: [
        ...(ofWorkspaces ? [{ ...workspaceQuery, description: ofWorkspaces }] : []),
        ...Object.entries(filters).map(([name, filter]) => ({ name, description: describeFilter(filter) })),
        ...(search
          ? [{ name: "search", description: `Part of the ${search.join(" or ")}, at least 2 characters` }]
          : []),
        ...query,
        ...pageQuery(typeof page === "number" ? page : 50, maxPage),
      ],
      response,
      handle: async (call) => {
        const tenant = await tenantOf(call);
        const own = this.#readOptions(call, definition);
        const selected = (await definition.select?.(call, tenant)) ?? {};
        const options = { ...own, ...selected, where: { ...own.where, ...selected.where } };
        const { rows, total } = readRows
          ? await readRows(call, tenant, options)
          : await this.#typed(call.stores).list(tenant, options);
        const data = await definition.show(rows, call, tenant);
        const { offset = 0 } = options.page ?? {};
        const more = "has_more" in response.entries && { has_more: offset + rows.length < total };
        return { ...Object.fromEntries(literals), data, total, ...more } as unknown as AnswerOf<All>; // all that the schema has
      },
    });
  }

  /** `GET` of a list that is read otherwise. */
  listBy<Answer extends AnswerSchema>(
    definition: VerbDefinition & { response: Answer; handle(call: AdminCall<undefined>): Promise<AnswerOf<Answer>> },
  ): AdminEndpoint {
    return defineRead<Answer>({
      ...this.#row("GET", this.#kind.path, "list"),
      summary: `List ${this.#kind.words.many}`,
      ...definition,
    });
  }

  /** `POST` to the list. */
  create<Body extends v.GenericSchema, Answer extends AnswerSchema>(
    definition: VerbDefinition & {
      body: Body;
      response: Answer;
      /** Form of its slug where the body has none; absent for records without one. */
      slug?: { prefix?: string; letters?: number };
      /** Longest body. Default: that of the control plane. */
      maxBodyBytes?: number;
      /** Where it belongs. Default: the workspace that the body or the query names. */
      tenant?(call: AdminCall<v.InferOutput<Body>>): Promise<Tenant>;
      decide(
        call: AdminCall<v.InferOutput<Body>>,
        place: NewPlace<Name>,
      ): Promise<NewRecord<Name, AnswerOf<Answer>> | WrittenRecord<AnswerOf<Answer>>>;
    },
  ): AdminEndpoint {
    const { body, response, slug: form, tenant: tenantOf, decide, maxBodyBytes } = definition;
    return defineWrite<Body, Answer>({
      ...this.#row("POST", this.#kind.path, "create"),
      summary: definition.summary ?? `Create ${this.#kind.words.one}`,
      audit: this.#audited("create"),
      body,
      ...(maxBodyBytes !== undefined && { maxBodyBytes }),
      response,
      handle: async (call) => {
        const tenant = await this.#placeOfNew(call, tenantOf);
        const { name, slug: chosen }: Record<string, unknown> = isObject(call.body) ? call.body : {};
        const slug = form ? (stringOf(chosen) ?? createSlug(String(name), form)) : "";
        const id = crypto.randomUUID();
        // the tenant is one that the table's rows can have
        const place = { tenant: tenant as RecordTenant<Name>, id, slug };
        const decided = await decide(call, place);
        if (!("columns" in decided)) return decided;
        const { columns, before = [], statements = [], ...outcome } = decided;
        const times = { createdAt: call.now, lastUpdatedAt: call.now };
        const row: PlainRow = { id, ...tenant, ...(form && { slug }), ...times, ...columns };
        const inserted = this.#plain(call.stores).insert(tenant, row);
        return { ...outcome, recordId: row.id, statements: [...before, inserted, ...statements] };
      },
    });
  }

  /** `GET` of one record. */
  show<Answer extends AnswerSchema>(
    definition: VerbDefinition & {
      response: Answer;
      show(found: Found<Name>, call: AdminCall<undefined>): AnswerOf<Answer> | Promise<AnswerOf<Answer>>;
    },
  ): AdminEndpoint {
    const { response, show, query } = definition;
    return defineRead<Answer>({
      ...this.#row("GET", this.#one, "read"),
      summary: definition.summary ?? `Show ${this.#kind.words.one}`,
      ...(query && { query }),
      response,
      handle: async (call) => show(await this.find(call), call),
    });
  }

  /** `PUT` of one record. */
  change<Body extends v.GenericSchema, Answer extends AnswerSchema>(
    definition: VerbDefinition & {
      body: Body;
      response: Answer;
      decide(call: AdminCall<v.InferOutput<Body>>, found: Found<Name>): Promise<ChangedRecord<Name, AnswerOf<Answer>>>;
    },
  ): AdminEndpoint {
    const { body, response, decide } = definition;
    return defineWrite<Body, Answer>({
      ...this.#row("PUT", this.#one, "update"),
      summary: definition.summary ?? `Change ${this.#kind.words.one}`,
      audit: this.#audited("update"),
      body,
      response,
      handle: async (call) => {
        const found = await this.find(call, "update");
        const { columns, statements = [], ...outcome } = await decide(call, found);
        const changed = columns ? [this.updating(call, found, columns)] : [];
        return { ...outcome, recordId: plainOf(found.row).id, statements: [...statements, ...changed] };
      },
    });
  }

  /** `DELETE` of one record. */
  remove(
    definition: VerbDefinition & {
      /** What is written before the record goes. @throws {ConflictError} If it is in use. */
      before?(call: AdminCall<undefined>, found: Found<Name>): Promise<readonly Statement[]>;
      /** What is written once it is gone. */
      after?(call: AdminCall<undefined>, found: Found<Name>): Promise<readonly Statement[]>;
      /** Columns of a record that stays, archived. */
      archives?: ChangedColumns<Name>;
    } = {},
  ): AdminEndpoint {
    const { before, after, archives, query } = definition;
    return defineWrite({
      ...this.#row("DELETE", this.#one, "delete"),
      summary: definition.summary ?? `${archives ? "Archive" : "Delete"} ${this.#kind.words.one}`,
      ...(query && { query }),
      audit: this.#audited("delete"),
      response: NoContent,
      handle: async (call) => {
        const found = await this.find(call, "delete");
        const first = (await before?.(call, found)) ?? [];
        const rest = (await after?.(call, found)) ?? [];
        const { id } = plainOf(found.row);
        const last = archives
          ? this.updating(call, found, archives)
          : this.#plain(call.stores).remove(found.tenant, this.#itself(found));
        return { answer: {}, recordId: id, statements: [...first, last, ...rest] };
      },
    });
  }

  /** A further `GET` of one record. */
  read<Answer extends AnswerSchema>(
    definition: FurtherDefinition & {
      response: Answer;
      handle(call: AdminCall<undefined>, found: Found<Name>): Promise<AnswerOf<Answer>>;
    },
  ): AdminEndpoint {
    const { at, verb, handle, ...row } = definition;
    return defineRead<Answer>({
      ...this.#row("GET", this.#one + at, verb),
      ...row,
      handle: async (call) => handle(call, await this.find(call, verb)),
    });
  }

  /** A further write to one record. */
  write<Answer extends AnswerSchema, Body extends v.GenericSchema = v.GenericSchema<unknown, undefined>>(
    definition: FurtherDefinition & {
      method: "POST" | "PUT" | "DELETE";
      /** Its verb in the audit log. Default: that of its scope. */
      action?: string;
      body?: Body;
      bodyOptional?: boolean;
      response: Answer;
      handle(
        call: AdminCall<v.InferOutput<Body>>,
        found: Found<Name>,
      ): Promise<Omit<Outcome<AnswerOf<Answer>>, "recordId">>;
    },
  ): AdminEndpoint {
    const { at, verb, action = verb, handle, method, ...row } = definition;
    return defineWrite<Body, Answer>({
      ...this.#row(method, this.#one + at, verb),
      ...row,
      audit: this.#audited(action),
      handle: async (call) => {
        const found = await this.find(call, verb);
        return { ...(await handle(call, found)), recordId: plainOf(found.row).id };
      },
    });
  }

  /** The statement that changes a record. */
  updating({ stores, now }: AdminCall<unknown>, found: Found<Name>, columns: ChangedColumns<Name>): Statement {
    return this.#plain(stores).update(found.tenant, this.#itself(found), { lastUpdatedAt: now, ...columns });
  }

  /** A record of the organisation names no workspace: a statement for a tenant without one changes all of them. */
  #itself({ row }: Found<Name>): Filter<PlainRow> {
    const { id, workspaceId } = plainOf(row);
    const isNamed = workspaceId !== undefined && !this.#kind.isReadByWorkspaces;
    return { id, ...(isNamed && { workspaceId }) };
  }

  async #read(call: AdminCall<unknown>, param: string, hasIdsOnly = false): Promise<RowOf<Name>> {
    const store = this.#typed(call.stores);
    const id = hasIdsOnly ? requireId(call.params, param, this.#noun) : (call.params[param] ?? "");
    const tenant = await this.#tenant(call);
    return requireFound(await store.get(tenant, id), this.#noun);
  }

  /** Whose records a call is about. */
  async #tenant(call: AdminCall<unknown>): Promise<Tenant> {
    return this.#kind.ofOrganisation ? call.tenant : readTenant(call);
  }

  async #placeOfNew<Body>(call: AdminCall<Body>, tenantOf?: (call: AdminCall<Body>) => Promise<Tenant>) {
    if (tenantOf) return tenantOf(call);
    return this.#kind.ofOrganisation ? call.tenant : requireWorkspace(call, namedWorkspace(call));
  }

  #readOptions(
    { query }: AdminCall<undefined>,
    definition: Pick<ListDefinition<Name, ListSchema>, "filters" | "search" | "page" | "maxPage">,
  ) {
    const { filters = {}, search: columns, page, maxPage: max } = definition;
    const text = columns && readSearch(query);
    const where = Object.entries(filters).map(([name, { values, otherwise }]) => [
      columnOf(name),
      readChoice(query, name, values) ?? otherwise,
    ]);
    const isPaged = page !== "all" || ["current_page", "page_size"].some((name) => readText(query, name) !== undefined);
    const rules = { ...(typeof page === "number" && { size: page }), ...(max !== undefined && { max }) };
    return {
      where: Object.fromEntries(where) as Filter<RowOf<Name>>, // filters are named by columns
      search: columns && text !== undefined ? { columns, text } : undefined,
      page: isPaged ? readPage(query, rules) : undefined,
    };
  }

  #row<Method extends AdminEndpoint["method"]>(method: Method, path: string, verb: string) {
    const { tag, access, param = "id", reserved } = this.#kind;
    const own = typeof access === "string" ? { keys: "any" as const, scopes: [`${access}.${verb}`] } : access(verb);
    return {
      tag,
      method,
      path,
      access: own,
      ...(reserved && path === this.#one && { reserved: { [param]: reserved } }),
    };
  }

  #audited(action: string) {
    const { audit, store } = this.#kind;
    return { resource: audit, action, store };
  }

  /** The store with the rows of this kind. */
  #typed(stores: ControlStores): TenantStore<RowOf<Name>, NewRowOf<Name>> {
    return stores[this.#kind.store] as unknown as TenantStore<RowOf<Name>, NewRowOf<Name>>; // by its name
  }

  #plain(stores: ControlStores): TenantStore<PlainRow, PlainRow> {
    return stores[this.#kind.store] as unknown as TenantStore<PlainRow, PlainRow>; // every row has these columns
  }
}

/** Declares a kind of record. */
export function defineRecord<const Name extends RecordStoreName>(kind: RecordDeclaration<Name>): RecordEndpoints<Name> {
  return new RecordEndpoints(kind);
}
