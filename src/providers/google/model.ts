import { withoutPrefixes } from "../core/model-names.ts";
import { encodeText } from "../shared/hosts.ts";

/** Capabilities of a model, from its name. */
export interface ModelTraits {
  /** Generation such as 2.5 or 3; undefined for names without one, such as `-latest` aliases. */
  generation: number | undefined;
  family: "gemini" | "other";
  /** Larger models cannot turn thinking off. */
  isPro: boolean;
  /** Whether the model accepts system instructions. */
  hasSystemInstruction: boolean;
}

/** The model's name without `models/`, which belongs to the path. */
export function modelName(model: string): string {
  return withoutPrefixes(model, /^\/*models\/+/);
}

/** How Google names its models. */
export const geminiNaming = {
  canonical: modelName,
  inPath(path: string) {
    const [, kind, name] = /(?:^|\/)(models|tunedModels)\/([^:]+)/i.exec(path) ?? [];
    if (name === undefined) return undefined;
    return kind?.toLowerCase() === "models" ? name : `tunedModels/${name}`;
  },
};

/** Path of a model below the base URL; tuned models have their own folder. */
export function modelPath(model: string): string {
  const tuned = /^tunedModels\/(.+)$/.exec(model)?.[1];
  return tuned === undefined
    ? `/models/${encodeText("model", modelName(model))}`
    : `/tunedModels/${encodeText("model", tuned)}`;
}

/** Reads the name of a model (https://ai.google.dev/gemini-api/docs/models). */
export function traitsOf(model: string): ModelTraits {
  const name = modelName(model);
  const [, generation] = /^gemini-([0-9]+(?:\.[0-9]+)?)(?:-|$)/.exec(name) ?? [];
  return {
    generation: generation === undefined ? undefined : Number(generation),
    family: name.startsWith("gemini-") ? "gemini" : "other",
    isPro: /-pro(?:-|$)/.test(name),
    hasSystemInstruction: !/^(?:gemma-|gemini-1\.0-|gemini-pro(?:-|$))/.test(name),
  };
}
