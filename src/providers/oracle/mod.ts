import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import { signOci } from "../auth/oci.ts";
import { defineProvider } from "../core/define.ts";
import { hostLabel, placeSetting, secretSetting } from "../core/settings.ts";
import type { ConversionOptions, OperationAdapter, OperationAdapters, StreamMapper } from "../core/types.ts";
import { joinEmbeddings } from "../shared/embeddings.ts";
import { createCohereMapper, fromCohereAnswer, toCohereRequest } from "./cohere.ts";
import { createCohereV2Mapper, fromCohereV2Answer, toCohereV2Request } from "./cohere-v2.ts";
import { fromEmbedAnswer, splitEmbedRequest, toEmbedRequest } from "./embed.ts";
import { createGenericMapper, fromGenericAnswer, toGenericRequest } from "./generic.ts";

/** An Oracle Cloud identifier or fingerprint; it contains no character that could end a quoted header value. */
const identifier = v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9._:-]{1,255}$/, "must be an identifier")));

const settings = v.object({
  region: v.optional(placeSetting(hostLabel("must be a region such as us-chicago-1"))),
  api_version: v.optional(v.pipe(v.string(), v.regex(/^[0-9]{8}$/, "must be a date such as 20231130")), "20231130"),
  compartment_id: identifier,
  serving_mode: v.optional(v.picklist(["ON_DEMAND", "DEDICATED"], "must be ON_DEMAND or DEDICATED"), "ON_DEMAND"),
  api_format: v.optional(v.picklist(["GENERIC", "COHERE", "COHEREV2"], "must be GENERIC, COHERE or COHEREV2")),
  tenancy: identifier,
  user: identifier,
  fingerprint: identifier,
  private_key: v.optional(secretSetting(v.string())),
  key_passphrase: v.optional(secretSetting(v.string())),
});
type Settings = v.InferOutput<typeof settings>;

function requireText(value: string | undefined, name: string): string {
  if (value) return value;
  const param = `x-gateway-oracle-${name}`;
  throw new InvalidRequestError(`Cannot call oracle: set ${param}`, { param, code: "invalid_header" });
}

/** Request and response conversion for one model format. */
interface Format {
  toRequest(request: ChatRequest, options: ConversionOptions): object;
  fromAnswer(body: unknown, request: ChatRequest, options: ConversionOptions): ChatResponse;
  createMapper(request: ChatRequest, options: ConversionOptions): StreamMapper;
}

const formats: Readonly<Record<NonNullable<Settings["api_format"]>, Format>> = {
  GENERIC: { toRequest: toGenericRequest, fromAnswer: fromGenericAnswer, createMapper: createGenericMapper },
  COHERE: { toRequest: toCohereRequest, fromAnswer: fromCohereAnswer, createMapper: createCohereMapper },
  COHEREV2: { toRequest: toCohereV2Request, fromAnswer: fromCohereV2Answer, createMapper: createCohereV2Mapper },
};

/** The format of a model from its name, when the settings set none. Newer Cohere models use the v2 format. */
function formatOf(model: string, { api_format: stated }: Settings): Format {
  if (stated !== undefined) return formats[stated];
  if (!model.startsWith("cohere.")) return formats.GENERIC;
  return /^cohere\.command-a-(?!03-2025)/.test(model) ? formats.COHEREV2 : formats.COHERE;
}

/** Serving mode and compartment of a request. */
function placeOf(model: string, { compartment_id: compartment, tenancy, serving_mode: servingType }: Settings) {
  const place = servingType === "DEDICATED" ? { endpointId: model } : { modelId: model };
  return {
    compartmentId: requireText(compartment ?? tenancy, "compartment-id"),
    servingMode: { servingType, ...place },
  };
}

/** Chat (https://docs.oracle.com/iaas/api/#/en/generative-ai-inference/20231130/ChatResult/Chat), in the format of the model. */
function chatOperation(values: Settings): OperationAdapter<"chat"> {
  return {
    path: () => `/${values.api_version}/actions/chat`,
    toUpstream: (request, options) => ({
      ...placeOf(request.model, values),
      chatRequest: formatOf(request.model, values).toRequest(request, options),
    }),
    fromUpstream: (body, request, options) => formatOf(request.model, values).fromAnswer(body, request, options),
    streamMapper: (request, options) => formatOf(request.model, values).createMapper(request, options),
  };
}

function embedOperation(values: Settings): OperationAdapter<"embed"> {
  return {
    path: () => `/${values.api_version}/actions/embedText`,
    toUpstream: (request, options) => ({ ...toEmbedRequest(request, options), ...placeOf(request.model, values) }),
    fromUpstream: fromEmbedAnswer,
    split: splitEmbedRequest,
    join: joinEmbeddings,
  };
}

/** Oracle Cloud's generative models (https://docs.oracle.com/iaas/Content/generative-ai/home.htm). */
export const oracle = defineProvider({
  slug: "oracle",
  settings: {
    prefix: "oracle",
    requires: {
      integrations: ["oracle_tenancy", "oracle_user", "oracle_fingerprint"],
      credentials: [["oracle_private_key"]],
    },
    schema: settings,
  },
  baseUrl: ({ region }) => `https://inference.generativeai.${requireText(region, "region")}.oci.oraclecloud.com`,
  authenticate: () => ({}),
  async authorize(request, values, tools) {
    const identity = {
      tenancy: requireText(values.tenancy, "tenancy"),
      user: requireText(values.user, "user"),
      fingerprint: requireText(values.fingerprint, "fingerprint"),
      privateKey: requireText(values.private_key ?? request.credential, "private-key"),
      passphrase: values.key_passphrase,
    };
    return signOci(request, identity, tools);
  },
  operations: (values) => ({ chat: chatOperation(values), embed: embedOperation(values) }) satisfies OperationAdapters,
});
