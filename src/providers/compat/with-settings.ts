import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { bearer } from "../auth/headers.ts";
import { createRecords } from "../fireworks-ai/records.ts";
import { withoutPrefixes } from "../model-names.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";
import { addressSetting, hostLabel, placeSetting, secretSetting } from "../settings.ts";
import { decideAt } from "../shapes/decisions.ts";
import type { Provider } from "../types.ts";
import { toOpenrouter } from "./adaptations.ts";
import { embed } from "./byteplus-embed.ts";
import { oldTokenLimit, rightButForExtras } from "./declare.ts";
import { fireworksImages, gptImageMembers } from "./images.ts";

const HostLabel = hostLabel("must be part of a host name");

/** OpenRouter (https://openrouter.ai/docs/api-reference/overview): names the application that calls, and which hosts may serve. */
const openrouter = openaiCompatible({
  slug: "openrouter",
  baseUrl: "https://openrouter.ai/api",
  pathPrefix: "/v1",
  // models of other makers answer chats only
  decide: decideAt("openrouter", "/alpha/decisions", ({ model }) => !/^(?!~?typesafe\/)[^/]+\//.test(model)),
  // https://openrouter.ai/docs/api-reference/rerank
  rerank: { top_n: "top_n" },
  operations: ["chat", "models", "responses"],
  settings: {
    prefix: "openrouter",
    open: true,
    schema: v.object({ referer: v.optional(v.string()), title: v.optional(v.string()) }),
  },
  authenticate: (credential, { referer, title }) => ({
    ...bearer(credential),
    ...(referer !== undefined && { "http-referer": referer }),
    ...(title !== undefined && { "x-title": title }),
  }),
  clientHeaders: ["http-referer", "x-title"],
  defaultHeaders: { "x-title": "AI gateway" },
  model: "openrouter/auto",
  // behind a colon stands which variant is to serve (https://openrouter.ai/docs/guides/routing/model-variants)
  models: {
    canonical: (model) => model.replace(/^~/, ""),
    variantOf: (model) => (model.includes(":") ? model.replace(/:.*$/, "") : undefined),
  },
  chat: { developer: true, cacheControl: true, thinking: true, replay: "reasoning", adapt: toOpenrouter },
  answers: {},
});

/** BytePlus ModelArk (https://docs.byteplus.com/en/docs/ModelArk/1494384); models are named by their endpoints. */
const byteplus = openaiCompatible({
  slug: "byteplus",
  baseUrl: ({ region }) => `https://ark.${region}.bytepluses.com/api/v3`,
  operations: ["chat", "embed", "responses", "generateImage"],
  // https://docs.byteplus.com/en/docs/ModelArk/1541523
  media: { generateImage: { unsupported: [...gptImageMembers, "n"] } },
  settings: { prefix: "byteplus", schema: v.object({ region: v.optional(placeSetting(HostLabel), "ap-southeast") }) },
  chat: { thinking: true },
  embedAdapter: embed,
  answers: {},
});

/** Modal (https://modal.com/docs/guide/webhook-proxy-auth): servers of one's own, behind a pair of proxy tokens. */
const modal = openaiCompatible({
  slug: "modal",
  baseUrl: "https://api.modal.com/v1",
  settings: {
    prefix: "modal",
    plain: ["modal-key", "modal-secret"],
    schema: v.object({ key: v.optional(secretSetting(v.string())), secret: v.optional(secretSetting(v.string())) }),
  },
  authenticate: (credential, { key, secret }) => ({
    ...bearer(credential),
    ...(key !== undefined && { "modal-key": key }),
    ...(secret !== undefined && { "modal-secret": secret }),
  }),
  ...rightButForExtras,
});

/** Fireworks (https://docs.fireworks.ai/api-reference/post-chatcompletions); files and tuning jobs belong to an account. */
const fireworks = openaiCompatible({
  slug: "fireworks-ai",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  // https://docs.fireworks.ai/api-reference/rerank-documents
  rerank: { top_n: "top_n", return_documents: "return_documents" },
  model: "accounts/fireworks/models/llama-v3p1-405b-instruct",
  own: { generateImage: fireworksImages },
  models: {
    canonical: (model) => withoutPrefixes(model, /^accounts\/fireworks\/models\//),
    // a deployment of it may stand behind
    variantOf: (model) => (model.includes("#") ? model.replace(/#.*$/, "") : undefined),
    inPath: (path) => /(?:^|\/)(?:workflows|image_generation)\/(.+?)(?:\/text_to_image)?$/i.exec(path)?.[1],
  },
  settings: { prefix: "fireworks", schema: v.object({ account_id: v.optional(addressSetting(HostLabel)) }) },
  chat: {
    rename: oldTokenLimit,
    bounds: { max_tokens: [1, Infinity], top_k: [1, 128], n: [1, 128] },
    thinking: true,
  },
  answers: {},
  recordKeeping: {
    records: ({ account_id: account }) => createRecords(account ?? ""),
    store: {
      baseUrl({ account_id: account }) {
        if (account !== undefined) return `https://api.fireworks.ai/v1/accounts/${account}`;
        throw new InvalidRequestError("Cannot reach files of fireworks-ai: name the account", {
          param: "x-gateway-fireworks-account-id",
          code: "invalid_header",
        });
      },
      authenticate: bearer,
    },
  },
});

/** Providers that have settings of their own. */
export const providersWithSettings: readonly Provider[] = [openrouter, byteplus, modal, fireworks];
