import type { RequestType } from "../guardrails/types.ts";
import type { OperationName } from "../providers/operations.ts";

/** Operations hooks run for, by the names checks know them under. */
export const requestTypes: { readonly [Name in OperationName]?: RequestType } = {
  chat: "chatComplete",
  complete: "complete",
  messages: "messages",
  responses: "createModelResponse",
  generateContent: "generateContent",
  embed: "embed",
  embedContent: "embed",
  batchEmbedContents: "embed",
};
