import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, toStatement } from "./client.ts";

/** The tenant whose rows a statement may touch. */
export interface Tenant {
  readonly organisationId: string;
  /** Null: every workspace of the organisation. */
  readonly workspaceId: string | null;
}

/** Rows with these values; a list matches any of its values, null matches rows without a value. */
export type Filter<Row> = { readonly [Name in keyof Row]?: Row[Name] | readonly Row[Name][] };

/** New values of a row; undefined leaves a value unchanged. */
type Changes<NewRow> = { readonly [Name in keyof NewRow]?: NewRow[Name] | undefined };

/** Strings by column. */
type Texts<Row> = { readonly [Name in keyof Row]?: string | undefined };

/** Selects the rows of a list. */
export interface ListOptions<Row> {
  where?: Filter<Row> | undefined;
  /** Substrings that text columns must contain. */
  contains?: Texts<Row> | undefined;
  /** As `where` and `contains`, ignoring the case of ASCII letters. */
  anyCase?: { equals?: Texts<Row> | undefined; contains?: Texts<Row> | undefined } | undefined;
  /** Columns that must not be null. */
  present?: readonly (keyof Row)[] | undefined;
  /** A substring that one of these text columns must contain, ignoring case. */
  search?: { columns: readonly (keyof Row)[]; text: string } | undefined;
  /** Fields that a column with a JSON object must have. */
  members?: { column: keyof Row; values: Readonly<Record<string, string>> } | undefined;
  /** Bounds of a number column, `from` inclusive, `to` exclusive. */
  between?: { column: keyof Row; from?: number | undefined; to?: number | undefined } | undefined;
  /** Include rows of the organisation itself if the tenant is one workspace. */
  includeOrganisation?: boolean;
  page?: { offset: number; limit: number } | undefined;
}

/** All statements on a table whose rows belong to tenants. Each one names the tenant's columns. */
export interface TenantStore<Row, NewRow> {
  /** Rows of a page, newest first, and the total number. */
  list(tenant: Tenant, options?: ListOptions<Row>): Promise<{ rows: Row[]; total: number }>;
  /** All rows, newest first. */
  all(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Promise<Row[]>;
  /** The number of rows. */
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
  /** @throws {TypeError} If the row belongs to another tenant. */
  insert(tenant: Tenant, row: NewRow): Statement;
  /** As `insert`, but replaces a row with the same primary key. For tables without other unique columns. */
  put(tenant: Tenant, row: NewRow): Statement;
  /** Absent fields stay unchanged. */
  update(tenant: Tenant, where: Filter<Row>, changes: Changes<NewRow>): Statement;
  remove(tenant: Tenant, where: Filter<Row>): Statement;
}

/** A table whose rows all name their organisation. */
type TenantTable = SQLiteTable & { organisationId: SQLiteColumn };

/** Longest list whose values are bound separately: far below the limit for one statement. */
const maxBound = 10_000;

function toCondition(column: SQLiteColumn, value: unknown): SQL {
  if (value === null) return isNull(column);
  if (Array.isArray(value)) {
    // a longer list is bound as one JSON text, so that any number of records can be read
    if (value.length > maxBound) return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(value)}))`;
    return inArray(column, value);
  }
  return eq(column, value);
}

/** A pattern that matches a string literally. */
function toPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

function listTexts(texts: object | undefined): [string, string][] {
  return Object.entries(texts ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** Creates the store of a table. No other code builds statements on tenants' tables. */
export function createTenantStore<Table extends TenantTable>(
  database: Database,
  table: Table,
): TenantStore<Table["$inferSelect"], Table["$inferInsert"]> {
  type Row = Table["$inferSelect"];
  const { orm } = database;
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  const columnOf = (name: PropertyKey): SQLiteColumn => {
    const column = columns[String(name)];
    if (!column) throw new TypeError(`Cannot use column ${String(name)}: the table does not have it`);
    return column;
  };
  const order = [columns.createdAt ?? columns.seq, columns.id ?? columns.slug].filter((column) => column !== undefined);

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
  const select = async (tenant: Tenant, options: ListOptions<Row>): Promise<Row[]> => {
    const query = orm
      .select()
      .from(table)
      .where(where(tenant, options))
      .orderBy(...order.map((column, index) => (index === 0 ? desc(column) : asc(column))));
    const { page } = options;
    // drizzle returns rows of the given table; the type parameter loses that
    return (await (page ? query.limit(page.limit).offset(page.offset) : query)) as Row[];
  };
  const countRows = async (tenant: Tenant, options: ListOptions<Row> = {}): Promise<number> => {
    const [row] = await orm.select({ total: count() }).from(table).where(where(tenant, options));
    return row?.total ?? 0;
  };
  const requireOwn = (tenant: Tenant, row: Table["$inferInsert"]): Table["$inferInsert"] => {
    const { organisationId, workspaceId } = row as { organisationId?: unknown; workspaceId?: unknown }; // every such table has the first column, some the second
    const foreign = tenant.workspaceId !== null && columns.workspaceId && workspaceId !== tenant.workspaceId;
    if (organisationId !== tenant.organisationId || foreign)
      throw new TypeError("Cannot write a row of another tenant");
    return row;
  };
  const first = async (rows: Promise<Row[]>): Promise<Row | undefined> => (await rows)[0];
  const one = { offset: 0, limit: 1 };

  return {
    async list(tenant, options = {}) {
      return { rows: await select(tenant, options), total: await countRows(tenant, options) };
    },
    all: (tenant, options = {}) => select(tenant, options),
    count: countRows,
    find: (tenant, filter, options = {}) => first(select(tenant, { ...options, where: filter, page: one })),
    async get(tenant, idOrSlug, options = {}) {
      const byName = (name: string) =>
        first(select(tenant, { ...options, where: { [name]: idOrSlug } as Filter<Row>, page: one })); // the name is a column of the table
      return (await byName("id")) ?? (columns.slug ? byName("slug") : undefined);
    },
    insert: (tenant, row) => toStatement(orm.insert(table).values(requireOwn(tenant, row))),
    put(tenant, row) {
      const statement = toStatement(orm.insert(table).values(requireOwn(tenant, row)));
      return { ...statement, sql: statement.sql.replace(/^insert into/, "insert or replace into") };
    },
    update: (tenant, filter, changes) =>
      toStatement(
        orm
          .update(table)
          .set(changes as Record<string, never>) // properties of the table's row type
          .where(and(ofTenant(tenant), ...matching(filter))),
      ),
    remove: (tenant, filter) => toStatement(orm.delete(table).where(and(ofTenant(tenant), ...matching(filter)))),
  };
}
