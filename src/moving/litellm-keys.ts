import { clientScopes, type MoveDraft, mayStay, resetOf } from "./draft.ts";
import { type NameLists, noModels } from "./litellm-access.ts";
import { variable } from "./litellm-place.ts";
import { Source } from "./source.ts";

// Columns: `LiteLLM_VerificationToken` in https://github.com/BerriAI/litellm/blob/main/schema.prisma

type Fields = Record<string, unknown>;

/** Columns that say nothing of what a key may do. */
const plainColumns = (
  "token key_name created_at updated_at created_by updated_by last_active soft_budget_cooldown model_spend " +
  "budget_reset_at rotation_count last_rotation_at user_id"
).split(" ");

const reasons = {
  left: {
    team_id: "teams have no counterpart but their models: keys belong to the workspace",
    organization_id: "keys belong to the workspace",
    metadata: "give the key defaults.metadata: docs/control-plane.md",
    max_parallel_requests: "rate limits count requests and tokens: docs/policies.md",
    aliases: "add model aliases: docs/model-aliases.md",
    permissions: "scopes of the key: docs/control-plane.md",
    allowed_routes: "scopes of the key: docs/control-plane.md",
    allowed_cache_controls: "settings of the cache: docs/cache.md",
    model_max_budget: "budgets of model aliases: docs/model-aliases.md",
    budget_id: "name the budget on the key: docs/policies.md",
  },
};

/** Whether a cell of a table says anything. */
const isGiven = (cell: unknown): boolean => !["", "{}", "[]", "f", "false", "null"].includes(textOfCell(cell));

const textOfCell = (cell: unknown): string => (typeof cell === "string" ? cell : JSON.stringify(cell ?? null));

function readKey(draft: MoveDraft, row: Source, { index, lists }: { index: number; lists: NameLists }): void {
  const name = row.text("key_alias") || row.text("key_name") || `LiteLLM key ${index + 1}`;
  if (row.take("blocked") !== undefined) return void draft.note("left", `${row.path} ${name}`, "is blocked");
  const [max, spend, reset] = [
    row.number("max_budget"),
    row.number("spend") ?? 0,
    resetOf(row.take("budget_duration")),
  ];
  const limit = max === undefined ? undefined : reset ? max : Math.round((max - spend) * 1e6) / 1e6;
  if (limit !== undefined && limit <= 0)
    return void draft.note("left", `${row.path} ${name}`, `has spent its budget: ${spend} of ${max} dollars`);
  const models = lists.read(row);
  if (models === "unknown")
    return void draft.note("left", `${row.path} ${name}`, "has the models of its team: give the teams with --teams");
  const rates = [
    ["requests", row.number("rpm_limit")],
    ["tokens", row.number("tpm_limit")],
  ] as const;
  const list = rates.flatMap(([type, value]) =>
    value === undefined ? [] : [{ type, unit: "rpm", value: Math.floor(value) }],
  );
  const secret = row.text("key");
  const stays = secret !== undefined && mayStay(secret);
  const expires = row.text("expires");
  draft.record("keys", name, {
    scopes: clientScopes,
    ...(limit !== undefined && { usage_limits: { type: "cost", credit_limit: limit, ...reset } }),
    ...(list.length > 0 && { rate_limits: list }),
    ...(models && { allowed_models: models }),
    ...(expires && { expires_at: expires.replace(/^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}).*$/, "$1T$2Z") }),
    ...(stays && { key: draft.secret(secret, variable, `LITELLM_KEY_${index + 1}`) }),
  });
  draft.note(
    stays ? "made" : "changed",
    `key ${name}`,
    stays ? "clients stay" : "LiteLLM stores a digest alone: clients get a new key",
  );
  if (limit !== undefined && !reset && spend > 0)
    draft.note("changed", `key ${name}: max_budget`, `${limit} dollars are left of it`);
  if (models) draft.note("made", `key ${name}: models`, models === noModels ? "none" : models.join(", "));
  row.ignore(...plainColumns);
  draft.noteUnread(row, reasons);
}

/** A row of a table without the cells that say nothing. */
function toSource(row: Fields, path: string): Source {
  return new Source(Object.fromEntries(Object.entries(row).filter(([, cell]) => isGiven(cell))), path);
}

/** Tables of an export. */
export interface LitellmTables {
  /** Rows of `LiteLLM_VerificationToken`. */
  readonly keys?: readonly Fields[];
  /** Rows of `LiteLLM_TeamTable`. */
  readonly teams?: readonly Fields[];
}

/** Columns of teams that say nothing of what their keys may do. */
const plainTeamColumns = "team_id team_alias admins members members_with_roles created_at updated_at spend".split(" ");

/** Virtual keys of an export. @param lists What their lists of models stand for. */
export function readLitellmKeys(draft: MoveDraft, { keys = [], teams = [] }: LitellmTables, lists: NameLists): void {
  for (const [index, team] of teams.entries()) {
    const row = toSource(team, `teams.${index}`);
    lists.addTeam(row);
    row.ignore(...plainTeamColumns);
    draft.noteUnread(row, reasons);
  }
  for (const [index, key] of keys.entries()) readKey(draft, toSource(key, `keys.${index}`), { index, lists });
}
