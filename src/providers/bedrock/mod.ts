import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { withoutThinking } from "../anthropic/repair.ts";
import {
  awsApiKey,
  awsDomain,
  awsEntries,
  awsVirtualKeys,
  createAwsAuthorize,
  statedAwsRequirements,
  usesApiKey,
} from "../auth/aws.ts";
import { defineProvider } from "../core/define.ts";
import type { OperationAdapters } from "../core/types.ts";
import { joinEmbeddings } from "../shared/embeddings.ts";
import { encodeSegment } from "../shared/hosts.ts";
import { modelOf } from "../shared/images.ts";
import { fromConverse } from "./answer.ts";
import { batchOutput, createBatchCalls } from "./batches.ts";
import { claudeOperations } from "./claude.ts";
import { createCompletion } from "./complete.ts";
import { fromEmbedding, splitEmbedding, toEmbedding } from "./embed.ts";
import { bedrockFacts } from "./facts.ts";
import { createObjectRules, fileEntries } from "./files.ts";
import { fromImages, toImages } from "./images.ts";
import { bedrockNaming, modelBehind, readModel } from "./model.ts";
import { toConverse } from "./request.ts";
import { createRerank } from "./rerank.ts";
import { createConverseMapper } from "./stream.ts";
import { tuningCalls } from "./tuning.ts";
import { FoundationModels } from "./wire.ts";

/** Hosts of AWS' model service by their paths; all other paths belong to the runtime host. */
const hosts: readonly (readonly [RegExp, string])[] = [
  [/^\/(?:rerank|knowledgebases|retrieveAndGenerate|agents|flows)(?:[/?]|$)/, "bedrock-agent-runtime"],
  [/^\/(?:foundation-models|inference-profiles|model-invocation-jobs?|model-customization-jobs)(?:[/?]|$)/, "bedrock"],
  [
    /^\/(?:custom-models|provisioned-model-throughputs?|guardrails|imported-models|prompt-routers)(?:[/?]|$)/,
    "bedrock",
  ],
  [/^\/(?:model-(?:import|copy)-jobs|evaluation-jobs|custom-model-deployments)(?:[/?]|$)/, "bedrock"],
];

/** Path of a call. The model is one segment, although ids contain colons and ARNs slashes. */
function modelPath(model: string, action: string): string {
  return `/model/${encodeSegment("model", model)}/${action}`;
}

const BedrockSettings = v.object({ ...awsEntries, bedrock_model: v.optional(v.string()), ...fileEntries });
type BedrockSettings = v.InferOutput<typeof BedrockSettings>;

function operations({ bedrock_model: stated, region }: BedrockSettings): OperationAdapters {
  return {
    chat: {
      path: ({ model, stream }) => modelPath(model, stream === true ? "converse-stream" : "converse"),
      toUpstream: (request, options) => toConverse(request, readModel(request.model, stated), options),
      fromUpstream: fromConverse,
      streamMapper: createConverseMapper,
      framing: "aws",
      repair: withoutThinking,
    },
    complete: createCompletion(modelPath, stated),
    embed: {
      path: ({ model }) => modelPath(model, "invoke"),
      toUpstream: (request, options) => toEmbedding(request, readModel(request.model, stated), options),
      fromUpstream: fromEmbedding,
      split: (request) => splitEmbedding(request, readModel(request.model, stated)),
      join: joinEmbeddings,
    },
    generateImage: {
      readsErrors: true,
      path: (request) => modelPath(modelOf("bedrock", request), "invoke"),
      toUpstream: (request, options) => toImages(request, readModel(modelOf("bedrock", request), stated), options),
      fromUpstream: (body, request, options) =>
        fromImages(body, readModel(modelOf("bedrock", request), stated), options),
    },
    ...claudeOperations(modelPath, stated),
    models: {
      method: "GET",
      path: () => "/foundation-models",
      fromUpstream: (body) => ({
        object: "list",
        data: (v.parse(FoundationModels, body).modelSummaries ?? []).map(({ modelId, providerName }) => ({
          id: modelId,
          object: "model",
          created: 0,
          owned_by: providerName ?? "bedrock",
        })),
      }),
    },
    rerank: createRerank(region),
  };
}

const signForStore = createAwsAuthorize({ provider: "bedrock", service: "s3" });

/** Amazon Bedrock (https://docs.aws.amazon.com/bedrock/latest/APIReference/welcome.html). */
export const bedrock = defineProvider<BedrockSettings>({
  slug: "bedrock",
  settings: {
    prefix: "aws",
    unprefixed: [
      "provider_model",
      "provider_file_name",
      "amz_server_side_encryption",
      "amz_server_side_encryption_aws_kms_key_id",
    ],
    requires: statedAwsRequirements,
    virtualKeys: awsVirtualKeys,
    schema: BedrockSettings,
  },
  baseUrl: ({ region }, { path, environment }) => {
    const name = hosts.find(([form]) => form.test(path))?.[1] ?? "bedrock-runtime";
    return `https://${name}.${region}.${awsDomain(environment)}`;
  },
  models: { ...bedrockNaming, behind: (model, { bedrock_model: stated }) => modelBehind(model, stated) },
  facts: bedrockFacts,
  authenticate: awsApiKey,
  authorize: createAwsAuthorize({ provider: "bedrock", service: "bedrock" }),
  operations,
  records: (settings) => ({
    calls: { ...createBatchCalls(settings.bedrock_model ?? settings.provider_model), ...tuningCalls },
    objects: createObjectRules(settings),
    output: batchOutput,
  }),
  batches: { endpoints: ["/v1/chat/completions"], hasOptions: true },
  store: {
    baseUrl: ({ region }, { environment }) => `https://s3.${region}.${awsDomain(environment)}`,
    authenticate: () => ({}),
    async authorize(request, settings, tools) {
      // callers must not choose which objects the operator's own role reads
      if (settings.auth_type === "serviceRole" || usesApiKey(settings, request.credential)) {
        throw new InvalidRequestError("Cannot reach S3: send AWS keys or a role to assume", {
          param: "x-gateway-aws-access-key-id",
          code: "invalid_credentials",
        });
      }
      return signForStore(request, settings, tools);
    },
  },
});
