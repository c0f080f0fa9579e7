import { useCallback, useSyncExternalStore } from "react";
import type { Answer } from "@/chat/answer.ts";
import { createMessage, type Message } from "@/chat/messages.ts";
import { useSession } from "@/session/context.tsx";

export type TargetKind = "provider" | "config" | "prompt";

/** Where a column sends its requests. */
export interface Target {
  readonly kind: TargetKind;
  /** `@slug` of a stored provider, or the name of one that needs no credential. */
  readonly provider: string;
  readonly model: string;
  /** Slug of a saved config. */
  readonly config: string;
  /** Slug of a saved prompt, with `@version` or `@label`. */
  readonly prompt: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Parameters as they are typed: empty means not sent. */
export interface Parameters {
  readonly temperature: number | string;
  readonly maxTokens: number | string;
  readonly topP: number | string;
  readonly stop: readonly string[];
  readonly format: string;
  /** JSON schema of the answer, as text. */
  readonly schema: string;
  readonly effort: string;
  /** Further members of the body, as JSON text. */
  readonly extra: string;
}

/** What follows the first messages of a column. */
export type Turn =
  | { readonly kind: "answer"; readonly id: string; readonly answer: Answer }
  | { readonly kind: "message"; readonly id: string; readonly message: Message };

/** One of the columns side by side. */
export interface Column {
  readonly id: string;
  readonly target: Target;
  readonly parameters: Parameters;
  /** Its own messages, where columns do not share them. */
  readonly messages: readonly Message[];
  readonly turns: readonly Turn[];
}

export interface Playground {
  readonly columns: readonly Column[];
  readonly messages: readonly Message[];
  /** Whether all columns have the same messages. */
  readonly shared: boolean;
  /** Tools as JSON text. */
  readonly tools: string;
  /** Slugs of MCP servers whose tools the gateway runs. */
  readonly servers: readonly string[];
  /** Saved prompts that models may call, `slug` or `slug@version`: the gateway runs them. */
  readonly prompts: readonly string[];
  readonly stream: boolean;
}

export const emptyTarget: Target = { kind: "provider", provider: "", model: "", config: "", prompt: "", variables: {} };

export const emptyParameters: Parameters = {
  temperature: "",
  maxTokens: "",
  topP: "",
  stop: [],
  format: "",
  schema: "",
  effort: "",
  extra: "",
};

export function createColumn(changes: Partial<Column> = {}): Column {
  return {
    id: crypto.randomUUID(),
    target: emptyTarget,
    parameters: emptyParameters,
    messages: [],
    turns: [],
    ...changes,
  };
}

/** Most columns side by side. */
export const maxColumns = 4;

export function createPlayground(): Playground {
  return {
    columns: [createColumn()],
    messages: [createMessage("system"), createMessage("user")],
    shared: true,
    tools: "",
    servers: [],
    prompts: [],
    stream: true,
  };
}

export type Update = (change: (before: Playground) => Playground) => void;

// What was typed survives leaving the page, for the one who typed it and in memory alone.
const memory: { owner: string; state: Playground } = { owner: "", state: createPlayground() };
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The playground of who signed in, and how to change it. */
export function usePlayground(): readonly [Playground, Update] {
  const { principal } = useSession();
  const owner = [principal.organisation_id, principal.workspace_id, principal.user?.id, principal.key?.id].join(" ");
  if (memory.owner !== owner) {
    memory.owner = owner;
    memory.state = createPlayground();
  }
  const state = useSyncExternalStore(subscribe, () => memory.state);
  const update = useCallback<Update>(
    (change) => {
      // an answer that arrives after another person signed in is dropped
      if (memory.owner !== owner) return;
      memory.state = change(memory.state);
      for (const listener of listeners) listener();
    },
    [owner],
  );
  return [state, update];
}

/** The playground with one column changed. */
export function withColumn(state: Playground, id: string, change: (column: Column) => Column): Playground {
  return { ...state, columns: state.columns.map((column) => (column.id === id ? change(column) : column)) };
}
