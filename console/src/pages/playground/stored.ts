import { type Answer, emptyAnswer } from "../../chat/answer.ts";
import { readMessages, type ToolCall, toWire } from "../../chat/messages.ts";
import { asObject, type JsonObject, objectsOf, textOf } from "../../lib/json.ts";
import {
  type Column,
  createColumn,
  emptyParameters,
  emptyTarget,
  maxColumns,
  type Parameters,
  type Playground,
  type Target,
  type Turn,
} from "./state.ts";

// The playground as it is saved. What is read may be anything: a program may have saved it.

function answerToStored({ error, ...answer }: Answer): JsonObject {
  const isRunning = answer.state === "waiting" || answer.state === "streaming";
  const said = error instanceof Error ? error.message : textOf(error);
  return { ...answer, ...(isRunning && { state: "stopped" }), ...(said !== "" && { error: said }) };
}

const turnToStored = (turn: Turn): JsonObject =>
  turn.kind === "message" ? { message: toWire(turn.message) } : { answer: answerToStored(turn.answer) };

/** The playground as it is saved: requests, answers, usage and cost. */
export function toContents({ columns, messages, ...others }: Playground): JsonObject {
  return {
    ...others,
    messages: messages.map(toWire),
    columns: columns.map(({ target, parameters, messages: own, turns }) => ({
      target,
      parameters,
      messages: own.map(toWire),
      turns: turns.map(turnToStored),
    })),
  };
}

/** Models of a playground, as the list of saved runs shows them. */
export const modelsOf = ({ columns }: Playground): readonly string[] => [
  ...new Set(columns.map(({ target }) => target.model || target.config || target.prompt).filter((name) => name !== "")),
];

const stringsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(textOf) : []);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const typed = (value: unknown): number | string => numberOf(value) ?? textOf(value);

function readTarget(value: unknown): Target {
  const { kind, provider, model, config, prompt, variables } = asObject(value);
  return {
    kind: kind === "config" || kind === "prompt" ? kind : emptyTarget.kind,
    provider: textOf(provider),
    model: textOf(model),
    config: textOf(config),
    prompt: textOf(prompt),
    variables: Object.fromEntries(Object.entries(asObject(variables)).map(([name, one]) => [name, textOf(one)])),
  };
}

function readParameters(value: unknown): Parameters {
  const { temperature, maxTokens, topP, stop, format, schema, effort, extra } = {
    ...emptyParameters,
    ...asObject(value),
  };
  return {
    temperature: typed(temperature),
    maxTokens: typed(maxTokens),
    topP: typed(topP),
    stop: stringsOf(stop),
    format: textOf(format),
    schema: textOf(schema),
    effort: textOf(effort),
    extra: textOf(extra),
  };
}

const readCalls = (value: unknown): readonly ToolCall[] =>
  objectsOf(value).map((call) => ({
    id: textOf(call.id),
    name: textOf(call.name),
    arguments: textOf(call.arguments),
  }));

function readUsage(value: unknown): Answer["usage"] {
  const { prompt, completion, reasoning, cached } = asObject(value);
  if (numberOf(prompt) === undefined) return undefined;
  return {
    prompt: numberOf(prompt) ?? 0,
    completion: numberOf(completion) ?? 0,
    reasoning: numberOf(reasoning) ?? 0,
    cached: numberOf(cached) ?? 0,
  };
}

function readAnswer(stored: JsonObject): Answer {
  const error = textOf(stored.error);
  const { state } = stored;
  return {
    ...emptyAnswer,
    state: state === "failed" || state === "stopped" ? state : "done",
    text: textOf(stored.text),
    reasoning: textOf(stored.reasoning),
    toolCalls: readCalls(stored.toolCalls),
    ran: objectsOf(stored.ran).map((ran) => ({
      server: textOf(ran.server),
      name: textOf(ran.name),
      arguments: textOf(ran.arguments),
      output: textOf(ran.output),
      isError: ran.isError === true,
    })),
    finish: textOf(stored.finish),
    firstMs: numberOf(stored.firstMs),
    totalMs: numberOf(stored.totalMs),
    usage: readUsage(stored.usage),
    requestId: textOf(stored.requestId),
    cost: stored.cost === null ? null : numberOf(stored.cost),
    provider: textOf(stored.provider),
    target: textOf(stored.target),
    cache: textOf(stored.cache),
    objected: stored.objected === true,
    error: error === "" ? undefined : new Error(error),
  };
}

function readTurn({ message, answer }: JsonObject): readonly Turn[] {
  const id = crypto.randomUUID();
  if (answer !== undefined) return [{ kind: "answer", id, answer: readAnswer(asObject(answer)) }];
  const [read] = readMessages([message]);
  return read === undefined ? [] : [{ kind: "message", id: read.key, message: read }];
}

function readColumn({ target, parameters, messages, turns }: JsonObject): Column {
  return createColumn({
    target: readTarget(target),
    parameters: readParameters(parameters),
    messages: readMessages(messages),
    turns: objectsOf(turns).flatMap(readTurn),
  });
}

/** A saved playground. */
export function readContents(contents: JsonObject): Playground {
  const columns = objectsOf(contents.columns).slice(0, maxColumns).map(readColumn);
  return {
    columns: columns.length === 0 ? [createColumn()] : columns,
    messages: readMessages(contents.messages),
    shared: contents.shared !== false,
    tools: textOf(contents.tools),
    servers: stringsOf(contents.servers),
    prompts: stringsOf(contents.prompts),
    stream: contents.stream !== false,
  };
}
