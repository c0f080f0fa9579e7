import { withoutPrefixes } from "../core/model-names.ts";
import { encodeText } from "../shared/hosts.ts";

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
