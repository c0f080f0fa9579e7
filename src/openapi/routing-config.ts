import * as v from "valibot";
import { ejectionMembers, healthMembers } from "../schemas/balance.ts";
import {
  breakerMembers,
  cacheMembers,
  nodeMembers,
  promptCacheMembers,
  retryMembers,
  shadowMembers,
  stickyMembers,
  strategyMembers,
} from "../schemas/routing.ts";
import { classifierMembers } from "../schemas/routing-choice.ts";
import { fileSearchMembers, searchToolMembers, webSearchMembers } from "../schemas/server-tools.ts";
import { type JsonSchemaOf, routingConfigReference } from "./schema.ts";

type Descriptions = Readonly<Record<string, string>>;

/** What the members of a node do, in one line each. */
const nodeDescriptions: Descriptions = {
  name: "Name of a target: conditions and logs refer to it",
  provider: "A provider, or @slug of a stored one; @slug/model also sets the model",
  virtual_key: "Slug of a stored provider",
  api_key: "Credential for the provider",
  prompt_id: "A saved prompt in place of that of the path, for completions of prompts",
  weight: "Share of a load balancer's requests; 0 disables the target",
  on_status_codes: "Statuses after which the next target is called",
  request_timeout: "Milliseconds of an attempt until its first byte",
  total_timeout: "Milliseconds of the complete request",
  stream_idle_timeout: "Milliseconds without data inside a stream",
  custom_host: "Base URL in place of the provider's",
  forward_headers: "Names of request headers to forward to the provider",
  override_params: "Fields of the request body to set in any case",
  default_params: "Fields of the request body to set if they are absent",
  drop_params: "Fields of the request body to remove",
  passthrough: "Uses the provider and the credential of the request's own headers",
  requires:
    "What the model of a target must have if the request needs it: context, tools, images, json_schema. Default: all",
  strict_open_ai_compliance: "Limits responses to OpenAI's fields",
  fetch_integrated_models: "Lists the models of the workspace; at the root only",
  metadata: "Metadata that log rows of calls to the targets get; that of the request wins",
  labels: "Labels of the targets, such as region and zero_retention",
  require_labels: "Labels that a target must have to be called, each with its value or a list of values",
  before_request_hooks: "Guardrails and mutators before the call",
  after_request_hooks: "Guardrails and mutators after the call",
  input_guardrails: "Guardrails of the request, by slug or inline",
  output_guardrails: "Guardrails of the response, by slug or inline",
  input_mutators: "Changes of the request",
  output_mutators: "Changes of the response",
  strategy: "How a group chooses among its targets",
  targets: "Targets, or groups again",
  retry: "Retries of a failed call",
  cache: "Reuse of responses",
  prompt_cache: "Marks the beginning of prompts for the cache of Claude and Nova models",
  cb_config: "When calls to a failing target stop",
  server_tools: "Tools that the gateway runs for models without them; at the root only",
  shadow: "A target that gets copies of a share of the requests, after their responses; at the root only",
};

const strategyDescriptions: Descriptions = {
  mode: "single, fallback, loadbalance, conditional or auto",
  on_status_codes: "Statuses after which the next target is called",
  on_error_codes: "Kinds of failures after which the next target is called, whatever their status",
  conditions: "The first query that holds names the target",
  classifier: "Of auto: what chooses where no rule holds",
  rules: "Of auto: the first query that holds names the target, else how hard the request is",
  default: "Name of the target if no condition matches",
  affinity: "A conversation always goes to the same target",
  sticky: "Requests with equal fields go to the same target",
  cb_config: "When calls to a failing target stop",
  choose: "How a load balancer chooses: by weight (default), or by what is measured of its targets",
  slow_start: "Milliseconds in which a target that is back gets its share again, default 20000",
  health_check: "Requests that show whether the hosts of a load balancer's targets work",
  outlier_ejection: "When a failing target of a load balancer gets no requests for a while",
};

const healthDescriptions: Descriptions = {
  path: "Path on the host of the target, requested without a credential",
  model: "Instead of path: the model of a call of one output token, unless the target's override_params name one",
  interval: "Milliseconds between two checks, default 30000, with model 60000",
  timeout: "Milliseconds until a check fails, default 5000",
  unhealthy_threshold: "Failed checks in a row after which a target gets no requests, default 3",
  healthy_threshold: "Successful checks in a row after which it gets requests again, default 2",
  status_codes: "Statuses of a healthy host, default 200 to 399",
};

const ejectionDescriptions: Descriptions = {
  consecutive_failures: "Failures in a row that eject a target, default 5",
  ejection_time: "Milliseconds of the first ejection, default 10000",
  max_ejected_percent: "Most targets that are ejected at a time, default 50 percent",
};

const classifierDescriptions: Descriptions = {
  kind: "decisions: a model decides; examples: the nearest of labelled prompts",
  provider: "A stored provider, as @slug",
  model: "The model that decides, or that makes embeddings",
  confidence: "Least confidence, or least cosine of the nearest prompt, default 0.2; below it the score chooses",
  criteria: "What each target is for, by its name",
  examples: "Prompts by the name of the target that they need",
};

const retryDescriptions: Descriptions = {
  attempts: "Retries after the first attempt",
  on_status_codes: "Statuses to retry, default 429, 500, 502, 503, 504 and 529",
  use_retry_after_headers: "After a 429, wait as long as the provider says",
};

