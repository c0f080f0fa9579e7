import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  getTableName,
  gt,
  inArray,
  is,
  isNotNull,
  isNull,
  lt,
  or,
  SQL,
  sql,
} from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, toStatement, type Written } from "./client.ts";

/** Whose rows a statement may touch. */
export interface Tenant {
  readonly organisationId: string;
  /** Null: every workspace of the organisation. */
  readonly workspaceId: string | null;
}

/** Values that another query gives. */
export type Values = SQL;

/** Rows with these values; a list means any of them, null means no value. */
export type Filter<Row> = { readonly [Name in keyof Row]?: Row[Name] | readonly Row[Name][] | Values };

/** A read that has not run yet: `readTogether` runs it. */
interface Query<Row> {
  readonly orm: Database["orm"];
  readonly statement: BatchItem<"sqlite">;
  /** Only for the compiler: what the read gives. */
  readonly row?: Row;
}

/** Rows of each read, in the same order. */
type RowsOf<Queries extends readonly Query<unknown>[]> = {
  -readonly [Index in keyof Queries]: Queries[Index] extends Query<infer Row> ? Row[] : never;
};

/** Runs reads in one transaction, so that what they give fits together. */
export async function readTogether<const Queries extends readonly [Query<unknown>, ...Query<unknown>[]]>(
  queries: Queries,
): Promise<RowsOf<Queries>> {
  const [first, ...others] = queries;
  const results = await first.orm.batch([first.statement, ...others.map(({ statement }) => statement)]);
  // each query was made by a store whose rows have the type it names
  return results as unknown as RowsOf<Queries>;
}

/** New values of a row; what is undefined stays as it is. */
type Changes<NewRow> = { readonly [Name in keyof NewRow]?: NewRow[Name] | undefined };

/** Texts by column. */
type Texts<Row> = { readonly [Name in keyof Row]?: string | undefined };

/** Which rows a list shows. */
export interface ListOptions<Row> {
  where?: Filter<Row> | undefined;
  /** Letters a text column must hold, as they are written. */
  contains?: Texts<Row> | undefined;
  /** As `where` and `contains`, whatever the case of ASCII letters. */
  anyCase?: { equals?: Texts<Row> | undefined; contains?: Texts<Row> | undefined } | undefined;
  /** Columns that must have a value. */
  present?: readonly (keyof Row)[] | undefined;
  /** Letters one of these text columns must hold, in either case. */
  search?: { columns: readonly (keyof Row)[]; text: string } | undefined;
  /** Members a column with a JSON object must have. */
  members?: { column: keyof Row; values: Readonly<Record<string, string>> } | undefined;
  /** Bounds of a number column, `from` inclusive, `to` exclusive. */
  between?: { column: keyof Row; from?: number | undefined; to?: number | undefined } | undefined;
  /** Rows of the organisation itself too, where the tenant is one workspace. */
  includeOrganisation?: boolean;
  page?: { offset: number; limit: number } | undefined;
}

