import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { type Message, readMessages } from "@/chat/messages.ts";
import { asObject, type JsonObject, textOf } from "@/lib/json.ts";
import { useSearchParams } from "@/lib/search.ts";
import { useSession } from "@/session/context.tsx";
import { toParameters } from "./request.ts";
import {
  type Column,
  createColumn,
  emptyParameters,
  emptyTarget,
  type Parameters,
  type Playground,
  type Target,
  type Update,
} from "./state.ts";
import { readContents } from "./stored.ts";

const numberOf = (value: unknown): number | string => (typeof value === "number" ? value : "");

/** Members that are shown elsewhere than among the parameters. */
const own: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "input",
  "variables",
  "tools",
  "stream",
  "stream_options",
]);

const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** The fields of parameters, as far as they can hold what a body says. */
function readFields(body: JsonObject): Parameters {
  const schema = asObject(asObject(body.response_format).json_schema).schema;
  return {
    ...emptyParameters,
    temperature: numberOf(body.temperature),
    maxTokens: numberOf(body.max_tokens),
    topP: numberOf(body.top_p),
    stop: Array.isArray(body.stop) ? body.stop.map(String) : [],
    format: textOf(asObject(body.response_format).type),
    schema: schema === undefined ? "" : pretty(schema),
    effort: textOf(body.reasoning_effort),
  };
}

/** Parameters of a body as the fields show them; what no field can hold without loss is in `extra`. */
export function readParameters(body: JsonObject): Parameters {
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const shown = toParameters(readFields(body));
  const isWhole = ([name, value]: [string, unknown]) => JSON.stringify(shown[name]) === JSON.stringify(value);
  const fields = readFields(Object.fromEntries(given.filter(isWhole)));
  const others = given.filter((member) => !own.has(member[0]) && !isWhole(member));
  return { ...fields, extra: others.length === 0 ? "" : pretty(Object.fromEntries(others)) };
}

type LogRow = Extract<AnswerOf<"GET /v1/logs/{id}">, { object: "log" }>;
export type PromptRecord = AnswerOf<"GET /v1/prompts/{id}">;

/** The messages of a saved prompt: its text is their list, or the text of one. */
export function messagesOfPrompt({ string: template }: Pick<PromptRecord, "string">): readonly Message[] {
  try {
    return readMessages(JSON.parse(template));
  } catch {
    return readMessages([{ role: "user", content: template }]);
  }
}

/** The messages of a body: also a system prompt beside them, and an input that is one text. */
function messagesOf({ system, messages, input }: JsonObject): readonly Message[] {
  const first = system === undefined ? [] : [{ role: "system", content: system }];
  const said = typeof input === "string" ? [{ role: "user", content: input }] : (input ?? []);
  return readMessages([...first, ...(Array.isArray(messages) ? messages : Array.isArray(said) ? said : [])]);
}

function withBody(state: Playground, body: JsonObject, column: Column): Playground {
  const messages = messagesOf(body);
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? pretty(body.tools) : "";
  return {
    ...state,
    servers: [],
    prompts: [],
    shared: true,
    messages,
    tools,
    columns: [{ ...column, messages }],
    stream: body.stream !== false,
  };
}

/** Where a stored request went, as a request says it. */
function targetOf(row: LogRow, body: JsonObject): Target {
  const target = { ...emptyTarget, model: textOf(body.model) };
  const { config, prompt_slug: prompt, virtual_key: stored = "" } = row;
  const named = row.request?.gatewayHeaders?.provider;
  if (prompt) {
    const given = Object.entries(asObject(body.variables));
    const variables = Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]));
    return { ...target, kind: "prompt", prompt, variables };
  }
  if (config) return { ...target, kind: "config", config };
  return { ...target, provider: named || (stored === "" ? (row.provider ?? "") : `@${stored}`) };
}

/** A stored request in the playground. */
function fromLog(state: Playground, row: LogRow): Playground {
  const body = asObject(row.request?.body);
  const column = createColumn({ target: targetOf(row, body), parameters: readParameters(body) });
  return withBody(state, { stream: row.stream === true, ...body }, column);
}

/** A saved prompt for editing: its messages, model, parameters and tools. */
export function withPrompt(state: Playground, record: PromptRecord, columnId: string): Playground {
  const { parameters, virtual_key: provider } = record;
  const messages = messagesOfPrompt(record);
  const target = {
    ...emptyTarget,
    provider: provider === "" ? "" : `@${provider}`,
    model: record.model ?? "",
  };
  const columns = state.columns.map((column) =>
    column.id === columnId
      ? { ...column, target, parameters: readParameters(parameters), messages: state.shared ? [] : messages, turns: [] }
      : column,
  );
  const tools = record.tools?.length ? pretty(record.tools) : state.tools;
  return { ...state, columns, tools, ...(state.shared && { messages }) };
}

/** Opens what the address names: `?log=`, `?prompt=`, `?config=`, `?run=`. */
export function useOpened(update: Update) {
  const { can } = useSession();
  const { log = "", prompt = "", config = "", run = "" } = useSearchParams();
  const opened = useRef("");
  const query = useQuery({
    queryKey: ["logs", "record", log],
    enabled: log !== "" && can("GET /v1/logs/{id}"),
    queryFn: ({ signal }) => get("/v1/logs/{id}", { path: { id: log }, signal }),
  });
  const saved = useQuery({
    queryKey: ["playground-runs", run],
    enabled: run !== "" && can("GET /v1/playground-runs/{id}"),
    retry: false,
    queryFn: ({ signal }) => get("/v1/playground-runs/{id}", { path: { id: run }, signal }),
  });
  useEffect(() => {
    const name = [log, prompt, config, run].join(" ");
    if (opened.current === name) return;
    if ((log !== "" && query.data === undefined) || (run !== "" && saved.data === undefined)) return;
    opened.current = name;
    const row = query.data;
    const contents = saved.data?.contents;
    if (run !== "" && contents !== undefined) update(() => readContents(contents));
    else if (log !== "" && row?.object === "log") update((before) => fromLog(before, row));
    else if (prompt !== "" || config !== "") {
      const target = { ...emptyTarget, prompt, config };
      const kind = prompt === "" ? "config" : "prompt";
      update((before) => ({ ...before, columns: [createColumn({ target: { ...target, kind } })] }));
    }
  }, [log, prompt, config, run, query.data, saved.data, update]);
  return query.error ?? saved.error;
}
