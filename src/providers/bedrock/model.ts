import { type ClaudeFamily, familyOf } from "../anthropic/family.ts";

/** What an id says of a model. */
export interface BedrockModel {
  /** Who made the model, as ids name it; empty where the id does not say. */
  vendor: string;
  /** The id without region and vendor. */
  name: string;
}

/** Beginnings of ids that name an inference profile across regions. */
const regionPrefix = /^(?:us-gov|us|eu|apac|au|ca|jp|global)\./;

/**
 * The model behind an id, an inference profile or an ARN
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html).
 *
 * @param stated The foundation model the caller names beside the id: some ARNs do not tell it.
 */
export function readModel(id: string, stated?: string): BedrockModel {
  const part = id.startsWith("arn:") ? id.slice(id.lastIndexOf("/") + 1) : id;
  const plain = part.replace(regionPrefix, "");
  const dot = plain.indexOf(".");
  if (stated !== undefined && (id.startsWith("arn:") || dot < 0)) return readModel(stated);
  return dot < 0 ? { vendor: "", name: plain } : { vendor: plain.slice(0, dot), name: plain.slice(dot + 1) };
}

/** What a Claude model can do; undefined for other models, and for ids that do not tell the model. */
export function claudeFamily({ vendor, name }: BedrockModel): ClaudeFamily | undefined {
  return vendor === "anthropic" ? familyOf(name) : undefined;
}

/** Whether a model takes marks of what is to be kept in its prompt cache. */
export function takesCachePoints({ vendor, name }: BedrockModel): boolean {
  return vendor === "anthropic" || vendor === "" || (vendor === "amazon" && name.startsWith("nova"));
}

/** Whether a model can be made to call a tool. */
export function takesToolChoice({ vendor }: BedrockModel): boolean {
  return ["anthropic", "amazon", "mistral", ""].includes(vendor);
}

/** How models are named here. Of a model's ARN only its id counts, and an inference profile is a variant of its model. */
export const bedrockNaming = {
  canonical: (model: string) => /^arn:[^/]*:(?:foundation-model|inference-profile)\/(.+)$/i.exec(model)?.[1] ?? model,
  variantOf: (model: string) => (regionPrefix.test(model) ? model.replace(regionPrefix, "") : undefined),
  inPath: (path: string) => /^\/?model\/(.+)\/[^/]+$/i.exec(path)?.[1],
};
