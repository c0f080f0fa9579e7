import { azureOpenaiFacts } from "../azure-openai/facts.ts";
import type { FactTable } from "../core/model-facts.ts";

/** What models of the model inference API take: of many makers, among them OpenAI. */
export const inferenceFacts: FactTable = { ...azureOpenaiFacts, common: {} };
