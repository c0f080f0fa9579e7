import { fromEmbedding, fromEmbeddings, toEmbedding, toEmbeddings } from "../../dialects/gemini/embed.ts";
import { toCountedChat } from "../../dialects/gemini/to-chat.ts";
import { messagesDialect } from "../../dialects/messages/mod.ts";
import type { DialectOptions } from "../../dialects/types.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";

/** How an operation is served by another one that is not chat. */
export interface FallbackOperation<
  Name extends OperationName = OperationName,
  Over extends OperationName = OperationName,
> {
  over: Over;
  /**
   * The other operation's request; leaves its argument unchanged.
   *
   * @throws {InvalidRequestError} If the response would not be what was requested.
   */
  toRequest(request: Operations[Name]["request"], options: DialectOptions): Operations[Over]["request"];
  /** The response, from that of the other operation. Absent: it is the same. */
  fromAnswer?(answer: Operations[Over]["response"]): Operations[Name]["response"];
}

/** Declares that one operation serves another. */
function defineFallback<Name extends OperationName, Over extends OperationName>(
  row: FallbackOperation<Name, Over>,
): FallbackOperation {
  // the functions take narrower parameters than the table says; each is only looked up by its own operation
  return row as unknown as FallbackOperation;
}

/** Fallbacks by the operation they serve. */
export const fallbackOperations: { readonly [Name in OperationName]?: FallbackOperation } = {
  countTokens: defineFallback<"countTokens", "countChat">({
    over: "countChat",
    toRequest: (request, options) => messagesDialect.toChat({ ...request, max_tokens: 1 }, options),
  }),
  countContents: defineFallback<"countContents", "countChat">({
    over: "countChat",
    toRequest: toCountedChat,
    fromAnswer: ({ input_tokens: tokens }) => ({ totalTokens: tokens }),
  }),
  embedContent: defineFallback<"embedContent", "embed">({
    over: "embed",
    toRequest: toEmbedding,
    fromAnswer: fromEmbedding,
  }),
  batchEmbedContents: defineFallback<"batchEmbedContents", "embed">({
    over: "embed",
    toRequest: toEmbeddings,
    fromAnswer: fromEmbeddings,
  }),
};
