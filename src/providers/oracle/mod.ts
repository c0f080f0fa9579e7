import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { signOci } from "../auth/oci.ts";
import { defineProvider, type OperationAdapter, type OperationAdapters } from "../types.ts";
import { createCohereMapper, fromCohereAnswer, toCohereRequest } from "./cohere.ts";
import { createGenericMapper, fromGenericAnswer, toGenericRequest } from "./generic.ts";

/** An Oracle Cloud identifier, or a fingerprint: nothing that ends the quotes of a header. */
const identifier = v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9._:-]{1,255}$/, "must be an identifier")));

const settings = v.object({
  region: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, "must be a region such as us-chicago-1"))),
  api_version: v.optional(v.pipe(v.string(), v.regex(/^[0-9]{8}$/, "must be a date such as 20231130")), "20231130"),
  compartment_id: identifier,
  serving_mode: v.optional(v.picklist(["ON_DEMAND", "DEDICATED"], "must be ON_DEMAND or DEDICATED"), "ON_DEMAND"),
  tenancy: identifier,
  user: identifier,
  fingerprint: identifier,
  private_key: v.optional(v.string()),
  key_passphrase: v.optional(v.string()),
});
type Settings = v.InferOutput<typeof settings>;

function requireText(value: string | undefined, name: string): string {
  if (value) return value;
  const param = `x-gateway-oracle-${name}`;
  throw new InvalidRequestError(`Cannot call oracle: give ${param}`, { param, code: "invalid_header" });
}

function isCohere(model: string): boolean {
  return model.startsWith("cohere.");
}

/** Chat (https://docs.oracle.com/iaas/api/#/en/generative-ai-inference/20231130/ChatResult/Chat), in the format of the model. */
function chatOperation(values: Settings): OperationAdapter<"chat"> {
  const { api_version: version, compartment_id: compartment, tenancy, serving_mode: servingType } = values;
  return {
    path: () => `/${version}/actions/chat`,
    toUpstream(request, options) {
      const { model } = request;
      const place = servingType === "DEDICATED" ? { endpointId: model } : { modelId: model };
      return {
        compartmentId: requireText(compartment ?? tenancy, "compartment-id"),
        servingMode: { servingType, ...place },
        chatRequest: isCohere(model) ? toCohereRequest(request, options) : toGenericRequest(request, options),
      };
    },
    fromUpstream: (body, request, options) =>
      isCohere(request.model) ? fromCohereAnswer(body, request, options) : fromGenericAnswer(body, request, options),
    streamMapper: (request, options) =>
      isCohere(request.model) ? createCohereMapper(request, options) : createGenericMapper(request, options),
  };
}

/** Oracle Cloud's generative models (https://docs.oracle.com/iaas/Content/generative-ai/home.htm). */
export const oracle = defineProvider({
  slug: "oracle",
  settings: { prefix: "oracle", schema: settings },
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
  operations: (values) => ({ chat: chatOperation(values) }) satisfies OperationAdapters,
  operationNames: ["chat"],
});
