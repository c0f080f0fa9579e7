import type * as v from "valibot";
import type { KeyAccess } from "../../auth/access.ts";
import type { ScopeFamilyName } from "../../auth/scopes.ts";
import type { Undo } from "../../control/commit.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores, RecordStoreName } from "../../db/stores/control.ts";
import type { Filter, ListOptions, Tenant, TenantStore } from "../../db/tenant-store.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, type AnswerSchema, defineRead, defineWrite, type Outcome } from "./endpoint.ts";
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

/** Rows of a store. */
type RowOf<Name extends RecordStoreName> = NonNullable<Awaited<ReturnType<ControlStores[Name]["get"]>>>;

type NewRowOf<Name extends RecordStoreName> = Parameters<ControlStores[Name]["insert"]>[1];

/** The workspace that rows of a store name; null where the table has no workspaces. */
type PlaceOf<Name extends RecordStoreName> = RowOf<Name> extends { workspaceId: infer Place } ? Place : null;

/** The tenant of a record. */
interface RecordTenant<Name extends RecordStoreName> {
  readonly organisationId: string;
  readonly workspaceId: PlaceOf<Name> & (string | null);
}

/** A record that a path names, and its tenant. */
export interface Found<Name extends RecordStoreName> {
  row: RowOf<Name>;
  tenant: RecordTenant<Name>;
}

/** Columns that each new row gets by itself. */
type OwnColumns = "id" | "organisationId" | "workspaceId" | "slug" | "createdAt" | "lastUpdatedAt";

type NewColumns<Name extends RecordStoreName> = Omit<NewRowOf<Name>, OwnColumns> & { slug?: string };

type ChangedColumns<Name extends RecordStoreName> = {
  [Column in keyof Omit<NewRowOf<Name>, OwnColumns>]?: NewRowOf<Name>[Column] | undefined;
};

/** The columns that every record has. */
const plainOf = (row: object): PlainRow => row as PlainRow; // all tables of records have them

/** A kind of record of the control plane. Its endpoints follow from it. */
interface RecordDeclaration<Name extends RecordStoreName> {
  /** Group of its endpoints in the API reference. */
  readonly tag: string;
  /** Path of the list: `/v1/labels`. */
  readonly path: string;
  /** Path parameter that names a record. Default `id`. */
  readonly param?: string;
  /** Words for summaries; `one` has an article. */
  readonly words: { readonly one: string; readonly many: string };
  /** Its kind in errors. Default `words.one` without the article. */
  readonly noun?: string;
  readonly store: Name;
  /** Its kind in the audit log. */
  readonly audit: string;
  /** Beginning of its scopes, for keys of any kind, or who may use a verb. */
  readonly access: ScopeFamilyName | ((verb: string) => KeyAccess);
  /** Its records are the organisation's, not those of a workspace. */
  readonly ofOrganisation?: boolean;
  /** Views of workspaces are read with the organisation's records: a change of one makes all of them stale. */
  readonly isReadByWorkspaces?: boolean;
  /** Paths name it by its id alone, not by its slug. */
  readonly hasIdsOnly?: boolean;
  /** Finds the record that a path names, if that takes more than the tenant. @param verb What the caller wants to do. */
  readonly find?: (call: AdminCall<unknown>, verb: string) => Promise<RowOf<Name>>;
}

/** A filter of a list: the values that a column can have. */
interface ListFilter {
  readonly values: readonly string[];
  /** The value without this filter; absent: any. */
  readonly otherwise?: string;
}

/** A list of records. */
interface ListDefinition<Name extends RecordStoreName, All extends ListSchema> {
  readonly summary?: string;
  /** Its literals, `total` and `data` are filled in. */
  readonly response: All;
  /** By column. */
  readonly filters?: Readonly<Record<string, ListFilter>>;
  /** Columns with the text of `search`. */
  readonly search?: readonly (keyof RowOf<Name> & string)[];
  /** Rows of a page without `page_size`. Default 50. `all`: all rows where no page is asked for. */
  readonly page?: number | "all";
  /** Most rows of a page. Default 1,000. */
  readonly maxPage?: number;
  /** What `workspace_id` selects, for the API reference; empty where no workspace can be named. */
  readonly ofWorkspaces?: string;
  /** Parameters that `select` reads. */
  readonly query?: readonly QueryParameter[];
  /** Whose records are listed. Default: those of the workspace that the query names, or all. */
  tenant?(call: AdminCall<undefined>): Promise<Tenant>;
  /** More conditions. */
  select?(call: AdminCall<undefined>, tenant: Tenant): ListOptions<RowOf<Name>> | Promise<ListOptions<RowOf<Name>>>;
  /** Rows of a page, where the list has others than those of the table. */
  rows?(
    call: AdminCall<undefined>,
    tenant: Tenant,
    options: ListOptions<RowOf<Name>> & { page?: Page | undefined },
  ): Promise<{ rows: RowOf<Name>[]; total: number }>;
  show(rows: readonly RowOf<Name>[], call: AdminCall<undefined>, tenant: Tenant): ItemsOf<All> | Promise<ItemsOf<All>>;
}

type Page = { offset: number; limit: number };

