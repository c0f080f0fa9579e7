import * as v from "valibot";
import {
  awsApiKey,
  awsDomain,
  awsEntries,
  awsVirtualKeys,
  createAwsAuthorize,
  statedAwsRequirements,
} from "../auth/aws.ts";
import { defineProvider } from "../core/define.ts";

const HeaderText = v.optional(v.pipe(v.string(), v.regex(/^[ -~]{1,1024}$/, "must be visible characters")));

/** Settings that become upstream headers: `amzn_sagemaker_x` becomes `x-amzn-sagemaker-x`. */
const headerEntries = {
  amzn_sagemaker_custom_attributes: HeaderText,
  amzn_sagemaker_target_model: HeaderText,
  amzn_sagemaker_target_variant: HeaderText,
  amzn_sagemaker_target_container_hostname: HeaderText,
  amzn_sagemaker_inference_id: HeaderText,
  amzn_sagemaker_enable_explanations: HeaderText,
  amzn_sagemaker_inference_component: HeaderText,
  amzn_sagemaker_session_id: HeaderText,
};

/**
 * Amazon SageMaker endpoints: requests are forwarded and signed
 * (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html).
 */
export const sagemaker = defineProvider({
  slug: "sagemaker",
  settings: {
    prefix: "aws",
    requires: statedAwsRequirements,
    virtualKeys: awsVirtualKeys,
    unprefixed: [...Object.keys(headerEntries), "amzn_sagemaker_model_name"],
    // the model's name is only for the caller's own records
    schema: v.object({ ...awsEntries, ...headerEntries, amzn_sagemaker_model_name: HeaderText }),
  },
  baseUrl: ({ region }, { environment }) => `https://runtime.sagemaker.${region}.${awsDomain(environment)}`,
  authenticate: (credential, settings) => ({
    ...awsApiKey(credential, settings),
    ...Object.fromEntries(
      Object.entries(settings).flatMap(([name, value]) =>
        Object.hasOwn(headerEntries, name) && value !== undefined ? [[`x-${name.replaceAll("_", "-")}`, value]] : [],
      ),
    ),
  }),
  authorize: createAwsAuthorize({ provider: "sagemaker", service: "sagemaker" }),
  models: { inPath: (path) => /(?:^|\/)endpoints\/([^/]+)/i.exec(path)?.[1] },
  operations: {},
});
