import * as v from "valibot";
import { defaultKeyPrefix, mintApiKey } from "../auth/api-key.ts";
import { createAdminKeyRow, createOrganisationRows } from "../auth/first-start.ts";
import { type BrokenLog, verifyChain, verifyLogs } from "../control/audit-verify.ts";
import { repriceLogs } from "../control/reprice.ts";
import { type Database, isConflict, isLocalDatabase, openDatabase } from "../db/client.ts";
import type { AuditHead } from "../db/stores/audit.ts";
import { createControlStores } from "../db/stores/control.ts";
import { createInstallationStore } from "../db/stores/installation.ts";
import { createRepricingStore } from "../db/stores/repricing.ts";
import { plainIssues } from "../lib/issues.ts";
import { toPrintable } from "../lib/printable.ts";
import { Email, Name, Slug, Time } from "../schemas/control.ts";
import { backupCommands } from "./backup-commands.ts";
import { callCommands } from "./call-commands.ts";
import { type Command, type Outcome, UsageError, withDatabase } from "./command.ts";
import { describeCompletion } from "./completion.ts";
import { doctorCommand } from "./doctor-command.ts";
import { loadUsedSettings, nodeMac } from "./environment.ts";
import { evalCommands } from "./eval-commands.ts";
import { checkHealth } from "./health-command.ts";
import { importCommands } from "./import-commands.ts";
import { type LogsOptions, logFilterNames, showLogs } from "./logs-command.ts";
import { dropKey, listKeys, rotateKeys } from "./master-key-commands.ts";
import { updateModels } from "./models-command.ts";
import { readServedGateway } from "./served-gateway.ts";
import { stateCommands } from "./state-commands.ts";
import { describeVariables, listVariables } from "./variables-command.ts";

function readHead(text: string | undefined): AuditHead | undefined {
  if (text === undefined) return undefined;
  const [, seq, mac] = /^([1-9][0-9]{0,14}):([A-Za-z0-9_-]{43})$/.exec(text) ?? [];
  if (seq === undefined || mac === undefined)
    throw new UsageError("Cannot use --head: use <number>:<mac> from the process log");
  return { seq: Number(seq), mac };
}

function verifyAudit(
  { organisation, head: headText }: Readonly<Record<string, string | undefined>>,
  hasJson: boolean,
): Promise<Outcome> {
  const head = readHead(headText);
  if (head && organisation === undefined) throw new UsageError("Cannot use --head without --organisation");
  return withDatabase(async ({ database, installation }) => {
    const { audit, organisations, users } = createControlStores(database);
    const mac = nodeMac(installation.keys.audit);
    const hasUsers = async (id: string) => (await users.count({ organisationId: id, workspaceId: null })) > 0;
    if (organisation === undefined) {
      const known = (await organisations.listAll()).map(({ id }) => id);
      return toAuditOutcome(await verifyLogs(audit, known, { mac, hasUsers }), hasJson);
    }
    const isKnown = (await organisations.get(organisation)) ?? (await audit.organisations()).includes(organisation);
    if (!isKnown) throw new Error(`Cannot find organisation ${toPrintable(organisation)}`);
    const problem = await verifyChain(audit, organisation, { mac, head, hasUsers });
    return toAuditOutcome(problem === undefined ? [] : [{ organisationId: organisation, problem }], hasJson);
  });
}

function toAuditOutcome(broken: readonly BrokenLog[], hasJson: boolean): Outcome {
  const problems = broken.map(
    ({ organisationId = "unknown", problem }) => `Audit log of organisation ${toPrintable(organisationId)}: ${problem}`,
  );
  if (!hasJson) return { lines: [], problems };
  const shown = broken.map(({ organisationId, problem }) => ({ organisation_id: organisationId ?? null, problem }));
  return { lines: [JSON.stringify({ valid: broken.length === 0, broken: shown }, undefined, 2)], problems };
}

