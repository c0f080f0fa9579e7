import { writeFileSync } from "node:fs";
import process from "node:process";
import { readDeclared } from "../declared/document.ts";
import { fillVariables } from "../declared/environment-values.ts";
import { readYaml, writeYaml } from "../declared/yaml.ts";
import { decodeUtf8, parseJson } from "../lib/json.ts";
import { toPrintable } from "../lib/printable.ts";
import { moveBifrost } from "../moving/bifrost.ts";
import type { Moved, Note } from "../moving/draft.ts";
import { moveLitellm } from "../moving/litellm.ts";
import { moveEnvironment, moveOpenrouter } from "../moving/openrouter.ts";
import { movePortkey } from "../moving/portkey.ts";
import { readTable } from "../moving/table.ts";
import type { Command, CommandParts, Outcome } from "./command.ts";
import { readBytesOf } from "./declared-file.ts";
import { placeAbout, placeOptions, placeSynopsis, runFile, withApi } from "./state-commands.ts";

type Values = Readonly<Record<string, string | undefined>>;

const signs: Readonly<Record<Note["outcome"], string>> = { made: "+", changed: "~", left: "!" };

/** Notes that differ by their place in a list alone stand in one line, with how many there are. */
function joinAlike(notes: readonly Note[]): Note[] {
  const groups = new Map<string, { note: Note; what: string; count: number }>();
  for (const note of notes) {
    const what = note.what.replaceAll(/\.\d+(?=\.)/g, ".*");
    const key = `${note.outcome} ${what} ${note.how}`;
    const group = groups.get(key) ?? { note, what, count: 0 };
    groups.set(key, { ...group, count: group.count + 1 });
  }
  return Array.from(groups.values(), ({ note, what, count }) =>
    count === 1 ? note : { ...note, what: `${what} (${count} of them)` },
  );
}

/** What became of each part, the parts that need attention last. */
function describeNotes({ notes, models, secrets }: Moved): string[] {
  const order = ["made", "changed", "left"];
  const sorted = joinAlike(notes).toSorted((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome));
  const count = (outcome: Note["outcome"]) => notes.filter((note) => note.outcome === outcome).length;
  const clear = Object.keys(secrets);
  return [
    ...sorted.map(({ outcome, what, how }) => toPrintable(`${signs[outcome]} ${what}: ${how}`)),
    `${count("made")} as they were, ${count("changed")} in another way, ${count("left")} not carried over; ${models.length} names of models`,
    ...(clear.length > 0
      ? [`Secrets that stood in the file in clear are in these variables: ${clear.join(", ")}`]
      : []),
  ];
}

/** The file of declared state for what was moved. */
async function writeMoved(path: string, { document }: Moved): Promise<void> {
  const text = `# yaml-language-server: $schema=gateway.schema.json\n${await writeYaml(document)}`;
  writeFileSync(path, text, { mode: 0o600 });
}

async function finishImport(
  moved: Moved,
  values: Values,
  flags: ReadonlySet<string>,
  parts: CommandParts,
): Promise<Outcome> {
  const { output, "keys-file": keysFile } = values;
  const isJson = flags.has("json");
  if (output !== undefined) await writeMoved(output, moved);
  const report = isJson
    ? [JSON.stringify({ notes: moved.notes, models: moved.models, document: moved.document }, undefined, 2)]
    : describeNotes(moved);
  if (!flags.has("apply")) {
    const next = output === undefined ? "give --output FILE for the file, or --apply" : `wrote ${output}`;
    return { lines: isJson ? report : [...report, `Nothing is changed: ${next}`] };
  }
  const { value, variables } = fillVariables(moved.document, { ...process.env, ...moved.secrets });
  const file = { path: "the import", declared: readDeclared(value, "what was imported"), variables };
  if (!isJson) for (const line of report) parts.print(line);
  return withApi(values, flags, (api) => runFile(api, { file, keysFile, flags, print: parts.print }));
}

