import { and, asc, eq, gt } from "drizzle-orm";
import { type Database, toStatement } from "../client.ts";
import { configVersions } from "../tables/configs.ts";
import { guardrailVersions } from "../tables/guardrails.ts";
import { installation } from "../tables/installation.ts";
import { type IntegrationRow, integrations } from "../tables/integrations.ts";
import { type McpIntegrationRow, mcpIntegrations } from "../tables/mcp.ts";
import { type SecretRow, secrets } from "../tables/secrets.ts";

/** A version of a config or guardrail, of any organisation. */
interface StoredVersion {
  id: string;
  organisationId: string;
  workspaceId: string | null;
  content: string;
}

type SealedColumns = Pick<IntegrationRow, "configurations" | "masked">;

/** What is sealed once: contents, addresses of MCP integrations, and settings of integrations. */
type SealingStep = "contents" | "addresses" | "integrations";

/** Runs at start, for all organisations: reads contents and settings so that secrets in them can be sealed. */
export interface ContentSealingStore {
  isDone(step: SealingStep): Promise<boolean>;
  markDone(step: SealingStep, now: number): Promise<void>;
  /** Versions ordered by id, after one of them. */
  versions(kind: "configs" | "guardrails", after: string, limit: number): Promise<StoredVersion[]>;
  /** Replaces a content and its sealed secrets, unless it changed meanwhile. */
  replaceContent(
    kind: "configs" | "guardrails",
    content: { id: string; from: string; to: string },
    sealed: readonly SecretRow[],
  ): Promise<void>;
  /** Integrations ordered by id, after one of them. */
  integrations(after: string, limit: number): Promise<IntegrationRow[]>;
  replaceConfigurations(
    row: IntegrationRow,
    columns: { configurations: Record<string, unknown>; masked: Record<string, unknown> },
    sealed: readonly SecretRow[],
  ): Promise<void>;
  /** MCP integrations ordered by id, after one of them. */
  mcpIntegrations(after: string, limit: number): Promise<McpIntegrationRow[]>;
  /** Replaces the address of an integration by its mask, unless it changed meanwhile. */
  replaceAddress(row: McpIntegrationRow, shown: string, sealed: SecretRow): Promise<void>;
}

const markOf = (step: SealingStep): string => `${step}-sealed`;

/** The store over libSQL. */
export function createContentSealingStore(database: Database): ContentSealingStore {
  const { orm } = database;
  // another process may seal the same row: the secrets of the last writer belong to the same content
  const insert = (row: SecretRow) => {
    const statement = toStatement(orm.insert(secrets).values(row));
    return { ...statement, sql: statement.sql.replace(/^insert into/, "insert or replace into") };
  };
  return {
    async isDone(step) {
      const rows = await orm
        .select()
        .from(installation)
        .where(eq(installation.name, markOf(step)))
        .limit(1);
      return rows.length > 0;
    },
    async markDone(step, now) {
      const row = { name: markOf(step), value: "1", createdAt: now };
      await database.write([toStatement(orm.insert(installation).values(row).onConflictDoNothing())]);
    },
    versions(kind, after, limit) {
      const table = kind === "configs" ? configVersions : guardrailVersions;
      return orm.select().from(table).where(gt(table.id, after)).orderBy(asc(table.id)).limit(limit);
    },
    async replaceContent(kind, { id, from, to }, sealed) {
      const table = kind === "configs" ? configVersions : guardrailVersions;
      const isSame = and(eq(table.id, id), eq(table.content, from));
      await database.write([...sealed.map(insert), toStatement(orm.update(table).set({ content: to }).where(isSame))]);
    },
    integrations(after, limit) {
      const { id } = integrations;
      return orm.select().from(integrations).where(gt(id, after)).orderBy(asc(id)).limit(limit);
    },
    async replaceConfigurations({ id }, columns, sealed) {
      const changes = columns as SealedColumns; // the values come from JSON columns
      await database.write([
        ...sealed.map(insert),
        toStatement(orm.update(integrations).set(changes).where(eq(integrations.id, id))),
      ]);
    },
    mcpIntegrations(after, limit) {
      const { id } = mcpIntegrations;
      return orm.select().from(mcpIntegrations).where(gt(id, after)).orderBy(asc(id)).limit(limit);
    },
    async replaceAddress({ id, url }, shown, sealed) {
      const isSame = and(eq(mcpIntegrations.id, id), eq(mcpIntegrations.url, url));
      const statement = insert(sealed);
      // the secret of a changed address must stay
      const guarded = statement.sql.replace(
        / values \((.*)\)$/,
        " select $1 where exists (select 1 from mcp_integrations where id = ? and url = ?)",
      );
      await database.write([
        { ...statement, sql: guarded, args: [...(statement.args ?? []), id, url] },
        toStatement(orm.update(mcpIntegrations).set({ url: shown }).where(isSame)),
      ]);
    },
  };
}
