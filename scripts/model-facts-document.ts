// Text of docs/model-facts.md.

import type { FactTable } from "../src/providers/core/model-facts.ts";
import { builtInProviders } from "../src/providers/registry.ts";
import { ModelFacts } from "../src/schemas/model-facts.ts";

type Member = keyof ModelFacts;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Names of the members, in the order of the schema. */
const members = Object.keys(ModelFacts.entries) as Member[]; // keys of a strict object are its members

function show(value: ModelFacts[Member]): string {
  if (value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en-US");
  if (typeof value === "string") return value;
  const items = value.map((item) => show(item as ModelFacts[Member])); // levels and numbers are values of members too
  return items.length === 0 ? "takes none" : items.join(", ");
}

/** The description of a member in the schema. */
function describe(member: Member): string {
  const { pipe } = ModelFacts.entries[member].wrapped;
  const action = pipe.find((one) => one.type === "description");
  return action !== undefined && "description" in action ? action.description : "";
}

const descriptions = members.map((member) => `| \`${member}\` | ${cell(describe(member))} |`);

const showPatterns = (match: readonly string[]): string => match.map((pattern) => `\`${pattern}\``).join(", ");

/** One table: the members that any of its lines has, and a line for each row. */
function tableLines(lines: readonly { models: string; facts: ModelFacts }[]): string[] {
  const used = members.filter((member) => lines.some(({ facts }) => facts[member] !== undefined));
  return [
    `| models | ${used.map((member) => `\`${member}\``).join(" | ")} |`,
    `|${"---|".repeat(used.length + 1)}`,
    ...lines.map(
      ({ models, facts }) => `| ${cell(models)} | ${used.map((member) => cell(show(facts[member]))).join(" | ")} |`,
    ),
  ];
}

/** What models take, by the rows of a table. */
function factLines({ rows, common, newest }: FactTable): string[] {
  return tableLines([
    ...rows.map(({ match, facts }) => ({ models: showPatterns(match), facts: { ...common, ...facts } })),
    { models: "all others", facts: { ...common, ...newest } },
  ]);
}

/** What is known of models by name; cards that only end the search are left out. */
function cardLines({ cards = [] }: FactTable): string[] {
  const filled = cards.filter(({ facts }) => Object.keys(facts).length > 0);
  if (filled.length === 0) return [];
  return ["", ...tableLines(filled.map(({ match, facts }) => ({ models: showPatterns(match), facts })))];
}

function section([table, slugs]: [FactTable, string[]]): string[] {
  return [
    "",
    `## ${slugs.join(", ")}`,
    "",
    `Read on ${table.read}:`,
    "",
    ...table.sources.map((source) => `- <${source}>`),
    "",
    ...factLines(table),
    ...cardLines(table),
  ];
}

/** Slugs of the providers by their table. */
function listTables(): Map<FactTable, string[]> {
  const tables = new Map<FactTable, string[]>();
  for (const { slug, facts } of builtInProviders) {
    if (facts) tables.set(facts, [...(tables.get(facts) ?? []), slug]);
  }
  return tables;
}

/** Text of the page. */
export function modelFactsDocument(): string {
  const sections = [...listTables()].sort(([, [a = ""]], [, [b = ""]]) => a.localeCompare(b, "en")).flatMap(section);
  return `${[
    "<!-- Made by scripts/build.ts from the facts of the providers. Do not edit: run `npm run build`. -->",
    "",
    "# Facts of models",
    "",
    "The gateway fits chats to what each model takes. What it knows is in the tables below, one for each provider, with the day on which the",
    "provider's documentation was read. The first row that matches a name counts. `*` stands for any characters. Where a provider has a second",
    "table, it says what [lists of models](models.md) show: windows, modalities and days of retirement. Names that it does not have have none.",
    "",
    "Facts hold for requests that the gateway converts. Requests of clients of the provider's own API are sent unchanged. What a model does not",
    "take is left out, or replaced by the nearest value, and named in `x-gateway-dropped-params`.",
    "",
    "## Models that are newer than the release",
    "",
    "A name that no row matches counts as the newest generation of its provider. Where that is wrong, say what the model takes in one of two",
    "places. Members that you leave out are as in the tables. The [README](../README.md#variables) sets the variables.",
    "",
    "1. `model_facts` of a model in an integration. It holds for requests to that integration:",
    "",
    "   ```sh",
    '   curl -X PUT "$GATEWAY/v1/integrations/my-integration/models" \\',
    '     -H "x-gateway-api-key: $ADMIN_KEY" -H "content-type: application/json" \\',
    '     -d \'{"models": [{"slug": "nova-9", "enabled": true, "model_facts": {"sampling": "none", "efforts": ["low", "high"]}}]}\'',
    "   ```",
    "",
    "   `null` removes the facts. Facts that are not in the table of members, or have another value, are refused with 400.",
    "2. A file, named by `MODEL_FACTS_FILE`. It has rows for each provider, by its slug, and is read at start:",
    "",
    "   ```json",
    '   { "openai": { "rows": [{ "match": ["nova-*"], "facts": { "sampling": "none" } }] } }',
    "   ```",
    "",
    "   `read` and `sources` may stand beside `rows`. A file with an unknown member, value or provider ends the start.",
    "",
    "The integration precedes the file, and the file the tables. Facts that you give hold for clients of OpenAI's own chat completions too.",
    "",
    "## Update the file",
    "",
    "`models update` replaces the file of `MODEL_FACTS_FILE` by a table from another file or an address. It needs the SHA-256 of the table, or an",
    "Ed25519 key that has signed it:",
    "",
    "```sh",
    "export MODEL_FACTS_FILE=facts.json",
    `echo '{"openai": {"rows": [{"match": ["nova-*"], "facts": {"contextWindow": 400000}}]}}' > new-facts.json`,
    'npm start -- models update new-facts.json --sha256 "$(openssl dgst -sha256 -r new-facts.json | cut -c1-64)"',
    "openssl genpkey -algorithm ed25519 -out facts.key",
    "openssl pkeyutl -sign -inkey facts.key -rawin -in new-facts.json -out new-facts.json.sig",
    'npm start -- models update new-facts.json --public-key "$(openssl pkey -in facts.key -pubout -outform DER | base64)"',
    "```",
    "",
    "| | rule |",
    "|---|---|",
    "| signature | stands beside the table, with `.sig` behind its path. 64 bytes, or their base64 |",
    "| key | 32 bytes in base64, or the DER form that OpenSSL writes |",
    "| address | `http` or `https`, [checked](configuration.md#addresses) like those of providers: private ones need `TRUSTED_CUSTOM_HOSTS`. Up to 3 redirects, 60 seconds for each request |",
    "| table | at most 4 MiB and 200,000 values, without unknown members, values and providers |",
    "",
    "With a signature alone, a table is refused whose facts of a provider have an older `read` day than those in the file. A digest names one",
    "table, which may be older.",
    "",
    "If the table cannot be read, does not match or is broken, the command ends with 1 and the file stays as it is. Otherwise the table replaces",
    "all of its content at once. Gateways read the file at start.",
    "",
    "## Members",
    "",
    "| member | meaning |",
    "|---|---|",
    ...descriptions,
    ...sections,
  ].join("\n")}\n`;
}