/** Every statement on a table whose rows belong to a tenant. Each one names the tenant's columns. */
export interface TenantStore<Row, NewRow> {
  /** What its statements say they write; undefined where each row says it. */
  readonly resource: string | undefined;
  /** Rows of a page, newest first, and how many there are in all. */
  list(tenant: Tenant, options?: ListOptions<Row>): Promise<{ rows: Row[]; total: number }>;
  /** All rows, newest first. */
  all(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Promise<Row[]>;
  /** As `all`, to be run with others. */
  query(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Query<Row>;
  /** Values of a column, for the filter of another query. */
  values(tenant: Tenant, column: keyof Row, where?: Filter<Row>): Values;
  /** How many rows there are. */
  count(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Promise<number>;
  find(
    tenant: Tenant,
    where: Filter<Row>,
    options?: Pick<ListOptions<Row>, "includeOrganisation">,
  ): Promise<Row | undefined>;
  /** The row with this id or, where the table has slugs, this slug. */
  get(
    tenant: Tenant,
    idOrSlug: string,
    options?: Pick<ListOptions<Row>, "includeOrganisation">,
  ): Promise<Row | undefined>;
  /** @throws {TypeError} If the row is not the tenant's. */
  insert(tenant: Tenant, row: NewRow): Required<Statement>;
  /** As `insert`; a row with the same primary key is replaced. For tables without another key. */
  put(tenant: Tenant, row: NewRow): Required<Statement>;
  /** Absent members stay as they are. */
  update(tenant: Tenant, where: Filter<Row>, changes: Changes<NewRow>): Required<Statement>;
  remove(tenant: Tenant, where: Filter<Row>): Required<Statement>;
}

/** A table every row of which names its organisation. */
type TenantTable = SQLiteTable & { organisationId: SQLiteColumn };

/** Longest list whose values are bound one by one: far below what a statement may bind. */
const maxBound = 10_000;

function toCondition(column: SQLiteColumn, value: unknown): SQL {
  if (value === null) return isNull(column);
  if (is(value, SQL)) return inArray(column, value);
  if (Array.isArray(value)) {
    // a longer one is bound as one text, so that no number of records keeps others from being read
    if (value.length > maxBound) return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(value)}))`;
    return inArray(column, value);
  }
  return eq(column, value);
}

/** A pattern that means these letters and nothing else. */
function toPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

function listTexts(texts: object | undefined): [string, string][] {
  return Object.entries(texts ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** Columns that say what `written` of a statement needs, where they have other names than usual. */
interface StoreOptions<Row> {
  /** Column with the workspace a row is of. Default `workspaceId`, where the table has it. */
  workspace?: keyof Row & string;
  /** Column with the kind of record a row is a part of; without it, that is the table's name. */
  kind?: keyof Row & string;
}

/** Strings a filter or a row has for a column; undefined if one of them is not given. */
function textsOf(values: object, name: string): string[] | undefined {
  const value: unknown = Reflect.get(values, name);
  const list = Array.isArray(value) ? value : [value];
  return list.every((one) => typeof one === "string") ? list : undefined;
}

/** Creates what says of the statements on a table what they write. */
function createWrittenReader(table: TenantTable, { workspace = "workspaceId", kind }: StoreOptions<never>) {
  const hasWorkspaces = workspace in getTableColumns(table);
  const name = getTableName(table);
  const everything = "*";
  const resourceOf = (values: object): string => {
    if (kind === undefined) return name;
    const kinds = textsOf(values, kind);
    return kinds?.length === 1 ? (kinds[0] ?? everything) : everything;
  };
  const workspaceOf = (values: object): string | null | undefined => {
    if (!hasWorkspaces) return undefined;
    const value: unknown = Reflect.get(values, workspace);
    return typeof value === "string" || value === null ? value : undefined;
  };
  return {
    resource: kind === undefined ? name : undefined,
    /** Of a new row. */
    ofRow: (row: object): Written => ({
      resource: resourceOf(row),
      workspaceId: hasWorkspaces ? (workspaceOf(row) ?? null) : undefined,
      recordIds: textsOf(row, "id"),
    }),
    /** Of the rows of a tenant that a filter finds, and that may become another workspace's. */
    ofFilter(tenant: Tenant, filter: object, changes: object = {}): Written {
      const isMoved = hasWorkspaces && Reflect.get(changes, workspace) !== undefined;
      const own = "workspaceId" === workspace && hasWorkspaces ? tenant.workspaceId : null;
      const workspaceId = isMoved ? undefined : (own ?? workspaceOf(filter));
      return { resource: resourceOf(filter), workspaceId, recordIds: textsOf(filter, "id") };
    },
  };
}

/** Creates what says which rows of a table a statement touches. */
function createConditions<Row>(table: TenantTable) {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  const columnOf = (name: PropertyKey): SQLiteColumn => {
    const column = columns[String(name)];
    if (!column) throw new TypeError(`Cannot use column ${String(name)}: the table has none`);
    return column;
  };
  const ofTenant = ({ organisationId, workspaceId }: Tenant, withOrganisation = false): SQL | undefined => {
    const organisation = eq(table.organisationId, organisationId);
    const column = columns.workspaceId;
    if (workspaceId === null || !column) return organisation;
    const workspace = eq(column, workspaceId);
    return and(organisation, withOrganisation ? or(workspace, isNull(column)) : workspace);
  };
  const matching = (filter: Filter<Row> | undefined): SQL[] =>
    Object.entries(filter ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => toCondition(columnOf(name), value));
  const where = (tenant: Tenant, options: ListOptions<Row> = {}): SQL | undefined => {
    const { contains, between, anyCase = {}, present = [], search, members } = options;
    return and(
      ofTenant(tenant, options.includeOrganisation),
      ...matching(options.where),
      ...listTexts(contains).map(
        ([name, text]) =>
          sql`${columnOf(name)} LIKE ${toPattern(text)} ESCAPE '\\' AND instr(${columnOf(name)}, ${text}) > 0`,
      ),
      search && or(...search.columns.map((name) => sql`${columnOf(name)} LIKE ${toPattern(search.text)} ESCAPE '\\'`)),
      ...Object.entries(members?.values ?? {}).map(
        ([name, value]) =>
          sql`EXISTS (SELECT 1 FROM json_each(${columnOf(members?.column ?? "")}) AS member WHERE member.key = ${name} AND member.value = ${value})`,
      ),
      ...listTexts(anyCase.equals).map(([name, text]) => sql`lower(${columnOf(name)}) = lower(${text})`),
      ...listTexts(anyCase.contains).map(([name, text]) => sql`${columnOf(name)} LIKE ${toPattern(text)} ESCAPE '\\'`),
      ...present.map((name) => isNotNull(columnOf(name))),
      between?.from === undefined ? undefined : gt(columnOf(between.column), between.from - 1),
      between?.to === undefined ? undefined : lt(columnOf(between.column), between.to),
    );
  };
  return { columns, columnOf, ofTenant, matching, where };
}

/** Creates the writing statements on a table. */
function createWrites<Table extends TenantTable>(
  { orm }: Pick<Database, "orm">,
  table: Table,
  options: StoreOptions<Table["$inferSelect"]>,
): Pick<
  TenantStore<Table["$inferSelect"], Table["$inferInsert"]>,
  "resource" | "insert" | "put" | "update" | "remove"
> {
  const { resource, ofRow, ofFilter } = createWrittenReader(table, options);
  const { columns, ofTenant, matching } = createConditions<Table["$inferSelect"]>(table);
  const requireOwn = (tenant: Tenant, row: Table["$inferInsert"]): Table["$inferInsert"] => {
    const { organisationId, workspaceId } = row as { organisationId?: unknown; workspaceId?: unknown }; // every such table has the first, some the second
    const foreign = tenant.workspaceId !== null && columns.workspaceId && workspaceId !== tenant.workspaceId;
    if (organisationId !== tenant.organisationId || foreign)
      throw new TypeError("Cannot write a row of another tenant");
    return row;
  };
  return {
    resource,
    insert: (tenant, row) => ({
      ...toStatement(orm.insert(table).values(requireOwn(tenant, row))),
      written: ofRow(row),
    }),
    put(tenant, row) {
      const statement = toStatement(orm.insert(table).values(requireOwn(tenant, row)));
      const text = statement.sql.replace(/^insert into/, "insert or replace into");
      return { ...statement, sql: text, written: ofRow(row) };
    },
    update: (tenant, filter, changes) => ({
      ...toStatement(
        orm
          .update(table)
          .set(changes as Record<string, never>) // members of the table's own row type
          .where(and(ofTenant(tenant), ...matching(filter))),
      ),
      written: ofFilter(tenant, filter, changes),
    }),
    remove: (tenant, filter) => ({
      ...toStatement(orm.delete(table).where(and(ofTenant(tenant), ...matching(filter)))),
      written: ofFilter(tenant, filter),
    }),
  };
}

/** Creates the store of a table. The only place that builds statements on tables of tenants. */
export function createTenantStore<Table extends TenantTable>(
  database: Database,
  table: Table,
  options: StoreOptions<Table["$inferSelect"]> = {},
): TenantStore<Table["$inferSelect"], Table["$inferInsert"]> {
  type Row = Table["$inferSelect"];
  const { orm } = database;
  const { columns, columnOf, where } = createConditions<Row>(table);
  const order = [columns.createdAt ?? columns.seq, columns.id ?? columns.slug].filter((column) => column !== undefined);

  const build = (tenant: Tenant, options: ListOptions<Row>) =>
    orm
      .select()
      .from(table)
      .where(where(tenant, options))
      .orderBy(...order.map((column, index) => (index === 0 ? desc(column) : asc(column))));
  const select = async (tenant: Tenant, options: ListOptions<Row>): Promise<Row[]> => {
    const query = build(tenant, options);
    const { page } = options;
    // drizzle gives rows of the table it was asked for; it loses that through the type parameter
    return (await (page ? query.limit(page.limit).offset(page.offset) : query)) as Row[];
  };
  const countRows = async (tenant: Tenant, options: ListOptions<Row> = {}): Promise<number> => {
    const [row] = await orm.select({ total: count() }).from(table).where(where(tenant, options));
    return row?.total ?? 0;
  };
  const first = async (rows: Promise<Row[]>): Promise<Row | undefined> => (await rows)[0];
  const one = { offset: 0, limit: 1 };

  return {
    ...createWrites(database, table, options),
    async list(tenant, options = {}) {
      return { rows: await select(tenant, options), total: await countRows(tenant, options) };
    },
    all: (tenant, options = {}) => select(tenant, options),
    query: (tenant, options = {}) => ({ orm, statement: build(tenant, options) }),
    values: (tenant, column, filter) =>
      sql`${orm
        .select({ value: columnOf(column) })
        .from(table)
        .where(where(tenant, { where: filter }))}`,
    count: countRows,
    find: (tenant, filter, options = {}) => first(select(tenant, { ...options, where: filter, page: one })),
    async get(tenant, idOrSlug, options = {}) {
      const byName = (name: string) =>
        first(select(tenant, { ...options, where: { [name]: idOrSlug } as Filter<Row>, page: one })); // the name is one of the table's
      return (await byName("id")) ?? (columns.slug ? byName("slug") : undefined);
    },
  };
}
