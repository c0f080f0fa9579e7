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
  not,
  or,
  SQL,
  sql,
} from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Statement, toStatement, type Written } from "./client.ts";

/** The tenant whose rows a statement may touch. */
export interface Tenant {
  readonly organisationId: string;
  /** Null: every workspace of the organisation. */
  readonly workspaceId: string | null;
}

/** Values that another query gives. */
export type Values = SQL;

/** Rows with these values; a list matches any of its values, null matches rows without a value. */
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

/** New values of a row; undefined leaves a value unchanged. */
type Changes<NewRow> = { readonly [Name in keyof NewRow]?: NewRow[Name] | undefined };

/** Strings by column. */
type Strings<Row> = { readonly [Name in keyof Row]?: string | undefined };

/** Selects the rows of a list. */
export interface ListOptions<Row> {
  where?: Filter<Row> | undefined;
  /** Leaves out rows with any of these values. For columns that are never null. */
  except?: Filter<Row> | undefined;
  /** Substrings that text columns must contain. */
  contains?: Strings<Row> | undefined;
  /** As `where` and `contains`, ignoring the case of ASCII letters. */
  anyCase?: { equals?: Strings<Row> | undefined; contains?: Strings<Row> | undefined } | undefined;
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
  /** What its statements say they write; undefined where each row says it. */
  readonly resource: string | undefined;
  /** Rows of a page, newest first, and the total number. */
  list(tenant: Tenant, options?: ListOptions<Row>): Promise<{ rows: Row[]; total: number }>;
  /** All rows, newest first. */
  all(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Promise<Row[]>;
  /** As `all`, to be run with others. */
  query(tenant: Tenant, options?: Omit<ListOptions<Row>, "page">): Query<Row>;
  /** Values of a column, for the filter of another query. */
  values(tenant: Tenant, column: keyof Row, where?: Filter<Row>): Values;
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
  insert(tenant: Tenant, row: NewRow): Required<Statement>;
  /** As `insert`, but replaces a row with the same primary key. For tables without other unique columns. */
  put(tenant: Tenant, row: NewRow): Required<Statement>;
  /** Absent fields stay unchanged. */
  update(tenant: Tenant, where: Filter<Row>, changes: Changes<NewRow>): Required<Statement>;
  remove(tenant: Tenant, where: Filter<Row>): Required<Statement>;
}

/** A table whose rows all name their organisation. */
type TenantTable = SQLiteTable & { organisationId: SQLiteColumn };

/** Longest list whose values are bound separately: far below the limit for one statement. */
const maxBound = 10_000;

function toCondition(column: SQLiteColumn, value: unknown): SQL {
  if (value === null) return isNull(column);
  if (is(value, SQL)) return inArray(column, value);
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

function givenStrings(strings: object | undefined): [string, string][] {
  return Object.entries(strings ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** Columns that say what `written` of a statement needs, where they have other names than usual. */
interface StoreOptions<Row> {
  /** Column with the workspace a row is of. Default `workspaceId`, where the table has it. */
  workspace?: keyof Row & string;
  /** Column with the kind of record a row is a part of; without it, that is the table's name. */
  kind?: keyof Row & string;
}

/** Strings a filter or a row has for a column; undefined if one of them is not given. */
function stringsOf(values: object, name: string): string[] | undefined {
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
    const kinds = stringsOf(values, kind);
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
      recordIds: stringsOf(row, "id"),
    }),
    /** Of the rows of a tenant that a filter finds, and that may become another workspace's. */
    ofFilter(tenant: Tenant, filter: object, changes: object = {}): Written {
      const isMoved = hasWorkspaces && Reflect.get(changes, workspace) !== undefined;
      const own = "workspaceId" === workspace && hasWorkspaces ? tenant.workspaceId : null;
      const workspaceId = isMoved ? undefined : (own ?? workspaceOf(filter));
      return { resource: resourceOf(filter), workspaceId, recordIds: stringsOf(filter, "id") };
    },
  };
}

const one = { offset: 0, limit: 1 };

/** The store of one table. No other code builds statements on tenants' tables. */
class TableStore<Table extends TenantTable> implements TenantStore<Table["$inferSelect"], Table["$inferInsert"]> {
  readonly #database: Database;
  readonly #table: Table;
  readonly #columns: Readonly<Record<string, SQLiteColumn>>;
  readonly #order: readonly SQLiteColumn[];
  readonly #written: ReturnType<typeof createWrittenReader>;
  readonly resource: string | undefined;

