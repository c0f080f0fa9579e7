import type { CallerContext } from "../../context.ts";
import type { StreamError } from "../../dialects/types.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, objectsIn, parseJson, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { toWholeResponse } from "../cache/whole-response.ts";
import { asksForUsage } from "../facts/operation-facts.ts";
import { findCitations } from "./citations.ts";
import { afterEarlier, joinText, notRun } from "./joined-text.ts";
import { runRounds } from "./run-rounds.ts";
import { isMessagesSearch, isOpenaiSearch, wishOfChat } from "./search-wish.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";
import { searchFunction, searchFunctionName, WebSearch } from "./web-search.ts";

type Item = Readonly<Record<string, unknown>>;

/** Members of a message whose text of all rounds is joined. */
const joined = ["content", "reasoning_content"] as const;

const isSearch = (tool: Item): boolean => isOpenaiSearch(tool) || isMessagesSearch(tool);
const functionOf = (call: Item): Item => (isObject(call.function) ? call.function : {});

function messageOf(body: Item): Item {
  const [choice] = objectsIn(body.choices);
  return isObject(choice?.message) ? choice.message : {};
}

/** Whether any member of a delta says something. */
function saysSomething(delta: Item): boolean {
  return Object.values(delta).some((value) => value !== null && value !== undefined && value !== "");
}

/** Rounds of a chat whose model searches the web. */
class ChatRounds implements RoundForm {
  readonly operation = "chat";
  readonly done = "data: [DONE]\n\n";
  readonly request: ChatRequest;
  readonly #path: string;
  readonly #search: WebSearch;
  readonly #name: string;
  readonly #written: Record<string, string> = {};
  #messages: Item[];
  #choice: unknown;
  /** Id, time and model of the first chunk: all rounds are one response. */
  #head: Item | undefined;

  constructor(request: ChatRequest, settings: WebSearchSettings, context: CallerContext) {
    this.request = request;
    this.#path = context.url.pathname;
    this.#search = new WebSearch(settings, wishOfChat(request) ?? {}, context);
    const names = objectsIn(request.tools).map((tool) => functionOf(tool).name);
    this.#name = searchFunctionName(new Set(names));
    this.#messages = objectsIn(request.messages);
    this.#choice = request.tool_choice;
  }

  path(): string {
    return this.#path;
  }

  /** @throws {InvalidRequestError} 400 for several choices: each would search on its own. */
  async open(): Promise<void> {
    const { n } = this.request;
    if (typeof n !== "number" || n <= 1) return;
    throw new InvalidRequestError("Cannot search the web for more than one choice: leave out n", {
      param: "n",
      code: "unsupported_parameter",
    });
  }

  next(): object {
    const { web_search_options: _, stream, stream_options, tools, ...request } = this.request;
    const others = objectsIn(tools).filter((tool) => !isSearch(tool));
    const choice = this.#choice;
    // a choice that asks for a call would be answered by calls without end
    this.#choice = isObject(choice) || choice === "required" ? "auto" : choice;
    return {
      ...request,
      ...(stream === true && { stream_options: { ...stream_options, include_usage: true } }),
      tools: [...others, { type: "function", function: { name: this.#name, ...searchFunction } }],
      ...(choice != null && { tool_choice: choice }),
      messages: this.#messages,
    };
  }

  async answer(body: Item, _say: Say): Promise<boolean> {
    const message = messageOf(body);
    for (const name of joined) {
      const text = joinText(this.#written[name], stringOf(message[name]));
      if (text !== undefined) this.#written[name] = text;
    }
    const calls = objectsIn(message.tool_calls);
    const own = calls.filter((call) => functionOf(call).name === this.#name);
    if (own.length === 0) return false;
    const outcomes = await this.#search.callAll(own.map((call) => parseJson(String(functionOf(call).arguments))));
    const results = calls.map((call) => {
      const content = outcomes[own.indexOf(call)]?.text ?? notRun;
      return { role: "tool", tool_call_id: call.id, content };
    });
    this.#messages = [...this.#messages, message, ...results];
    return true;
  }

  #annotations(): Item[] {
    return findCitations(this.#written.content ?? "", this.#search.pages).map(
      ({ page: { url, title }, start, end }) => {
        return { type: "url_citation", url_citation: { start_index: start, end_index: end, title, url } };
      },
    );
  }

  finish(last: Item, { usage, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    const [choice] = objectsIn(last.choices);
    const { tool_calls: calls, ...said } = messageOf(last);
    const annotations = this.#annotations();
    const message = {
      ...said,
      ...this.#written,
      ...(annotations.length > 0 && { annotations }),
      ...(!isCut && Array.isArray(calls) && { tool_calls: calls }),
    };
    return {
      ...last,
      ...this.#head,
      choices: [{ ...choice, message, ...(isCut && { finish_reason: "length" }) }],
      ...(usage && { usage }),
    };
  }

  live(): LiveRound {
    let stream = "";
    let usage: unknown;
    const begun = new Set<string>();
    const separate = (name: string, text: unknown): unknown => {
      if (typeof text !== "string" || text === "" || begun.has(name)) return text;
      begun.add(name);
      return afterEarlier(this.#written[name], text);
    };
    return {
      push: (chunk) => {
        stream += `data: ${JSON.stringify(chunk)}\n\n`;
        if (isObject(chunk.usage)) usage = chunk.usage;
        const [choice] = objectsIn(chunk.choices);
        if (!choice) return isObject(chunk.error) ? [chunk] : [];
        const { tool_calls: _, role, ...delta } = isObject(choice.delta) ? choice.delta : {};
        for (const name of joined) if (name in delta) delta[name] = separate(name, delta[name]);
        const isFirst = this.#head === undefined;
        this.#head ??= { id: chunk.id, created: chunk.created, model: chunk.model };
        if (!isFirst && !saysSomething(delta)) return [];
        const shown = { ...(isFirst && { role: role ?? "assistant" }), ...delta };
        const { usage: __, ...rest } = chunk;
        return [{ ...rest, ...this.#head, choices: [{ ...choice, delta: shown, finish_reason: null }] }];
      },
      whole: () => {
        const whole = parseJson(toWholeResponse("chat", stream, usage) ?? "");
        return isObject(whole) ? whole : undefined;
      },
    };
  }

  closing(answer: Item): Item[] {
    const { choices, usage, ...head } = answer;
    const [choice] = objectsIn(choices);
    const { annotations, tool_calls: calls } = messageOf(answer);
    const base = { ...head, object: "chat.completion.chunk" };
    const tool_calls = objectsIn(calls).map((call, index) => ({ index, ...call }));
    const delta = {
      ...(Array.isArray(annotations) && { annotations }),
      ...(tool_calls.length > 0 && { tool_calls }),
    };
    const chunk = (members: Item, finish_reason: unknown): Item => {
      return { ...base, choices: [{ index: 0, delta: members, finish_reason }] };
    };
    return [
      ...(Object.keys(delta).length > 0 ? [chunk(delta, null)] : []),
      chunk({}, choice?.finish_reason ?? "stop"),
      ...(asksForUsage(this.request) && usage !== undefined ? [{ ...base, choices: [], usage }] : []),
    ];
  }

  toErrors({ message, type, code }: StreamError): Item[] {
    return [{ error: { message, type, param: null, code } }];
  }
}

/** Answers a chat whose model searches the web: it calls a function, in rounds. */
export function runChatSearch(
  request: ChatRequest,
  settings: WebSearchSettings,
  context: CallerContext,
): Promise<Reply> {
  return runRounds(new ChatRounds(request, settings, context), context);
}
