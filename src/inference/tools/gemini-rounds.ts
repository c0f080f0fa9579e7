import type { CallerContext } from "../../context.ts";
import { toErrorEvent } from "../../dialects/gemini/events.ts";
import type { StreamError } from "../../dialects/types.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import type { GenerateContentRequest } from "../../schemas/gemini.ts";
import { toWholeResponse } from "../cache/whole-response.ts";
import { findCitations } from "./citations.ts";
import { afterEarlier, notRun } from "./joined-text.ts";
import { runRounds } from "./run-rounds.ts";
import { wishOfGemini, withoutGeminiSearch } from "./search-wish.ts";
import type { LiveRound, RoundForm, Say } from "./tool-rounds.ts";
import { searchFunction, searchFunctionName, WebSearch } from "./web-search.ts";

type Item = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();

const callOf = (part: Item): Item | undefined => (isObject(part.functionCall) ? part.functionCall : undefined);
/** Whether a part is text of the response, not of its reasoning. */
const isText = (part: Item): boolean => typeof part.text === "string" && part.thought !== true;

function partsOf(body: Item): Item[] {
  const [candidate] = objectsIn(body.candidates);
  return isObject(candidate?.content) ? objectsIn(candidate.content.parts) : [];
}

/** The text of parts. */
function textOf(parts: readonly Item[]): string {
  return parts
    .filter(isText)
    .map(({ text }) => String(text))
    .join("");
}

/** Parts that follow those of earlier rounds. */
function follow(earlier: string, parts: readonly Item[]): Item[] {
  const first = parts.findIndex((part) => isText(part) && part.text !== "");
  return parts.map((part, index) =>
    index === first ? { ...part, text: afterEarlier(earlier, String(part.text)) } : part,
  );
}

/** Parts without neighbours that are both plain text. */
function merge(parts: readonly Item[]): Item[] {
  const merged: Item[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    const isPlain = (one: Item | undefined): one is Item =>
      one !== undefined && isText(one) && Object.keys(one).length === 1;
    if (isPlain(last) && isPlain(part)) merged.splice(-1, 1, { text: `${String(last.text)}${String(part.text)}` });
    else merged.push(part);
  }
  return merged;
}

/** Rounds of a request of the Gemini API whose model searches the web. */
class GeminiRounds implements RoundForm {
  readonly operation = "generateContent";
  readonly request: GenerateContentRequest;
  readonly #path: string;
  readonly #search: WebSearch;
  readonly #name: string;
  readonly #parts: Item[] = [];
  #contents: Item[];
  #config: unknown;

  constructor(request: GenerateContentRequest, settings: WebSearchSettings, context: CallerContext) {
    this.request = request;
    this.#path = context.url.pathname;
    this.#search = new WebSearch(settings, wishOfGemini(request) ?? {}, context);
    const names = objectsIn(request.tools).flatMap((tool) =>
      objectsIn(tool.functionDeclarations ?? tool.function_declarations).map(({ name }) => name),
    );
    this.#name = searchFunctionName(new Set(names));
    this.#contents = objectsIn(request.contents);
    this.#config = request.toolConfig ?? request.tool_config;
  }

  path(isStreamed: boolean): string {
    return isStreamed ? `${this.#path}?alt=sse` : this.#path;
  }

  async open(): Promise<void> {}

