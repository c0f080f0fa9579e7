import type { CallerContext } from "../../context.ts";
import type { Reply } from "../../lib/reply.ts";
import { shiftDecimal } from "../../pricing/decimals.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { MessagesModel } from "../../schemas/models.ts";
import { isChat, type ListedModel, takesSchemas, tokenPricesOf } from "./listed-model.ts";
import { readCount, readListing, withBody } from "./model-lists.ts";

/** Most models of a page, and the default: clients that read one page see them all. */
const maxPage = 1_000;

/** Whether the client speaks the Anthropic API, whose clients send its version. */
export function isMessagesClient({ headers }: Pick<CallerContext, "headers">): boolean {
  return headers.get("anthropic-version") !== undefined;
}

const support = (supported: boolean) => ({ supported });

/**
 * Capabilities in Anthropic's form; null where nothing is known. The form has each capability: what is not known counts as
 * not supported.
 */
function toCapabilities(facts: ModelFacts): MessagesModel["capabilities"] {
  if (!isChat(facts)) return null;
  const { inputs = [], efforts = [], thinking, reasons = false, canStopThinking = true } = facts;
  const takesEffort = (level: (typeof efforts)[number]) => support(reasons && efforts.includes(level));
  return {
    batch: support(false),
    citations: support(false),
    code_execution: support(false),
    context_management: {
      supported: false,
      clear_thinking_20251015: support(false),
      clear_tool_uses_20250919: support(false),
      compact_20260112: support(false),
    },
    effort: {
      supported: reasons && efforts.length > 0,
      low: takesEffort("low"),
      medium: takesEffort("medium"),
      high: takesEffort("high"),
      xhigh: takesEffort("xhigh"),
      max: takesEffort("max"),
    },
    image_input: support(inputs.includes("image")),
    pdf_input: support(inputs.includes("file")),
    server_tools: { supported: false, code_execution: support(false), web_search: support(false) },
    structured_outputs: support(takesSchemas(facts) === true),
    thinking: {
      supported: reasons,
      types: {
        adaptive: support(thinking === "adaptive" || thinking === "either"),
        between_tools: support(false),
        disabled: support(canStopThinking),
        enabled: support(thinking === "budget" || thinking === "either"),
      },
    },
  };
}

/** Decimal places from dollars per token to dollars per million tokens. */
const perMillion = 6;

/** Window and prices in words: Claude Code shows them where a user chooses a model, and reads no other field with them. */
function toDescription({ facts, prices }: ListedModel): string | undefined {
  const { contextWindow, maxInputTokens = contextWindow } = facts;
  const [price] = prices?.prices ?? [];
  const ofTokens = price && tokenPricesOf(price, facts);
  const [input, output] = [ofTokens?.get("request_token"), ofTokens?.get("response_token")];
  const parts: string[] = [];
  if (maxInputTokens !== undefined) parts.push(`${maxInputTokens.toLocaleString("en-US")} tokens`);
  if (input !== undefined && output !== undefined) {
    parts.push(`$${shiftDecimal(input, perMillion)} in and $${shiftDecimal(output, perMillion)} out per million`);
  }
  return parts.length === 0 ? undefined : parts.join(", ");
}

/** A model in the form of the Anthropic API (https://platform.claude.com/docs/en/api/models/list). */
function toModel(model: ListedModel, today: string): MessagesModel {
  const { id, name, created, facts, asMessages } = model;
  const description = toDescription(model);
  const { contextWindow, maxInputTokens = contextWindow, maxOutputTokens, retiredOn } = facts;
  return {
    type: "model",
    id,
    display_name: name,
    ...(description !== undefined && { description }),
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: maxInputTokens ?? null,
    max_tokens: maxOutputTokens ?? null,
    capabilities: toCapabilities(facts),
    lifecycle: retiredOn === undefined ? "active" : retiredOn > today ? "deprecated" : "retired",
    deprecated_at: null,
    retires_at: retiredOn === undefined ? null : `${retiredOn}T00:00:00Z`,
    line: null,
    ...asMessages,
  };
}

const todayOf = ({ services }: CallerContext): string =>
  new Date(services.clock.now()).toISOString().slice(0, "2026-11-27".length);

/** The page of models before or behind one of them. */
function selectPage(models: readonly ListedModel[], query: URLSearchParams): { page: ListedModel[]; hasMore: boolean } {
  const size = Math.min(readCount(query, "limit", maxPage) || maxPage, maxPage);
  const [before, after] = [query.get("before_id"), query.get("after_id")];
  if (before !== null) {
    const end = models.findIndex(({ id }) => id === before);
    const start = Math.max(0, end - size);
    return { page: models.slice(start, Math.max(0, end)), hasMore: start > 0 };
  }
  const start = after === null ? 0 : models.findIndex(({ id }) => id === after) + 1;
  // a cursor that names no model is behind all of them
  const from = after !== null && start === 0 ? models.length : start;
  return { page: models.slice(from, from + size), hasMore: from + size < models.length };
}

/** The models of `GET /v1/models` for clients of the Anthropic API, page by page. */
export async function listMessagesModels(context: CallerContext): Promise<Reply> {
  const { searchParams: query } = context.url;
  const url = new URL(context.url);
  url.searchParams.delete("limit");
  const { models, reply } = await readListing(context, { url });
  const { page, hasMore } = selectPage(models, query);
  const today = todayOf(context);
  return withBody(reply, {
    data: page.map((model) => toModel(model, today)),
    has_more: hasMore,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  });
}

/** One of them. */
export function toMessagesModel(model: ListedModel, context: CallerContext): MessagesModel {
  return toModel(model, todayOf(context));
}
