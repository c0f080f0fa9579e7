import { isObject, objectsIn } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a request asks, and all the rest of it. */
export interface Question {
  /** Compared by its meaning. */
  readonly text: string;
  /** Compared exactly: system messages, the roles of the others, and every other field. */
  readonly rest: Members;
}

/** Most messages besides those of the system. */
const maxMessages = 4;
/** About 8,191 tokens of four characters. */
const maxLength = 32_764;

/** Messages that say how to answer: they must be equal. */
const systemRoles: ReadonlySet<unknown> = new Set(["system", "developer"]);
const spokenRoles: ReadonlySet<unknown> = new Set(["user", "assistant"]);

/** The text of a message; undefined where it holds anything else, such as an image or calls of tools. */
function textOf({ content, ...message }: Members): string | undefined {
  const isPlain = Object.keys(message).every((name) => name === "role" || name === "name");
  if (!isPlain) return undefined;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const parts = objectsIn(content).map(({ type, text }) =>
    type === "text" && typeof text === "string" ? text : undefined,
  );
  if (parts.length !== content.length || parts.includes(undefined)) return undefined;
  return parts.join("\n");
}

function readChat({ messages, ...rest }: Members): Question | undefined {
  if (!Array.isArray(messages)) return undefined;
  const all = messages.filter(isObject);
  const spoken = all.filter(({ role }) => !systemRoles.has(role));
  const strings = spoken.map((message) => (spokenRoles.has(message.role) ? textOf(message) : undefined));
  const hasUser = spoken.some(({ role }) => role === "user");
  if (all.length !== messages.length || !hasUser || strings.includes(undefined)) return undefined;
  if (all.length > maxMessages) return undefined;
  // where messages of the system stand among the others is part of what must be equal
  const frame = all.map((message) => {
    if (systemRoles.has(message.role)) return message;
    return { role: message.role, name: message.name };
  });
  return { text: strings.join("\n"), rest: { ...rest, messages: frame } };
}

function readPrompt({ prompt, ...rest }: Members): Question | undefined {
  return typeof prompt === "string" ? { text: prompt, rest } : undefined;
}

/** The question of a request that may be answered by the response to a similar one; undefined for others. */
export function readQuestion(operation: OperationName, request: Members): Question | undefined {
  const found = operation === "chat" ? readChat(request) : operation === "complete" ? readPrompt(request) : undefined;
  if (!found || found.text.trim() === "" || found.text.length > maxLength) return undefined;
  return found;
}
