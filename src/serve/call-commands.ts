import { readFileSync } from "node:fs";
import { isObject, parseJson } from "../lib/json.ts";
import { toPrintable } from "../lib/printable.ts";
import { agents } from "./agent-settings.ts";
import { type Command, type Outcome, UsageError } from "./command.ts";
import { askServedGateway, readServedGateway, servedOptions } from "./served-gateway.ts";

type Values = Readonly<Record<string, string | undefined>>;

const toJsonLines = (answer: unknown): Outcome => ({ lines: [JSON.stringify(answer, undefined, 2)] });

async function listModels(values: Values, hasJson: boolean): Promise<Outcome> {
  if (values.for !== undefined) return writeSettings(values.for, values);
  const answer = await askServedGateway(readServedGateway(values, "list models"), { path: "/v1/models" });
  if (hasJson) return toJsonLines(answer);
  const entries = isObject(answer) && Array.isArray(answer.data) ? answer.data : [];
  return { lines: entries.flatMap((entry) => (isObject(entry) ? [toPrintable(String(entry.id))] : [])) };
}

/** Settings of a coding agent for the models that the key may call. */
async function writeSettings(name: string, values: Values): Promise<Outcome> {
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (!agent) throw new UsageError(`Cannot use --for: it must be one of ${Object.keys(agents).join(", ")}`);
  const { model } = values;
  if (agent.needsModel && model === undefined) throw new UsageError(`Cannot write settings of ${name} without --model`);
  const gateway = readServedGateway(values, "list models");
  const path = model === undefined ? "/v1/models" : `/v1/models/${encodeURI(model)}`;
  const answer = await askServedGateway(gateway, { path, ...(agent.headers && { headers: agent.headers }) });
  return { lines: agent.write({ url: gateway.url, answer }).split("\n").map(toPrintable) };
}

const routeOf = ({ provider, config }: Values): Record<string, string> => ({
  ...(provider !== undefined && { "x-gateway-provider": provider }),
  ...(config !== undefined && { "x-gateway-config": config }),
});

/** The text of the first choice of a chat completion. */
function textOf(answer: unknown): string {
  const [choice] = isObject(answer) && Array.isArray(answer.choices) ? answer.choices : [];
  const message = isObject(choice) ? choice.message : undefined;
  return isObject(message) && typeof message.content === "string" ? message.content : "";
}

async function callModel(model: string, values: Values, hasJson: boolean): Promise<Outcome> {
  const gateway = readServedGateway(values, "call a model");
  const messages = [{ role: "user", content: values.prompt ?? "Hello" }];
  const answer = await askServedGateway(gateway, {
    path: "/v1/chat/completions",
    body: { model, messages },
    headers: routeOf(values),
  });
  return hasJson ? toJsonLines(answer) : { lines: textOf(answer).split("\n").map(toPrintable) };
}

/** A config from a file, or the slug of a saved one. */
function readConfig(source: string): unknown {
  if (!/[./\\]/.test(source)) return source;
  let text: string;
  try {
    text = readFileSync(source, "utf8");
  } catch (cause) {
    throw new Error(`Cannot read ${toPrintable(source)}`, { cause });
  }
  const config = parseJson(text);
  if (!isObject(config)) throw new UsageError(`Cannot explain ${toPrintable(source)}: it is not a JSON object`);
  return config;
}

async function explainConfig(source: string, values: Values): Promise<Outcome> {
  const gateway = readServedGateway(values, "explain a config");
  const { model = "echo-1", metadata } = values;
  const sent = metadata === undefined ? undefined : parseJson(metadata);
  if (metadata !== undefined && !isObject(sent))
    throw new UsageError("Cannot use --metadata: it must be a JSON object");
  const body = {
    config: readConfig(source),
    request: {
      body: { model, messages: [{ role: "user", content: "Hello" }] },
      ...(sent !== undefined && { metadata: sent }),
    },
  };
  return toJsonLines(await askServedGateway(gateway, { path: "/v1/configs/explain", body }));
}

const place = "--url is the address of the gateway, --key a key for it: as for logs.";

/** Commands that call a gateway that serves. */
export const callCommands: readonly Command[] = [
  {
    name: "models",
    parameters: "[--json] [--for AGENT] [--model MODEL] [--url URL] [--key KEY]",
    about: [
      "Lists the models that the key may call, one in a line. --json shows what is known of each. --for prints settings of a",
      "coding agent with windows and prices: claude-code or codex with the model of --model, opencode with it or with all.",
      place,
    ],
    options: ["for", "model", ...servedOptions],
    flags: ["json"],
    positionals: 0,
    run: (values, _, flags) => listModels(values, flags.has("json")),
  },
  {
    name: "try",
    parameters: "MODEL [--prompt TEXT] [--provider PROVIDER] [--config SLUG] [--json] [--url URL] [--key KEY]",
    about: [
      "Sends one chat and shows the answer. The prompt is Hello unless --prompt gives one. --json shows the whole response.",
      place,
    ],
    options: ["prompt", "provider", "config", ...servedOptions],
    flags: ["json"],
    positionals: 1,
    run: (values, [model = ""], flags) => callModel(model, values, flags.has("json")),
  },
  {
    name: "configs explain",
    parameters: "FILE-OR-SLUG [--model MODEL] [--metadata JSON] [--url URL] [--key KEY]",
    about: [
      "Shows as JSON what a config would do with a chat, without a call. The config is a file of JSON, whose name has a dot or",
      "a slash, or the slug of a saved one.",
      place,
    ],
    options: ["model", "metadata", ...servedOptions],
    positionals: 1,
    run: (values, [source = ""]) => explainConfig(source, values),
  },
];
