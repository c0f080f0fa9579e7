import { geminiDialect } from "../../dialects/gemini/mod.ts";
import { messagesDialect } from "../../dialects/messages/mod.ts";
import { responsesDialect } from "../../dialects/responses/mod.ts";
import type { Dialect } from "../../dialects/types.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";

/** Operations that a chat can serve where a provider does not have them itself. */
type DialectName = "messages" | "generateContent" | "responses";

type AnyDialect = {
  readonly [Name in DialectName]: Dialect<Operations[Name]["request"], Operations[Name]["response"]>;
};

/** Dialects by operation. */
export const dialects: AnyDialect = {
  messages: messagesDialect,
  generateContent: geminiDialect,
  responses: responsesDialect,
};

/** Whether an operation can be served through chat. */
export function isDialect(name: OperationName): name is DialectName {
  return Object.hasOwn(dialects, name);
}