  constructor(database: Database, table: Table, options: StoreOptions<Table["$inferSelect"]>) {
    this.#written = createWrittenReader(table, options);
    this.resource = this.#written.resource;
    this.#database = database;
    this.#table = table;
    const columns: Record<string, SQLiteColumn> = getTableColumns(table);
    this.#columns = columns;
    const order = [columns.createdAt ?? columns.seq, columns.id ?? columns.slug];
    this.#order = order.filter((column) => column !== undefined);
  }

  async list(tenant: Tenant, options: ListOptions<Table["$inferSelect"]> = {}) {
    return { rows: await this.#select(tenant, options), total: await this.count(tenant, options) };
  }

  all(tenant: Tenant, options: ListOptions<Table["$inferSelect"]> = {}): Promise<Table["$inferSelect"][]> {
    return this.#select(tenant, options);
  }

  query(tenant: Tenant, options: ListOptions<Table["$inferSelect"]> = {}): Query<Table["$inferSelect"]> {
    return { orm: this.#database.orm, statement: this.#build(tenant, options) };
  }

  values(tenant: Tenant, column: keyof Table["$inferSelect"], where?: Filter<Table["$inferSelect"]>): Values {
    const selected = this.#database.orm.select({ value: this.#columnOf(column) }).from(this.#table);
    return sql`${selected.where(this.#where(tenant, { where }))}`;
  }

  async count(tenant: Tenant, options: ListOptions<Table["$inferSelect"]> = {}): Promise<number> {
    const counted = this.#database.orm.select({ total: count() }).from(this.#table);
    const [row] = await counted.where(this.#where(tenant, options));
    return row?.total ?? 0;
  }

  async find(
    tenant: Tenant,
    filter: Filter<Table["$inferSelect"]>,
    options: Pick<ListOptions<Table["$inferSelect"]>, "includeOrganisation"> = {},
  ): Promise<Table["$inferSelect"] | undefined> {
    const [row] = await this.#select(tenant, { ...options, where: filter, page: one });
    return row;
  }

  async get(
    tenant: Tenant,
    idOrSlug: string,
    options: Pick<ListOptions<Table["$inferSelect"]>, "includeOrganisation"> = {},
  ): Promise<Table["$inferSelect"] | undefined> {
    // the names are the table's
    const byName = (name: string) => this.find(tenant, { [name]: idOrSlug } as Filter<Table["$inferSelect"]>, options);
    return (await byName("id")) ?? (this.#columns.slug ? byName("slug") : undefined);
  }

  insert(tenant: Tenant, row: Table["$inferInsert"]): Required<Statement> {
    const statement = toStatement(this.#database.orm.insert(this.#table).values(this.#requireOwn(tenant, row)));
    return { ...statement, written: this.#written.ofRow(row) };
  }

  put(tenant: Tenant, row: Table["$inferInsert"]): Required<Statement> {
    const statement = this.insert(tenant, row);
    return { ...statement, sql: statement.sql.replace(/^insert into/, "insert or replace into") };
  }

  update(
    tenant: Tenant,
    filter: Filter<Table["$inferSelect"]>,
    changes: Changes<Table["$inferInsert"]>,
  ): Required<Statement> {
    // properties of the table's row type
    const update = this.#database.orm.update(this.#table).set(changes as Record<string, never>);
    const statement = toStatement(update.where(and(this.#ofTenant(tenant), ...this.#matching(filter))));
    return { ...statement, written: this.#written.ofFilter(tenant, filter, changes) };
  }

  remove(tenant: Tenant, filter: Filter<Table["$inferSelect"]>): Required<Statement> {
    const where = and(this.#ofTenant(tenant), ...this.#matching(filter));
    const statement = toStatement(this.#database.orm.delete(this.#table).where(where));
    return { ...statement, written: this.#written.ofFilter(tenant, filter) };
  }

  #columnOf(name: PropertyKey): SQLiteColumn {
    const column = this.#columns[String(name)];
    if (!column) throw new TypeError(`Cannot use column ${String(name)}: the table does not have it`);
    return column;
  }

  #ofTenant({ organisationId, workspaceId }: Tenant, withOrganisation = false): SQL | undefined {
    const organisation = eq(this.#table.organisationId, organisationId);
    const column = this.#columns.workspaceId;
    if (workspaceId === null || !column) return organisation;
    const workspace = eq(column, workspaceId);
    return and(organisation, withOrganisation ? or(workspace, isNull(column)) : workspace);
  }

  #matching(filter: Filter<Table["$inferSelect"]> | undefined): SQL[] {
    return Object.entries(filter ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => toCondition(this.#columnOf(name), value));
  }

  /** Rows whose column contains a substring, ignoring the case of ASCII letters. */
  #holds(name: PropertyKey, text: string): SQL {
    return sql`${this.#columnOf(name)} LIKE ${toPattern(text)} ESCAPE '\\'`;
  }

  #where(tenant: Tenant, options: ListOptions<Table["$inferSelect"]>): SQL | undefined {
    const { contains, between, anyCase = {}, present = [], search, members } = options;
    return and(
      this.#ofTenant(tenant, options.includeOrganisation),
      ...this.#matching(options.where),
      ...this.#matching(options.except).map(not),
      ...givenStrings(contains).map(
        ([name, text]) => sql`${this.#holds(name, text)} AND instr(${this.#columnOf(name)}, ${text}) > 0`,
      ),
      search && or(...search.columns.map((name) => this.#holds(name, search.text))),
      ...Object.entries(members?.values ?? {}).map(
        ([name, value]) =>
          sql`EXISTS (SELECT 1 FROM json_each(${this.#columnOf(members?.column ?? "")}) AS member WHERE member.key = ${name} AND member.value = ${value})`,
      ),
      ...givenStrings(anyCase.equals).map(([name, text]) => sql`lower(${this.#columnOf(name)}) = lower(${text})`),
      ...givenStrings(anyCase.contains).map(([name, text]) => this.#holds(name, text)),
      ...present.map((name) => isNotNull(this.#columnOf(name))),
      between?.from === undefined ? undefined : gt(this.#columnOf(between.column), between.from - 1),
      between?.to === undefined ? undefined : lt(this.#columnOf(between.column), between.to),
    );
  }

  #build(tenant: Tenant, options: ListOptions<Table["$inferSelect"]>) {
    return this.#database.orm
      .select()
      .from(this.#table)
      .where(this.#where(tenant, options))
      .orderBy(...this.#order.map((column, index) => (index === 0 ? desc(column) : asc(column))));
  }

  async #select(tenant: Tenant, options: ListOptions<Table["$inferSelect"]>): Promise<Table["$inferSelect"][]> {
    const query = this.#build(tenant, options);
    const { page } = options;
    // drizzle returns rows of the given table; the type parameter loses that
    return (await (page ? query.limit(page.limit).offset(page.offset) : query)) as Table["$inferSelect"][];
  }

  #requireOwn(tenant: Tenant, row: Table["$inferInsert"]): Table["$inferInsert"] {
    // every such table has the first column, some the second
    const { organisationId, workspaceId } = row as { organisationId?: unknown; workspaceId?: unknown };
    const foreign = tenant.workspaceId !== null && this.#columns.workspaceId && workspaceId !== tenant.workspaceId;
    if (organisationId !== tenant.organisationId || foreign) {
      throw new TypeError("Cannot write a row of another tenant");
    }
    return row;
  }
}

/** Creates the store of a table. */
export function createTenantStore<Table extends TenantTable>(
  database: Database,
  table: Table,
  options: StoreOptions<Table["$inferSelect"]> = {},
): TenantStore<Table["$inferSelect"], Table["$inferInsert"]> {
  return new TableStore(database, table, options);
}
