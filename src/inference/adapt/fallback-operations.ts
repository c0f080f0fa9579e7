import { fromEmbedding, fromEmbeddings, toEmbedding, toEmbeddings } from "../../dialects/gemini/embed.ts";
import { toCountedChat } from "../../dialects/gemini/to-chat.ts";
import { messagesDialect } from "../../dialects/messages/mod.ts";
import type { DialectOptions } from "../../dialects/types.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";

/** How an operation is answered by another one, which is no chat. */
export interface Bridge<Name extends OperationName = OperationName, Over extends OperationName = OperationName> {
  over: Over;
  /**
   * The other operation's request; leaves its argument unchanged.
   *
   * @throws {InvalidRequestError} If the answer would not be what was asked.
   */
  toRequest(request: Operations[Name]["request"], options: DialectOptions): Operations[Over]["request"];
  /** The answer from the other operation's. Absent: it is the same. */
  fromAnswer?(answer: Operations[Over]["response"]): Operations[Name]["response"];
}

/** Declares a bridge between two operations. */
function bridge<Name extends OperationName, Over extends OperationName>(row: Bridge<Name, Over>): Bridge {
  // the parameters of its functions are narrower than the table says: it is only ever asked for by the name it stands under
  return row as unknown as Bridge;
}

/** Bridges by the operation they stand for. */
export const bridges: { readonly [Name in OperationName]?: Bridge } = {
  countTokens: bridge<"countTokens", "countChat">({
    over: "countChat",
    toRequest: (request, options) => messagesDialect.toChat({ ...request, max_tokens: 1 }, options),
  }),
  countContents: bridge<"countContents", "countChat">({
    over: "countChat",
    toRequest: toCountedChat,
    fromAnswer: ({ input_tokens: tokens }) => ({ totalTokens: tokens }),
  }),
  embedContent: bridge<"embedContent", "embed">({
    over: "embed",
    toRequest: toEmbedding,
    fromAnswer: fromEmbedding,
  }),
  batchEmbedContents: bridge<"batchEmbedContents", "embed">({
    over: "embed",
    toRequest: toEmbeddings,
    fromAnswer: fromEmbeddings,
  }),
};
