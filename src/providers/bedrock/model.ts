import { type ClaudeFamily, familyOf } from "../anthropic/family.ts";

/** What an id says about a model. */
export interface BedrockModel {
  /** The model's vendor from the id; empty when the id does not contain one. */
  vendor: string;
  /** The id without region and vendor. */
  name: string;
}

/** Prefixes of cross-region inference profile ids. */
const regionPrefix = /^(?:us-gov|us|eu|apac|au|ca|jp|global)\./;

/**
 * The model behind an id, an inference profile or an ARN
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html).
 *
 * @param stated The foundation model the caller names beside the id: some ARNs do not contain it.
 */
export function readModel(id: string, stated?: string): BedrockModel {
  const part = id.startsWith("arn:") ? id.slice(id.lastIndexOf("/") + 1) : id;
  const plain = part.replace(regionPrefix, "");
  const dot = plain.indexOf(".");
  if (stated !== undefined && (id.startsWith("arn:") || dot < 0)) return readModel(stated);
  return dot < 0 ? { vendor: "", name: plain } : { vendor: plain.slice(0, dot), name: plain.slice(dot + 1) };
}

/** Capabilities of a Claude model; undefined for other models, and for ids that do not identify the model. */
export function claudeFamily({ vendor, name }: BedrockModel): ClaudeFamily | undefined {
  return vendor === "anthropic" ? familyOf(name) : undefined;
}

/** Whether a model supports cache points for prompt caching. */
export function takesCachePoints({ vendor, name }: BedrockModel): boolean {
  return vendor === "anthropic" || vendor === "" || (vendor === "amazon" && name.startsWith("nova"));
}

/** Whether a model supports a required tool call. */
export function takesToolChoice({ vendor }: BedrockModel): boolean {
  return ["anthropic", "amazon", "mistral", ""].includes(vendor);
}

/** How models are named here. A model's ARN counts by its id, and an inference profile is a variant of its model. */
export const bedrockNaming = {
  canonical: (model: string) => /^arn:[^/]*:(?:foundation-model|inference-profile)\/(.+)$/i.exec(model)?.[1] ?? model,
  variantOf: (model: string) => (regionPrefix.test(model) ? model.replace(regionPrefix, "") : undefined),
  inPath: (path: string) => /^\/?model\/(.+)\/[^/]+$/i.exec(path)?.[1],
};
