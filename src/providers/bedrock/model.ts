import { type ClaudeFamily, familyOf } from "../anthropic/family.ts";
import type { ConversionOptions } from "../core/types.ts";

/** What an id says about a model. */
export interface BedrockModel {
  /** The model's vendor from the id; empty when the id does not contain one. */
  vendor: string;
  /** The id without region and vendor. */
  name: string;
}

/** Prefixes of cross-region inference profile ids. */
const regionPrefix = /^(?:us-gov|us|eu|apac|au|ca|jp|global)\./;

/** The id that names the model: the one that is stated, where the other is an ARN or has no vendor. */
export function modelBehind(id: string, stated: string | undefined): string {
  const isPlain = !id.startsWith("arn:") && id.replace(regionPrefix, "").includes(".");
  return stated === undefined || isPlain ? id : stated;
}

/**
 * The model behind an id, an inference profile or an ARN
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html).
 *
 * @param stated The foundation model the caller names beside the id: some ARNs do not contain it.
 */
export function readModel(id: string, stated?: string): BedrockModel {
  const named = modelBehind(id, stated);
  const part = named.startsWith("arn:") ? named.slice(named.lastIndexOf("/") + 1) : named;
  const plain = part.replace(regionPrefix, "");
  const dot = plain.indexOf(".");
  return dot < 0 ? { vendor: "", name: plain } : { vendor: plain.slice(0, dot), name: plain.slice(dot + 1) };
}

/** Capabilities of a Claude model; undefined for other models, and for ids that do not identify the model. */
export function claudeFamily(
  { vendor, name }: BedrockModel,
  options: Pick<ConversionOptions, "modelFacts"> = {},
): ClaudeFamily | undefined {
  return vendor === "anthropic" ? familyOf(name, options) : undefined;
}

/** Whether a model is one of Amazon's Nova models. */
export function isNova({ vendor, name }: BedrockModel): boolean {
  return vendor === "amazon" && name.startsWith("nova");
}

/** Whether a model supports cache points for prompt caching. */
export function takesCachePoints(model: BedrockModel): boolean {
  return model.vendor === "anthropic" || model.vendor === "" || isNova(model);
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
