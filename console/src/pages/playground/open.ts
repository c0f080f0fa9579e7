import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { call } from "@/api/client.ts";
import { type Message, readMessages } from "@/chat/messages.ts";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import {
  type Column,
  createColumn,
  emptyParameters,
  emptyTarget,
  type Parameters,
  type Playground,
  type Update,
} from "./state.ts";

const numberOf = (value: unknown): number | string => (typeof value === "number" ? value : "");

const own: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "tools",
  "stream",
  "stream_options",
  "temperature",
  "max_tokens",
  "top_p",
  "stop",
  "response_format",
  "reasoning_effort",
]);

const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** Parameters of a body as the fields show them; what has no field is in `extra`. */
export function readParameters(body: Row): Parameters {
  const others = Object.entries(body).filter(([name, value]) => !own.has(name) && value !== null);
  const { stop } = body;
  const schema = readPath(body, "response_format.json_schema.schema");
  return {
    ...emptyParameters,
    temperature: numberOf(body.temperature),
    maxTokens: numberOf(body.max_tokens),
    topP: numberOf(body.top_p),
    stop: Array.isArray(stop) ? stop.map(String) : typeof stop === "string" ? [stop] : [],
    format: readText(body, "response_format.type"),
    schema: schema === undefined ? "" : pretty(schema),
    effort: readText(body, "reasoning_effort"),
    extra: others.length === 0 ? "" : pretty(Object.fromEntries(others)),
  };
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

function withBody(state: Playground, body: Row, column: Column): Playground {
  const messages = readMessages(body.messages);
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? pretty(body.tools) : "";
  return { ...state, shared: true, messages, tools, columns: [{ ...column, messages }], stream: body.stream !== false };
}

/** A stored request in the playground. */
function fromLog(state: Playground, row: Row): Playground {
  const body = isRow(readPath(row, "request.body")) ? readPath(row, "request.body") : {};
  const config = readText(row, "config");
  const named = readText(row, "request.gatewayHeaders.provider");
  const stored = readText(row, "virtual_key");
  const provider = named || (stored === "" ? readText(row, "provider") : `@${stored}`);
  const request = isRow(body) ? body : {};
  const target = { ...emptyTarget, model: readText(request, "model") };
  return withBody(
    state,
    { stream: row.stream === true, ...request },
    createColumn({
      target: config === "" ? { ...target, kind: "provider", provider } : { ...target, kind: "config", config },
      parameters: readParameters(request),
    }),
  );
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