const cacheDescriptions: Descriptions = {
  mode: "simple: equal requests; semantic: also similar ones",
  max_age: "Seconds that a response is reused",
  join: "Identical requests at the same time share one call",
};

const promptCacheDescriptions: Descriptions = {
  ttl: "How long the provider holds it: 5m or 1h, default 5m",
};

const shadowDescriptions: Descriptions = {
  share: "Share of the requests that are copied, above 0 and at most 1",
};

const webSearchDescriptions: Descriptions = {
  model: "Model of POST /v1/search: @provider/model, an alias or the slug of a config",
  mcp: "In place of a model: a tool of an MCP server of the workspace",
  run: "missing (default): where a target cannot search itself; always",
  max_uses: "Searches of one request, default 8",
  max_results: "Results of one search, default 5",
  max_characters: "Characters of one result, default 3000",
  timeout: "Milliseconds of one search, default 10000",
};

const searchToolDescriptions: Descriptions = {
  server: "Slug of the MCP server",
  tool: "Name of its tool",
  argument: "Argument that takes the query, default query",
};

const fileSearchDescriptions: Descriptions = {
  embeddings: "What makes the vectors of new vector stores: @provider/model, an alias or the slug of a config",
  dimensions: "Numbers of their vectors; by default 256 where the model can make them so short",
};

const stickyDescriptions: Descriptions = {
  enabled: "Must be true, else sticky has no effect",
  hash_fields: "Fields that must be equal: metadata.x, params.x.y, headers.x",
  ttl: "Seconds until a target is chosen again, default 3600",
};

const breakerDescriptions: Descriptions = {
  failure_threshold: "Number of failures that opens the circuit breaker",
  failure_threshold_percentage: "Percentage of failures that opens the circuit breaker",
  minimum_requests: "Requests before the percentage counts, default 5",
  cooldown_interval: "Milliseconds that it stays open, default and minimum 30000",
  failure_status_codes: "Statuses that count as failures, default 500 and above",
};

function described(schema: object, descriptions: Descriptions): object {
  // members of JSON Schema
  const { properties, $schema: _, ...rest } = schema as { properties?: Record<string, object>; $schema?: string };
  const named = Object.entries(properties ?? {}).map(([name, member]) => {
    const description = descriptions[name];
    return [name, description === undefined ? member : { ...member, description }];
  });
  return { ...rest, properties: Object.fromEntries(named) };
}

/** The JSON schema of a routing config: a target, or a group with a strategy and targets. */
export function toRoutingConfigSchema(convert: JsonSchemaOf): object {
  const object = (members: v.ObjectEntries, descriptions: Descriptions, others: Record<string, object> = {}) => {
    // made from an object with entries
    const schema = convert(v.partial(v.object(members)), "input") as { properties: object };
    return described({ ...schema, properties: { ...schema.properties, ...others } }, descriptions);
  };
  const breaker = object(breakerMembers, breakerDescriptions);
  const condition = { type: "object", required: ["query", "then"], properties: conditionMembers };
  const strategy = object(strategyMembers, strategyDescriptions, {
    conditions: { type: "array", items: condition, minItems: 1 },
    rules: { type: "array", items: condition, minItems: 1 },
    classifier: { ...object(classifierMembers, classifierDescriptions), required: ["kind", "provider", "model"] },
    sticky: object(stickyMembers, stickyDescriptions),
    cb_config: breaker,
    health_check: {
      ...object(healthMembers, healthDescriptions),
      oneOf: [{ required: ["path"] }, { required: ["model"] }],
    },
    outlier_ejection: object(ejectionMembers, ejectionDescriptions),
  });
  const searchTool = { ...object(searchToolMembers, searchToolDescriptions), required: ["server", "tool"] };
  const { mcp: _, ...webSearchEntries } = webSearchMembers;
  const webSearch = {
    ...object(webSearchEntries, webSearchDescriptions, { mcp: searchTool }),
    description: "Runs a search for models without one; has model or mcp, and not both",
  };
  const fileSearch = {
    ...object(fileSearchMembers, fileSearchDescriptions),
    description: "Says what makes the vectors of new vector stores of the gateway",
  };
  const cache = { ...object(cacheMembers, cacheDescriptions), required: ["mode"] };
  return {
    ...object(nodeMembers, nodeDescriptions, {
      strategy: { ...strategy, required: ["mode"] },
      server_tools: { type: "object", properties: { web_search: webSearch, file_search: fileSearch } },
      shadow: {
        ...object(shadowMembers, shadowDescriptions, {
          target: { $ref: routingConfigReference, description: "What gets the copies: a config with one provider" },
        }),
        required: ["target", "share"],
      },
      targets: { type: "array", minItems: 1, items: { $ref: routingConfigReference } },
      retry: { ...object(retryMembers, retryDescriptions), required: ["attempts"] },
      cache: { anyOf: [{ enum: ["simple", "semantic"], type: "string" }, cache] },
      prompt_cache: { anyOf: [{ type: "boolean" }, object(promptCacheMembers, promptCacheDescriptions)] },
      cb_config: breaker,
    }),
    description: "A routing config. Other members are settings of the provider, such as azure_resource_name",
    additionalProperties: true,
  };
}

const conditionMembers = {
  query: {
    type: "object",
    additionalProperties: true,
    description: "Values by name: metadata.x, params.x, url.pathname; in rules also request.x",
  },
  // biome-ignore lint/suspicious/noThenProperty: a member of conditions, described here
  then: { type: "string", description: "Name of the target" },
};
