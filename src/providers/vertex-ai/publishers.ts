import { InvalidRequestError } from "../../errors.ts";
import { modelName } from "../google/model.ts";
import { generateAction } from "../google/native.ts";
import { encodeText } from "../shared/hosts.ts";
import { locationPath, projectOf, type VertexSettings } from "./settings.ts";

/** API dialect of a publisher's models. */
type Dialect = "gemini" | "openai" | "mistral" | "claude";

/** How a publisher's models are called. */
interface Publisher {
  dialect: Dialect;
  /** Version of the API; default `v1`. */
  version?: string;
  /** Called by a deployment instead of a name. */
  isDeployed?: true;
}

/**
 * Publishers by model name prefix, up to the first dot
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/use-partner-models).
 */
const publishers: Readonly<Record<string, Publisher>> = {
  google: { dialect: "gemini" },
  anthropic: { dialect: "claude" },
  mistralai: { dialect: "mistral" },
  meta: { dialect: "openai", version: "v1beta1" },
  qwen: { dialect: "openai" },
  xai: { dialect: "openai" },
  moonshotai: { dialect: "openai" },
  "zai-org": { dialect: "openai" },
  "deepseek-ai": { dialect: "openai" },
  openai: { dialect: "openai" },
  endpoints: { dialect: "openai", isDeployed: true },
};

/** Publishers whose models speak OpenAI's or Mistral's dialect. */
export const openPublishers = Object.entries(publishers).flatMap(([name, { dialect }]) =>
  dialect === "openai" || dialect === "mistral" ? [name] : [],
);

/** A model and its publisher. */
export interface PublishedModel extends Publisher {
  publisher: string;
  /** Its name without the publisher. */
  name: string;
}

/**
 * The publisher of a model: the text before its first dot or slash, else Anthropic for names of Claude, else Google.
 *
 * @throws {InvalidRequestError} If the publisher's models cannot be called.
 */
export function readModel(model: string): PublishedModel {
  const plain = modelName(model)
    .replace(/^publishers\/([^/]+)\/models\//, "$1.")
    .replace(/^([a-z0-9-]+)\//, "$1.");
  const point = plain.indexOf(".");
  const isClaude = point < 0 && plain.startsWith("claude-");
  const publisher = isClaude ? "anthropic" : plain.slice(0, Math.max(point, 0));
  const name = plain.slice(point + 1);
  const known = Object.hasOwn(publishers, publisher) ? publishers[publisher] : undefined;
  if (!known) return { dialect: "gemini", publisher: "google", name: plain };
  if (known.isDeployed && !/^[A-Za-z0-9_-]{1,100}$/.test(name)) {
    throw new InvalidRequestError("Cannot call this endpoint: use endpoints.<id>", {
      param: "model",
      code: "invalid_model",
    });
  }
  return { ...known, publisher, name };
}

/** One name for all spellings of a model: with its publisher, which Google's own models omit. */
function canonicalModel(model: string): string {
  const plain = model.replace(/^.*(?=publishers\/[^/]+\/models\/)/, "");
  let name = plain;
  for (let rounds = 0; rounds < 64; rounds++) {
    let next = modelName(name);
    try {
      const found = readModel(next);
      next = found.publisher === "google" ? found.name : `${found.publisher}.${found.name}`;
    } catch {
      // a name that no call accepts stays unchanged
    }
    if (next === name) break;
    name = next;
  }
  return name;
}

/** How models are named here. */
export const vertexNaming = {
  canonical: canonicalModel,
  // other publishers' models may have a version suffix
  variantOf: (model: string) => (model.includes("@") ? model.replace(/@.*$/, "") : undefined),
  inPath(path: string) {
    const [, publisher, name] = /(?:^|\/)publishers\/([^/]+)\/models\/([^:]+)/i.exec(path) ?? [];
    if (publisher !== undefined && name !== undefined) return `publishers/${publisher}/models/${name}`;
    const [, endpoint] = /(?:^|\/)endpoints\/([^/:]+)/i.exec(path) ?? [];
    if (endpoint === undefined) return undefined;
    // this path serves every model in OpenAI's shape; the body names the model
    return endpoint.toLowerCase() === "openapi" ? null : `endpoints.${endpoint}`;
  },
};

/** Path of a call to one of Google's own models; without a project for API keys. */
export function googleModelPath({ name }: PublishedModel, action: string, settings: VertexSettings): string {
  const base = projectOf(settings) === undefined ? "/v1" : locationPath(settings);
  return `${base}/publishers/google/models/${encodeText("model", name)}:${action}`;
}

/** Path of a chat with a model. */
export function chatPath(model: string, isStream: boolean, settings: VertexSettings): string {
  const found = readModel(model);
  const { dialect, version, isDeployed, name, publisher } = found;
  if (dialect === "gemini") return googleModelPath(found, generateAction(isStream), settings);
  const location = locationPath(settings, version);
  if (dialect === "openai") return `${location}/endpoints/${isDeployed ? name : "openapi"}/chat/completions`;
  const action = isStream ? "streamRawPredict" : "rawPredict";
  return `${location}/publishers/${publisher}/models/${encodeText("model", name)}:${action}`;
}