/** The value of an option. */
function readOption<Value>(
  name: string,
  text: string | undefined,
  schema: v.GenericSchema<string, Value>,
): Value | undefined {
  if (text === undefined) return undefined;
  const { success, output, issues } = v.safeParse(schema, text, plainIssues);
  if (success) return output;
  throw new UsageError(`Cannot use --${name}: it ${issues[0].message}`);
}

/** A slug from a name; empty if the name has no usable character. */
function toSlug(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{Mark}/gu, "");
  return plain
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 64);
}

function createOrganisation(values: Readonly<Record<string, string | undefined>>): Promise<Outcome> {
  const name = readOption("name", values.name, Name);
  if (name === undefined) throw new UsageError("Cannot create an organisation: --name is missing");
  const slug = readOption("slug", values.slug, Slug) ?? toSlug(name);
  if (slug === "") throw new UsageError("Cannot make a slug of this name: give one with --slug");
  const ownerEmail = readOption("owner-email", values["owner-email"], Email);
  return withDatabase(async ({ settings, database, installation }) => {
    const keyPrefix = settings.gateway.keyPrefix ?? defaultKeyPrefix;
    const adminKey = mintApiKey(keyPrefix).key;
    const workspaceKey = mintApiKey(keyPrefix).key;
    const rows = await createOrganisationRows({
      name,
      slug,
      adminKey,
      workspaceKey,
      keyPrefix,
      digest: nodeMac(installation.keys.pepper),
      now: Date.now(),
      ...(ownerEmail !== undefined && { ownerEmail }),
    });
    try {
      await createInstallationStore(database).writeOrganisation(rows);
    } catch (cause) {
      if (!isConflict(cause)) throw cause;
      throw new Error(`Cannot create the organisation: the slug "${slug}" is taken; give another with --slug`);
    }
    const ids = { organisation_id: rows.organisation.id, workspace_id: rows.workspace.id };
    return { lines: [JSON.stringify({ ...ids, admin_key: adminKey, workspace_key: workspaceKey })] };
  });
}

/** The id of the organisation named, or of the only one. */
async function findOrganisationId(database: Database, wanted: string | undefined): Promise<string> {
  const ids = (await createControlStores(database).organisations.listAll()).map(({ id }) => id);
  if (wanted === undefined && ids.length > 1) {
    throw new UsageError("Cannot choose among several organisations: give the id of one with --organisation");
  }
  const found = ids.find((id) => wanted === undefined || id === wanted);
  if (found !== undefined) return found;
  throw new Error(`Cannot find organisation ${toPrintable(wanted ?? "")}`);
}

function createAdminKey(organisation: string | undefined): Promise<Outcome> {
  return withDatabase(async ({ settings, database, installation }) => {
    const organisationId = await findOrganisationId(database, organisation);
    const keyPrefix = settings.gateway.keyPrefix ?? defaultKeyPrefix;
    const { key } = mintApiKey(keyPrefix);
    const digest = nodeMac(installation.keys.pepper);
    const row = await createAdminKeyRow(key, organisationId, { digest, keyPrefix, now: Date.now() });
    await createInstallationStore(database).writeKey(row);
    return { lines: [JSON.stringify({ organisation_id: organisationId, id: row.id, admin_key: key })] };
  });
}

function listOrganisations(): Promise<Outcome> {
  return withDatabase(async ({ database }) => {
    const rows = await createControlStores(database).organisations.listAll();
    const shown = rows.map(({ id, name, slug, createdAt }) => ({
      id,
      name,
      slug,
      created_at: new Date(createdAt).toISOString(),
    }));
    return { lines: [JSON.stringify(shown, undefined, 2)] };
  });
}

/** A time that an option must name. */
function readTime(name: string, text: string | undefined): number {
  const time = readOption(name, text, Time);
  if (time === undefined) throw new UsageError(`Cannot price log rows again: --${name} is missing`);
  return time;
}

