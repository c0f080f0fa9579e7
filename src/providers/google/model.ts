import { withoutPrefixes } from "../core/model-names.ts";
import { encodeText } from "../shared/hosts.ts";

/** What the name of a model tells of what it takes. */
export interface ModelTraits {
  /** Generation such as 2.5 or 3; undefined for names without one, such as aliases of the newest. */
  generation: number | undefined;
  family: "gemini" | "other";
  /** Larger models think always. */
  isPro: boolean;
  /** Whether instructions can be given apart from the conversation. */
  hasSystemInstruction: boolean;
}

/** The plain name of a model: `models/` in front is part of its address. */
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

/** Path of a model below the base address; tuned models live beside the others. */
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
