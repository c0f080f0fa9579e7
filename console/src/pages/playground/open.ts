import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { call } from "@/api/client.ts";
import { type Message, readMessages } from "@/chat/messages.ts";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
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
function readFields(body: Row): Parameters {
  const schema = readPath(body, "response_format.json_schema.schema");
  return {
    ...emptyParameters,
    temperature: numberOf(body.temperature),
    maxTokens: numberOf(body.max_tokens),
    topP: numberOf(body.top_p),
    stop: Array.isArray(body.stop) ? body.stop.map(String) : [],
    format: readText(body, "response_format.type"),
    schema: schema === undefined ? "" : pretty(schema),
    effort: readText(body, "reasoning_effort"),
  };
}

/** Parameters of a body as the fields show them; what no field can hold without loss is in `extra`. */
export function readParameters(body: Row): Parameters {
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const shown = toParameters(readFields(body));
  const isWhole = ([name, value]: [string, unknown]) => JSON.stringify(shown[name]) === JSON.stringify(value);
  const fields = readFields(Object.fromEntries(given.filter(isWhole)));
  const others = given.filter((member) => !own.has(member[0]) && !isWhole(member));
  return { ...fields, extra: others.length === 0 ? "" : pretty(Object.fromEntries(others)) };
}

/** The messages of a saved prompt: its text is their list, or the text of one. */
export function messagesOfPrompt(record: Row): readonly Message[] {
  const template = readText(record, "string");
  try {
    return readMessages(JSON.parse(template));
  } catch {
    return readMessages([{ role: "user", content: template }]);
  }
}

/** The messages of a body: also a system prompt beside them, and an input that is one text. */
function messagesOf({ system, messages, input }: Row): readonly Message[] {
  const first = system === undefined ? [] : [{ role: "system", content: system }];
  const said = typeof input === "string" ? [{ role: "user", content: input }] : (input ?? []);
  return readMessages([...first, ...(Array.isArray(messages) ? messages : Array.isArray(said) ? said : [])]);
}

function withBody(state: Playground, body: Row, column: Column): Playground {
  const messages = messagesOf(body);
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? pretty(body.tools) : "";
  return { ...state, shared: true, messages, tools, columns: [{ ...column, messages }], stream: body.stream !== false };
}

/** Where a stored request went, as a request says it. */
function targetOf(row: Row, body: Row): Target {
  const target = { ...emptyTarget, model: readText(body, "model") };
  const config = readText(row, "config");
  const prompt = readText(row, "prompt_slug");
  const named = readText(row, "request.gatewayHeaders.provider");
  const stored = readText(row, "virtual_key");
  if (prompt !== "") {
    const given = isRow(body.variables) ? Object.entries(body.variables) : [];
    const variables = Object.fromEntries(given.map(([name, value]) => [name, readText({ value }, "value")]));
    return { ...target, kind: "prompt", prompt, variables };
  }
  if (config !== "") return { ...target, kind: "config", config };
  return { ...target, provider: named || (stored === "" ? readText(row, "provider") : `@${stored}`) };
}

/** A stored request in the playground. */
function fromLog(state: Playground, row: Row): Playground {
  const stored = readPath(row, "request.body");
  const body = isRow(stored) ? stored : {};
  const column = createColumn({ target: targetOf(row, body), parameters: readParameters(body) });
  return withBody(state, { stream: row.stream === true, ...body }, column);
}

/** A saved prompt for editing: its messages, model, parameters and tools. */
export function withPrompt(state: Playground, record: Row, columnId: string): Playground {
  const parameters = isRow(record.parameters) ? record.parameters : {};
  const provider = readText(record, "virtual_key");
  const messages = messagesOfPrompt(record);
  const target = {
    ...emptyTarget,
    provider: provider === "" ? "" : `@${provider}`,
    model: readText(record, "model"),
  };
  const columns = state.columns.map((column) =>
    column.id === columnId
      ? { ...column, target, parameters: readParameters(parameters), messages: state.shared ? [] : messages, turns: [] }
      : column,
  );
  const tools = Array.isArray(record.tools) && record.tools.length > 0 ? pretty(record.tools) : state.tools;
  return { ...state, columns, tools, ...(state.shared && { messages }) };
}

/** Opens what the address names: `?log=`, `?prompt=`, `?config=`. */
export function useOpened(update: Update) {
  const search: unknown = useSearch({ strict: false });
  const { can } = useSession();
  const [log, prompt, config] = ["log", "prompt", "config"].map((name) => readText(search, name));
  const opened = useRef("");
  const query = useQuery({
    queryKey: ["logs", "record", log],
    enabled: log !== "" && can("GET /v1/logs/{id}"),
    queryFn: ({ signal }) => call("GET", "/v1/logs/{id}", { path: { id: log ?? "" }, signal }),
  });
  useEffect(() => {
    const name = [log, prompt, config].join(" ");
    if (opened.current === name) return;
    if (log !== "" && query.data === undefined) return;
    opened.current = name;
    const row = isRow(query.data) && isRow(query.data.data) ? query.data.data : query.data;
    if (log !== "" && isRow(row)) update((before) => fromLog(before, row));
    else if (prompt !== "" || config !== "") {
      const target = { ...emptyTarget, prompt: prompt ?? "", config: config ?? "" };
      const kind = prompt === "" ? "config" : "prompt";
      update((before) => ({ ...before, columns: [createColumn({ target: { ...target, kind } })] }));
    }
  }, [log, prompt, config, query.data, update]);
  return query.error;
}