function repricePrices(values: Readonly<Record<string, string | undefined>>, dryRun: boolean): Promise<Outcome> {
  const [from, to] = [readTime("from", values.from), readTime("to", values.to)];
  if (to <= from) throw new UsageError("Cannot use --to: it must be a time after --from");
  return withDatabase(async ({ database }) => {
    const summary = await repriceLogs(
      { from, to, model: values.model, dryRun },
      { store: createRepricingStore(database), stores: createControlStores(database), now: Date.now },
    );
    return { lines: [JSON.stringify(summary, undefined, 2)] };
  });
}

function readLogsOptions(
  { url, key, ...filters }: Readonly<Record<string, string | undefined>>,
  metadata: readonly string[],
): LogsOptions {
  const gateway = readServedGateway({ url, key }, "read logs");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    if (value !== undefined) query.set(name.replaceAll("-", "_"), value);
  for (const pair of metadata) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw new UsageError("Cannot use --metadata: write KEY=VALUE");
    query.append(`metadata.${name}`, value);
  }
  return { ...gateway, query };
}

/** Makes the file as small as its content, and lets it give back space from now on. */
async function compactStorage(): Promise<Outcome> {
  const { database: url } = loadUsedSettings();
  if (!isLocalDatabase(url)) {
    throw new TypeError("Cannot compact a remote database: its server decides about its files");
  }
  const database = await openDatabase({ url });
  try {
    const readBytes = async () => {
      const { rows } = await database.read(
        "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
      );
      return Number(rows[0]?.bytes);
    };
    const before = await readBytes();
    await database.write(["VACUUM"]);
    // until then the file keeps its size, and its journal holds what it contains
    await database.write(["PRAGMA wal_checkpoint(TRUNCATE)"]);
    return { lines: [JSON.stringify({ bytes_before: before, bytes_after: await readBytes() }, undefined, 2)] };
  } finally {
    await database.close();
  }
}

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  {
    name: "variables",
    parameters: "[--json]",
    about: ["Lists the environment variables with their defaults and bounds."],
    options: [],
    flags: ["json"],
    positionals: 0,
    run: (_, __, flags) => ({
      lines: flags.has("json") ? [JSON.stringify(listVariables(), undefined, 2)] : describeVariables(),
    }),
  },
  {
    name: "health",
    parameters: "",
    about: [
      "Asks the gateway that serves on this machine, at HOST and PORT, whether it is alive. It is for health checks of",
      "containers that have no other program.",
    ],
    options: [],
    positionals: 0,
    run: checkHealth,
  },
  {
    name: "keys list",
    parameters: "[--json]",
    about: ["Shows the versions of the master keys and how many records each wraps."],
    options: [],
    flags: ["json"],
    positionals: 0,
    run: (_, __, flags) => listKeys(flags.has("json")),
  },
  {
    name: "keys rotate",
    parameters: "",
    about: [
      "Makes the next version of the master keys and re-wraps every record with it.",
      "Can be stopped and run again, also while gateways serve: those that read the file find the new version.",
      "With GATEWAY_MASTER_KEYS it makes none and takes the first version listed there. Restart every process",
      "with both versions first: a process does not see a change of its environment.",
    ],
    options: [],
    positionals: 0,
    run: rotateKeys,
  },
  {
    name: "keys drop",
    parameters: "vN",
    about: ["Takes a version out of the file, if no record names it any more."],
    options: [],
    positionals: 1,
    run: (_, [version = ""]) => dropKey(version),
  },
  {
    name: "keys create-admin",
    parameters: "[--organisation ID] [--json]",
    about: [
      "Makes a further admin key of an organisation and shows it this once, as JSON: for when the first keys are lost.",
      "Delete those that are not needed any more with DELETE /v1/api-keys/{id}.",
    ],
    options: ["organisation"],
    flags: ["json"],
    positionals: 0,
    run: ({ organisation }) => createAdminKey(organisation),
  },
  {
    name: "audit verify",
    parameters: "[--organisation ID] [--head NUMBER:MAC] [--json]",
    about: [
      "Checks the chain of every audit log, or of one; says nothing when all is well, unless --json is given.",
      "--head takes a row from the process log (audit head ID NUMBER MAC): it reveals rows cut off at the end.",
    ],
    options: ["organisation", "head"],
    flags: ["json"],
    positionals: 0,
    run: (values, _, flags) => verifyAudit(values, flags.has("json")),
  },
  {
    name: "organisations create",
    parameters: "--name NAME [--slug SLUG] [--owner-email ADDRESS] [--json]",
    about: ["Makes an organisation with a workspace, and shows their keys this once, as JSON."],
    options: ["name", "slug", "owner-email"],
    flags: ["json"],
    positionals: 0,
    run: createOrganisation,
  },
  {
    name: "organisations list",
    parameters: "[--json]",
    about: ["Shows the organisations as JSON."],
    options: [],
    flags: ["json"],
    positionals: 0,
    run: listOrganisations,
  },
  {
    name: "prices reprice",
    parameters: "--from TIME --to TIME [--model MODEL] [--dry-run]",
    about: [
      "Computes the cost of stored log rows again, at today's prices, and shows counts and sums as JSON.",
      "Takes the requests that began from one time until before the other (ISO 8601), of all models or of one.",
      "Counters of budgets follow. Can be stopped and run again, also while gateways serve.",
      "--dry-run changes nothing.",
    ],
    options: ["from", "to", "model"],
    flags: ["dry-run"],
    positionals: 0,
    run: (values, _, flags) => repricePrices(values, flags.has("dry-run")),
  },
  {
    name: "models update",
    parameters: "FILE-OR-URL [--sha256 DIGEST] [--public-key KEY]",
    about: [
      "Replaces the file of MODEL_FACTS_FILE by a table of facts of models, for gateways that start afterwards.",
      "--sha256 is the digest of the table. --public-key is an Ed25519 key in base64; the signature is beside the table,",
      "with .sig behind its path. One of them is needed. Where they do not match, or the table is broken, nothing changes.",
    ],
    options: ["sha256", "public-key"],
    positionals: 1,
    run: (values, [source = ""]) => updateModels(source, values),
  },
  {
    name: "logs",
    parameters: "[--follow] [--url URL] [--key KEY] [--json] [--limit N] [--status N] [--model MODEL] [...]",
    about: [
      "Shows the newest rows of the request log of a gateway that serves. --follow shows rows as requests end, and",
      "connects again after interruptions without losing any.",
      "--url is its address, by default http://127.0.0.1:8787. --key is a key with the scope logs.list or logs.view,",
      "by default that of GATEWAY_API_KEY, which other users of the machine cannot see. --json shows rows as JSON.",
      `Filters: ${logFilterNames.map((name) => `--${name}`).join(", ")}, --metadata KEY=VALUE.`,
    ],
    options: ["url", "key", "limit", ...logFilterNames],
    flags: ["follow", "json"],
    lists: ["metadata"],
    positionals: 0,
    run: async (values, _, flags, { lists, print }) => {
      await showLogs(readLogsOptions(values, lists.metadata ?? []), flags, print);
      return { lines: [] };
    },
  },
  ...callCommands,
  ...evalCommands,
  ...stateCommands,
  doctorCommand,
  ...backupCommands,
  ...importCommands,
  {
    name: "storage compact",
    parameters: "",
    about: [
      "Makes the database file as small as its content, and shows its size before and after as JSON.",
      "Stop every gateway first: it takes seconds for each gigabyte, and needs as much free disk space again.",
      "Files of earlier versions do not shrink by themselves until it ran once.",
    ],
    options: [],
    positionals: 0,
    run: compactStorage,
  },
  {
    name: "completion",
    parameters: "bash|zsh|fish",
    about: [
      "Shows the script by which a shell completes command lines: source <(gateway completion bash), the same for zsh, or",
      "gateway completion fish | source.",
    ],
    options: [],
    positionals: 1,
    run: (_, [shell = ""]) => ({ lines: describeCompletion(shell, commands) }),
  },
];
