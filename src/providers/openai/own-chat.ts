import type { ChatRequest } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { fitChat } from "../core/fit-chat.ts";
import { createFactReader } from "../core/model-facts.ts";
import type { ConversionOptions } from "../core/types.ts";
import { openModelRows } from "../openai-compatible/facts/open-models.ts";
import type { RequestBody } from "../openai-compatible/request.ts";
import { openaiFacts } from "./facts.ts";

const factsOf = createFactReader(openaiFacts);
const openFactsOf = createFactReader({ read: openaiFacts.read, sources: [], newest: {}, rows: openModelRows });

/** Models without reasoning: they reject `reasoning_effort`. */
const reasonsNot = /^(?:ft:)?(?:gpt-3\.5|gpt-4|chatgpt-4o)/;

/** Drops an effort level the model does not support (https://platform.openai.com/docs/guides/reasoning). */
function leaveOutEffort(body: RequestBody, { drop }: ConversionOptions): void {
  if (body.reasoning_effort === undefined || !reasonsNot.test(String(body.model))) return;
  if (body.reasoning_effort !== null && body.reasoning_effort !== "none") drop("reasoning_effort");
  delete body.reasoning_effort;
}

/** Gives the output limit its newer name where the model takes no other. */
function renameLimit(body: RequestBody, { takesMaxTokens = true }: ModelFacts, { drop }: ConversionOptions): void {
  const { max_tokens: limit } = body;
  if (takesMaxTokens || limit === undefined) return;
  delete body.max_tokens;
  if (limit === null) return;
  const newer = body.max_completion_tokens ?? undefined;
  if (newer !== undefined && newer !== limit) drop("max_tokens");
  body.max_completion_tokens = newer ?? limit;
}

/** Drops the sampling that a model refuses while it reasons. */
function leaveOutSampling(body: RequestBody, facts: ModelFacts, { drop }: ConversionOptions): void {
  const { reasoning_effort: effort } = body;
  const reasons = effort === undefined || effort === null ? facts.thinksByDefault === true : effort !== "none";
  if (facts.sampling !== "none" || !reasons) return;
  for (const name of ["temperature", "top_p"]) {
    const value = body[name];
    if (value === undefined || value === 1) continue;
    if (value !== null) drop(name);
    delete body[name];
  }
}

/**
 * Fits a chat to an open model at a caller's own server: its chat template refuses what the clients of OpenAI's models send, such
 * as two messages of the user in a row.
 */
function fitOpenModel(body: RequestBody, options: ConversionOptions): void {
  const facts = openFactsOf(String(body.model));
  if (Object.keys(facts).length === 0) return;
  const fitted = fitChat(body as ChatRequest, facts, options); // a chat, whose fields may be deleted
  for (const name of Object.keys(body)) if (!(name in fitted)) delete body[name];
  Object.assign(body, fitted);
}

/** Only models that the table names are certain to refuse what is changed for them. */
const asNamed = { hasCustomHost: true };

/**
 * Brings a chat of OpenAI's own dialect into the form that the model takes: agents and SDKs for compatible hosts write one form
 * for all models.
 */
export function fitOwnChat(body: RequestBody, options: ConversionOptions): void {
  const facts = { ...factsOf(String(body.model), asNamed), ...options.modelFacts };
  leaveOutEffort(body, options);
  renameLimit(body, facts, options);
  leaveOutSampling(body, facts, options);
  if (options.hasCustomHost && !options.isConverted) fitOpenModel(body, options);
}
