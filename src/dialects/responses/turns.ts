import { InvalidRequestError } from "../../errors.ts";
import { objectsIn } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { type Part, toContent } from "../chat-writer.ts";
import { textOfParts, toParts } from "./parts.ts";
import { readEncryptedContent } from "./signatures.ts";
import { toChatName } from "./tools.ts";

type Message = ChatRequest["messages"][number];
type Item = Readonly<Record<string, unknown>>;
type Drop = (member: string) => void;

/** Text, reasoning and calls of an assistant, item by item. */
class AssistantTurn {
  readonly #said: Part[] = [];
  /** Reasoning, text and the places of calls in order. */
  readonly #blocks: Part[] = [];
  readonly #calls: Part[] = [];
  #thoughts = "";
  /** Signature of the reasoning behind the next call. */
  #signature: string | undefined;
  #isSigned = false;

  say(parts: readonly Part[]): void {
    this.#said.push(...parts);
    this.#blocks.push(...parts);
  }

  think({ encrypted_content: encrypted, summary, content }: Item, drop: Drop): void {
    const carried = readEncryptedContent(encrypted);
    const text = [summary, content]
      .flatMap(objectsIn)
      .map((part) => (typeof part.text === "string" ? part.text : ""))
      .join("");
    if (carried?.kind === "call") {
      this.#signature = carried.text;
    } else if (carried) {
      this.#isSigned = true;
      const isReasoning = carried.kind === "thought";
      this.#blocks.push(
        isReasoning
          ? { type: "thinking", thinking: text, signature: carried.text }
          : { type: "redacted_thinking", data: carried.text },
      );
    } else if (encrypted === null || encrypted === undefined) {
      this.#thoughts += text;
    } else {
      drop("input.reasoning");
    }
  }

  call(item: Item, given: string): void {
    const signature = this.#signature;
    this.#signature = undefined;
    this.#blocks.push(callPlace(item.call_id));
    this.#calls.push({
      id: item.call_id,
      type: "function",
      function: { name: toChatName(item), arguments: given },
      ...(signature !== undefined && { thought_signature: signature }),
    });
  }

  toMessages(): Message[] {
    const hasCalls = this.#calls.length > 0;
    if (this.#said.length === 0 && !hasCalls && !this.#isSigned && this.#thoughts === "") return [];
    return [
      {
        role: "assistant",
        content: this.#said.length === 0 ? null : toContent(this.#said),
        ...(this.#isSigned && { content_blocks: trimPlaces(this.#blocks) }),
        ...(!this.#isSigned && this.#thoughts !== "" && { reasoning_content: this.#thoughts }),
        ...(hasCalls && { tool_calls: this.#calls }),
      },
    ];
  }
}

/** Builds the messages of a chat from the items of an input. */
class MessageBuilder {
  readonly #messages: Message[] = [];
  readonly #drop: Drop;
  #turn: AssistantTurn | undefined;
  /** Media in tool results, whose messages accept text only. */
  #media: Part[] = [];

  constructor(drop: Drop) {
    this.#drop = drop;
  }

  add(item: Item): void {
    switch (item.type) {
      case undefined:
      case null:
      case "message":
        this.#addMessage(item);
        break;
      case "function_call":
        this.#assistant().call(item, typeof item.arguments === "string" ? item.arguments : "{}");
        break;
      case "custom_tool_call":
        this.#assistant().call(item, JSON.stringify({ input: String(item.input ?? "") }));
        break;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addResult(item.call_id, item.output);
        break;
      case "reasoning":
        this.#assistant().think(item, this.#drop);
        break;
      case "additional_tools":
        // they are among the tools of the request
        break;
      case "item_reference":
        refuseReference();
        break;
      default:
        this.#drop(`input.${String(item.type)}`);
    }
  }

  finish(): Message[] {
    this.#endTurn();
    this.#endResults();
    return this.#messages;
  }

  #assistant(): AssistantTurn {
    this.#endResults();
    this.#turn ??= new AssistantTurn();
    return this.#turn;
  }

  #addMessage({ role, content, ...item }: Item): void {
    if (role === "tool") {
      this.#addResult(item.call_id ?? item.tool_call_id, content);
      return;
    }
    const parts = toParts(content, this.#drop);
    if (role === "assistant") {
      this.#assistant().say(parts);
      return;
    }
    this.#endTurn();
    this.#endResults();
    if (parts.length === 0) return;
    const isUser = role === "user" || role === undefined;
    this.#messages.push({ role: isUser ? "user" : "system", content: toContent(parts) });
  }

  #addResult(id: unknown, output: unknown): void {
    this.#endTurn();
    const parts = toParts(output, this.#drop);
    this.#messages.push({ role: "tool", tool_call_id: String(id), content: textOfParts(parts) });
    const shown = parts.filter(({ type }) => type !== "text");
    if (shown.length === 0) return;
    this.#media.push({ type: "text", text: `Shown by the tool call ${String(id)}:` }, ...shown);
  }

  #endTurn(): void {
    this.#messages.push(...(this.#turn?.toMessages() ?? []));
    this.#turn = undefined;
  }

  #endResults(): void {
    if (this.#media.length > 0) this.#messages.push({ role: "user", content: this.#media });
    this.#media = [];
  }
}

function refuseReference(): never {
  throw new InvalidRequestError("Cannot use item_reference here: the provider of this model does not store items", {
    param: "input",
    code: "unsupported_parameter",
  });
}

/**
 * Messages of a chat from the items of an input.
 *
 * @throws {InvalidRequestError} If an item references another one.
 */
export function toMessages(input: ResponsesRequest["input"], drop: Drop): Message[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  const builder = new MessageBuilder(drop);
  for (const item of input ?? []) builder.add(item);
  return builder.finish();
}