/** A list: `data`, `total` and literals. */
type ListSchema = v.GenericSchema<unknown, { data: unknown[]; total: number }> & { readonly entries: v.ObjectEntries };

type ItemsOf<All extends ListSchema> = AnswerOf<All>["data"];

/** What one endpoint says of itself beside the kind of record. */
interface VerbDefinition {
  readonly summary?: string;
  readonly query?: readonly QueryParameter[];
}

/** A further endpoint, on the list or on one record. */
interface FurtherDefinition {
  readonly summary: string;
  /** What follows the path of the record: `/versions`. */
  readonly at: string;
  /** The verb of its scope. */
  readonly verb: string;
  readonly query?: readonly QueryParameter[];
}

/** Where a new record is written. */
export interface NewPlace<Name extends RecordStoreName> {
  readonly tenant: RecordTenant<Name>;
  readonly id: string;
  /** Empty for records without slugs. */
  readonly slug: string;
}

/** What a call that creates a record wants to be written. */
interface NewRecord<Name extends RecordStoreName, Answer> extends Pick<Outcome, "applied" | "undo" | "audited"> {
  answer: Answer;
  columns: NewColumns<Name>;
  /** What comes before the record, and after it. */
  before?: readonly Statement[];
  statements?: readonly Statement[];
}

/** What a call that changes a record wants to be written; the record's columns last. */
export interface ChangedRecord<Name extends RecordStoreName, Answer> {
  answer: Answer;
  columns: ChangedColumns<Name>;
  statements?: readonly Statement[];
  applied?: () => void | Promise<void>;
  undo?: Undo | undefined;
}

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
        return { ...Object.fromEntries(literals), data, total } as unknown as AnswerOf<All>; // all that the schema has
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
      slug?: { prefix: string; letters?: number };
      /** Where it belongs. Default: the workspace that the body or the query names. */
      tenant?(call: AdminCall<v.InferOutput<Body>>): Promise<Tenant>;
      decide(call: AdminCall<v.InferOutput<Body>>, place: NewPlace<Name>): Promise<NewRecord<Name, AnswerOf<Answer>>>;
    },
  ): AdminEndpoint {
    const { body, response, slug: form, tenant: tenantOf, decide } = definition;
    return defineWrite<Body, Answer>({
      ...this.#row("POST", this.#kind.path, "create"),
      summary: definition.summary ?? `Create ${this.#kind.words.one}`,
      audit: this.#audited("create"),
      body,
      response,
      handle: async (call) => {
        const tenant = await this.#placeOfNew(call, tenantOf);
        const { name, slug: chosen }: Record<string, unknown> = isObject(call.body) ? call.body : {};
        const slug = form ? (stringOf(chosen) ?? createSlug(String(name), form)) : "";
        const id = crypto.randomUUID();
        // the tenant is one that the table's rows can have
        const place = { tenant: tenant as RecordTenant<Name>, id, slug };
        const { columns, before = [], statements = [], ...outcome } = await decide(call, place);
        const times = { createdAt: call.now, lastUpdatedAt: call.now };
        const row = { id, ...tenant, ...(form && { slug }), ...times, ...columns };
        const inserted = this.#plain(call.stores).insert(tenant, row);
        return { ...outcome, recordId: id, statements: [...before, inserted, ...statements] };
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
        const changed = this.updating(call, found, columns);
        return { ...outcome, recordId: plainOf(found.row).id, statements: [...statements, changed] };
      },
    });
  }

  /** `DELETE` of one record. */
  remove(
    definition: VerbDefinition & {
      /** What is written before the record goes. @throws {ConflictError} If it is in use. */
      before?(call: AdminCall<undefined>, found: Found<Name>): Promise<readonly Statement[]>;
      /** Columns of a record that stays, archived. */
      archives?: ChangedColumns<Name>;
    } = {},
  ): AdminEndpoint {
    const { before, archives } = definition;
    return defineWrite({
      ...this.#row("DELETE", this.#one, "delete"),
      summary: definition.summary ?? `${archives ? "Archive" : "Delete"} ${this.#kind.words.one}`,
      audit: this.#audited("delete"),
      response: NoContent,
      handle: async (call) => {
        const found = await this.find(call, "delete");
        const statements = (await before?.(call, found)) ?? [];
        const { id } = plainOf(found.row);
        const last = archives
          ? this.updating(call, found, archives)
          : this.#plain(call.stores).remove(found.tenant, this.#itself(found));
        return { answer: {}, recordId: id, statements: [...statements, last] };
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
  write<Body extends v.GenericSchema, Answer extends AnswerSchema>(
    definition: FurtherDefinition & {
      method: "POST" | "PUT" | "DELETE";
      /** Its verb in the audit log. Default: that of its scope. */
      action?: string;
      body: Body;
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
    return this.#plain(stores).update(found.tenant, this.#itself(found), { ...columns, lastUpdatedAt: now });
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
      name,
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
    const { tag, access } = this.#kind;
    const own = typeof access === "string" ? { keys: "any" as const, scopes: [`${access}.${verb}`] } : access(verb);
    return { tag, method, path, access: own };
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
