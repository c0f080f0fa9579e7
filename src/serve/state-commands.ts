import { appendFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import type { Api } from "../declared/api.ts";
import { applyDeclared } from "../declared/apply.ts";
import { exportDeclared } from "../declared/export.ts";
import { fileSchema } from "../declared/file-schema.ts";
import { makePlan, type Plan, type PlanOptions } from "../declared/plan.ts";
import { describePlan, toPlanJson } from "../declared/show.ts";
import { readSnapshot } from "../declared/snapshot.ts";
import { writeYaml } from "../declared/yaml.ts";
import { createGateway } from "../gateway.ts";
import { type Command, type CommandParts, type Outcome, UsageError } from "./command.ts";
import { createOwnApi, createRemoteApi, type DeclaredFile, readDeclaredFile, secretSettings } from "./declared-file.ts";
import { loadUsedSettings } from "./environment.ts";
import { hostOptions } from "./host-options.ts";

type Values = Readonly<Record<string, string | undefined>>;

/** Options that say which gateway a command works on. */
export const placeOptions = ["url", "key", "organisation"];
export const placeSynopsis = "[--url URL] [--key KEY] [--local [--organisation ID]]";
export const placeAbout = [
  "--url is the address of a gateway that serves, by default http://127.0.0.1:8787. --key is an admin key, by default that",
  "of GATEWAY_API_KEY, which other users of the machine cannot see. --local works on the database of the environment",
  "instead and needs no key, also while a gateway serves it.",
];

/** Longest time between two looks for batches: the command leaves them to the gateway that serves. */
const neverMs = 3_600_000;

/** Works on the database of the environment through a gateway of this process. */
async function withLocal<Value>(organisation: string | undefined, run: (api: Api) => Promise<Value>): Promise<Value> {
  const settings = loadUsedSettings();
  const host = await hostOptions({ console: false });
  const batches = { ...settings.gateway.batches, lookEveryMs: neverMs };
  const gateway = createGateway({ ...settings.gateway, database: settings.database, ...host, batches });
  try {
    return await run(await createOwnApi(gateway, organisation));
  } finally {
    await gateway.close();
  }
}

/** Works on the gateway that the options of a command name. */
export async function withApi<Value>(
  { url = "http://127.0.0.1:8787", key = process.env.GATEWAY_API_KEY, organisation }: Values,
  flags: ReadonlySet<string>,
  run: (api: Api) => Promise<Value>,
): Promise<Value> {
  if (flags.has("local")) return withLocal(organisation, run);
  const base = URL.parse(url);
  if (!base || !/^https?:$/.test(base.protocol))
    throw new UsageError("Cannot use --url: it must be an address with http or https");
  if (key === undefined || key === "") {
    throw new UsageError("Cannot change a gateway without a key: set GATEWAY_API_KEY, or give --key or --local");
  }
  return run(createRemoteApi(base.href.replace(/\/$/, ""), key));
}

/** Writes secrets of new keys to a file of the user, each as it is made. */
function createKeysSink(path: string | undefined) {
  return (name: string, { slug }: { slug: string | null }, secret: string): void => {
    if (path === undefined) return;
    appendFileSync(path, `${JSON.stringify({ workspace: slug, name, key: secret })}\n`, { mode: 0o600 });
  };
}

/** What a run of a file is asked for. */
interface RunOptions {
  readonly file: DeclaredFile;
  readonly keysFile: string | undefined;
  readonly flags: ReadonlySet<string>;
  readonly print: CommandParts["print"];
}

/** Shows the plan of a file, or carries it out. The code 2 means that there is something to do. */
export async function runFile(api: Api, { file, keysFile, flags, print }: RunOptions): Promise<Outcome> {
  const { declared, variables } = file;
  const isJson = flags.has("json");
  const options: PlanOptions = {
    prune: flags.has("prune") ? "all" : "none",
    takesSecrets: keysFile !== undefined || flags.has("plan"),
    variables,
    secrets: secretSettings,
  };
  if (flags.has("plan")) {
    const plan = makePlan(declared, await readSnapshot(api, declared), options);
    const lines = isJson ? [JSON.stringify(toPlanJson(plan), undefined, 2)] : describePlan(plan);
    return { lines, problems: [...plan.problems], ...(plan.changes.length > 0 && { code: 2 }) };
  }
  const plans: Plan[] = [];
  const show = (plan: Plan) => {
    plans.push(plan);
    if (!isJson) for (const line of describePlan(plan)) print(line);
  };
  const written = await applyDeclared(declared, { ...options, api, show, takeSecret: createKeysSink(keysFile) });
  const [first] = plans;
  if (isJson) return { lines: [JSON.stringify({ ...(first && toPlanJson(first)), written }, undefined, 2)] };
  return { lines: written === 0 ? [] : [`Done: ${written} records written`] };
}

async function runApply(values: Values, flags: ReadonlySet<string>, { print }: CommandParts): Promise<Outcome> {
  const { file: path, "keys-file": keysFile, organisation: given } = values;
  if (path === undefined) throw new UsageError("Cannot apply: name the file with -f");
  const file = await readDeclaredFile(path);
  const organisation = given ?? file.declared.organisation.slug;
  const named = { ...values, ...(organisation !== undefined && { organisation }) };
  return withApi(named, flags, (api) => runFile(api, { file, keysFile, flags, print }));
}

/** The address of the schema in a file, for editors. */
const schemaName = "gateway.schema.json";

async function runExport({ output, ...values }: Values, flags: ReadonlySet<string>): Promise<Outcome> {
  const { document, variables } = await withApi(values, flags, exportDeclared);
  const head = [`# yaml-language-server: $schema=${schemaName}`, ...variables.map((name) => `# secret: ${name}`)];
  const text = flags.has("json")
    ? JSON.stringify({ $schema: schemaName, ...document }, undefined, 2)
    : [...head, (await writeYaml(document)).trimEnd()].join("\n");
  if (output === undefined) return { lines: [text] };
  writeFileSync(output, `${text}\n`, { mode: 0o600 });
  return { lines: [`Wrote ${output}`] };
}

/** Commands of declared state. */
export const stateCommands: readonly Command[] = [
  {
    name: "apply",
    parameters: `-f FILE [--plan] [--prune] [--keys-file FILE] [--json] ${placeSynopsis}`,
    about: [
      "Makes a gateway have what a file declares, and shows the differences before. It can be stopped and run again.",
      "--plan changes nothing: it ends with 0 where there is nothing to do, with 2 where there is, with 1 where it fails.",
      "--prune removes records that the file does not have. Without it they stay.",
      "--keys-file takes the secrets of new keys, one JSON object in each line.",
      ...placeAbout,
      "Example: gateway apply -f gateway.yaml --plan",
    ],
    options: ["file", "keys-file", ...placeOptions],
    shorts: { file: "f" },
    flags: ["plan", "prune", "json", "local"],
    positionals: 0,
    hasPlan: true,
    run: (values, _, flags, parts) => runApply(values, flags, parts),
  },
  {
    name: "export",
    parameters: `[--output FILE] [--json] ${placeSynopsis}`,
    about: [
      "Shows the state of a gateway as the file that apply takes. Secrets cannot be read: variables stand for them.",
      ...placeAbout,
      "Example: gateway export --output gateway.yaml",
    ],
    options: ["output", ...placeOptions],
    flags: ["json", "local"],
    positionals: 0,
    run: (values, _, flags) => runExport(values, flags),
  },
  {
    name: "schema",
    parameters: "",
    about: ["Shows the JSON Schema of the file that apply takes: gateway schema > gateway.schema.json"],
    options: [],
    positionals: 0,
    run: async () => ({ lines: [JSON.stringify(await fileSchema(), undefined, 2)] }),
  },
];