  next(): object {
    const { model: _, tools, toolConfig: __, tool_config: ___, ...request } = this.request as Item;
    const others = objectsIn(tools)
      .map(withoutGeminiSearch)
      .filter((tool) => Object.keys(tool).length > 0);
    const { description, parameters } = searchFunction;
    const declaration = { name: this.#name, description, parametersJsonSchema: parameters };
    const config = this.#config;
    // a mode that asks for a call would be answered by calls without end
    if (isObject(config) && isObject(config.functionCallingConfig)) {
      this.#config = { ...config, functionCallingConfig: { mode: "AUTO" } };
    }
    return {
      ...request,
      tools: [...others, { functionDeclarations: [declaration] }],
      ...(config !== undefined && { toolConfig: config }),
      contents: this.#contents,
    };
  }

  async answer(body: Item, _say: Say): Promise<boolean> {
    const parts = partsOf(body);
    const calls = parts.map(callOf).filter((call) => call !== undefined);
    const own = calls.filter(({ name }) => name === this.#name);
    const said = own.length === 0 ? parts : parts.filter((part) => !callOf(part));
    this.#parts.push(...follow(textOf(this.#parts), said));
    if (own.length === 0) return false;
    const outcomes = await this.#search.callAll(own.map(({ args }) => args));
    const results = calls.map((call) => {
      const outcome = outcomes[own.indexOf(call)];
      const response = outcome ? { [outcome.isError ? "error" : "result"]: outcome.text } : { error: notRun };
      return { functionResponse: { ...(call.id !== undefined && { id: call.id }), name: call.name, response } };
    });
    const [candidate] = objectsIn(body.candidates);
    const turn = isObject(candidate?.content) ? candidate.content : { role: "model", parts };
    this.#contents = [...this.#contents, turn, { role: "user", parts: results }];
    return true;
  }

  /** What the response is grounded in (https://ai.google.dev/api/generate-content#GroundingMetadata). */
  #grounding(): Item | undefined {
    const { pages, queries } = this.#search;
    if (queries.length === 0) return undefined;
    const places = new Map([...pages.keys()].map((url, index) => [url, index]));
    const text = textOf(this.#parts);
    const bytesUntil = (end: number): number => encoder.encode(text.slice(0, end)).length;
    const groundingSupports = findCitations(text, pages).map(({ page, start, end }) => ({
      segment: { startIndex: bytesUntil(start), endIndex: bytesUntil(end), text: text.slice(start, end) },
      groundingChunkIndices: [places.get(page.url) ?? 0],
    }));
    const groundingChunks = [...pages.values()].map(({ url: uri, title }) => ({ web: { uri, title } }));
    return { webSearchQueries: queries, groundingChunks, groundingSupports };
  }

  finish(last: Item, { usage, isCut }: { usage: Item | undefined; isCut: boolean }): Item {
    const [candidate] = objectsIn(last.candidates);
    const groundingMetadata = this.#grounding();
    const shown = {
      ...candidate,
      content: { role: "model", parts: merge(this.#parts) },
      ...(isCut && { finishReason: "MAX_TOKENS" }),
      ...(groundingMetadata && { groundingMetadata }),
    };
    return { ...last, candidates: [shown], ...(usage && { usageMetadata: usage }) };
  }

  live(): LiveRound {
    let stream = "";
    let earlier = textOf(this.#parts);
    return {
      push: (chunk) => {
        stream += `data: ${JSON.stringify(chunk)}\n\n`;
        if (isObject(chunk.error)) return [chunk];
        const parts = partsOf(chunk).filter((part) => !callOf(part));
        if (parts.length === 0) return [];
        const shown = follow(earlier, parts);
        if (textOf(parts) !== "") earlier = "";
        const [candidate] = objectsIn(chunk.candidates);
        const { usageMetadata: _, ...rest } = chunk;
        const { finishReason: __, ...members } = candidate ?? {};
        return [{ ...rest, candidates: [{ ...members, content: { role: "model", parts: shown } }] }];
      },
      whole: () => {
        const whole = parseJson(toWholeResponse("generateContent", stream, undefined) ?? "");
        return isObject(whole) ? whole : undefined;
      },
    };
  }

  closing(answer: Item): Item[] {
    const [candidate] = objectsIn(answer.candidates);
    const parts = partsOf(answer).filter((part) => callOf(part));
    return [{ ...answer, candidates: [{ ...candidate, content: { role: "model", parts } }] }];
  }

  toErrors(error: StreamError): Item[] {
    return [toErrorEvent(error)];
  }
}

/** Answers a request whose model searches the web: it calls a function, in rounds. */
export function runGeminiSearch(
  request: GenerateContentRequest,
  settings: WebSearchSettings,
  context: CallerContext,
): Promise<Reply> {
  return runRounds(new GeminiRounds(request, settings, context), context);
}