/** A file of another gateway. */
const readFile = async (path: string): Promise<unknown> => readYaml(readBytesOf(path), path);

const workspaceOf = ({ workspace = "default" }: Values): string => workspace;

const options = ["workspace", "output", "keys-file", ...placeOptions];
const synopsis = "[--workspace SLUG] [--output FILE] [--apply] [--keys-file FILE] [--json]";

/** What differs between imports. */
interface ImportDefinition {
  readonly name: string;
  readonly parameters?: string;
  readonly about: readonly string[];
  readonly options?: readonly string[];
  readonly positionals: number;
  move(path: string, values: Values): Promise<Moved> | Moved;
}

function defineImport({
  name,
  parameters = "FILE",
  about,
  options: own = [],
  positionals,
  move,
}: ImportDefinition): Command {
  return {
    name: `import ${name}`,
    parameters: [parameters, synopsis, placeSynopsis].filter(Boolean).join(" "),
    about,
    options: [...options, ...own],
    flags: ["apply", "json", "local"],
    positionals,
    run: async (values, [path = ""], flags, parts) => finishImport(await move(path, values), values, flags, parts),
  };
}

/** Commands that make declared state of the configuration of other gateways. */
export const importCommands: readonly Command[] = [
  defineImport({
    name: "litellm",
    parameters: "CONFIG.YAML [--keys EXPORT] [--teams EXPORT]",
    about: [
      "Shows what a configuration of LiteLLM becomes, and what cannot be carried over and why. It changes nothing.",
      "--output writes the file that apply takes, --apply applies it. Both can be repeated: nothing is made twice.",
      "--keys is an export of its table of virtual keys, CSV or JSON. LiteLLM stores digests of keys: clients get new ones,",
      "which --keys-file takes. --teams is one of its table of teams, whose models limit the keys.",
      ...placeAbout,
      "Example: gateway import litellm config.yaml --output gateway.yaml",
    ],
    options: ["keys", "teams"],
    positionals: 1,
    async move(path, values) {
      const read = (table: string | undefined) =>
        table === undefined ? [] : readTable(decodeUtf8(readBytesOf(table)), parseJson);
      const tables = { keys: read(values.keys), teams: read(values.teams) };
      return moveLitellm(await readFile(path), workspaceOf(values), tables);
    },
  }),
  defineImport({
    name: "portkey",
    parameters: "EXPORT.JSON",
    about: [
      "The same for an export of Portkey's admin API: an object with the responses of its lists as configs, virtual_keys,",
      "providers, integrations, prompts and api_keys. Slugs stay, so that clients do.",
    ],
    positionals: 1,
    move: async (path, values) => movePortkey(await readFile(path), workspaceOf(values)),
  }),
  defineImport({
    name: "bifrost",
    parameters: "CONFIG.JSON",
    about: [
      "The same for a config.json of Bifrost: providers, virtual keys and MCP servers. Names stay, as openai/gpt-4o.",
    ],
    positionals: 1,
    move: async (path, values) => moveBifrost(await readFile(path), workspaceOf(values)),
  }),
  defineImport({
    name: "openrouter",
    parameters: "[--keys EXPORT]",
    about: [
      "The same for clients of OpenRouter: every name of a model leads there. --keys is the response of GET /api/v1/keys.",
      "OPENROUTER_API_KEY has the key.",
    ],
    options: ["keys"],
    positionals: 0,
    async move(_, values) {
      const { keys } = values;
      return moveOpenrouter(keys === undefined ? undefined : await readFile(keys), workspaceOf(values));
    },
  }),
  defineImport({
    name: "openai-env",
    parameters: "",
    about: ["The same for a program that calls providers itself: the keys of the environment, such as OPENAI_API_KEY."],
    positionals: 0,
    move: (_, values) => moveEnvironment(process.env, workspaceOf(values)),
  }),
];
