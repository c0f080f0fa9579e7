// Requests and replies of partners' services, as they document them.

const text = "my text";
const turns = [{ role: "user", content: text }];
const both = [...turns, { role: "assistant", content: text }];

/** One check of a partner: what it sends, and what replies mean. */
export interface PartnerCase {
  id: string;
  /** The text is that of a response. */
  answers?: true;
  parameters?: object;
  credentials?: Record<string, unknown>;
  path: string;
  /** Header that authenticates. */
  header?: readonly [name: string, value: string];
  body: object;
  passes: unknown;
  fails?: unknown;
  /** A reply whose finding is replaced where the check redacts, and the text afterwards. */
  redacts?: readonly [reply: unknown, text: string];
}

const key = { apiKey: "key-of-a-test-0001" };
const bearer = ["authorization", "Bearer key-of-a-test-0001"] as const;
const own = ["x-api-key", "key-of-a-test-0001"] as const;

function patronus(
  id: string,
  [evaluator, criteria]: readonly [string, string?],
  more: Partial<PartnerCase> = {},
): PartnerCase {
  const reply = (pass: boolean, additional_info: object = {}) => ({
    results: [{ evaluation_result: { pass, additional_info } }],
  });
  return {
    id: `patronus.${id}`,
    answers: true,
    path: "/v1/evaluate",
    header: own,
    body: {
      evaluators: [{ evaluator, ...(criteria && { criteria }), explain_strategy: "always" }],
      evaluated_model_input: "asked",
      evaluated_model_output: text,
    },
    passes: reply(true),
    fails: reply(false),
    ...more,
  };
}

const patronusRedacts = [
  { results: [{ evaluation_result: { pass: false, additional_info: { positions: [[3, 7]] } } }] },
  "my ****",
] as const;

function qualifire(id: string, flags: readonly string[], answers: boolean, more: object = {}): PartnerCase {
  const said = answers ? { input: "asked", output: text } : { input: text };
  return {
    id: `qualifire.${id}`,
    ...(answers && { answers: true }),
    path: "/api/evaluation/evaluate",
    header: ["x-qualifire-api-key", key.apiKey],
    body: { ...said, ...Object.fromEntries(flags.map((flag) => [flag, true])), mode: "balanced", ...more },
    passes: { status: "success", evaluationResults: [] },
    fails: { status: "failed", evaluationResults: [] },
  };
}

const azure = (group: string) => ({ [group]: { resourceName: "resource", azureAuthMode: "apiKey", ...key } });
const azureKey = ["ocp-apim-subscription-key", key.apiKey] as const;

const bedrockReply = (action: string, more: object = {}) => ({ action, assessments: [], outputs: [], ...more });
const bedrockMasks = {
  assessments: [{ sensitiveInformationPolicy: { piiEntities: [{ type: "NAME", action: "ANONYMIZED" }] } }],
  outputs: [{ text: "my {NAME}" }],
};

const acuvityToken = `e30.${btoa(JSON.stringify({ opaque: { "apex-url": "https://apex.example" } }))}.e30`;
const extraction = (more: object = {}) => ({ extractions: [{ data: text, languages: { english: 0.9 }, ...more }] });
const acuvitySwitches = { prompt_injection: true, pii_redact: true, pii_categories: ["email_address"] };

const flagged = (name: string) => ({ results: [{ categories: { sexual: false, pii: false, [name]: true } }] });

export const partnerCases: readonly PartnerCase[] = [
  {
    id: "aporia.validateProject",
    parameters: { projectID: "project-1" },
    path: "/project-1/validate",
    header: ["x-aporia-api-key", key.apiKey],
    body: { messages: turns, explain: true, validation_target: "prompt" },
    passes: { action: "passthrough" },
    fails: { action: "block", explain_log: [] },
  },
  {
    id: "aporia.validateProject",
    answers: true,
    parameters: { projectID: "project-1" },
    path: "/project-1/validate",
    body: {
      messages: [{ role: "user", content: "asked" }, both[1]],
      explain: true,
      validation_target: "response",
      response: text,
    },
    passes: { action: "passthrough" },
    fails: { action: "modify" },
  },
  {
    id: "sydelabs.sydeguard",
    path: "/api/v1/guard/generate-score",
    header: own,
    body: { prompt: text },
    passes: { category_scores: { PROMPT_INJECT: 0.4, TOXICITY: 0.5, EVASION: 0 } },
    fails: { category_scores: { PROMPT_INJECT: 0.6, TOXICITY: 0, EVASION: 0 } },
  },
  {
    id: "pillar.scanPrompt",
    parameters: { scanners: ["pii", "secrets"] },
    path: "/api/v1/scan/prompt",
    header: bearer,
    body: { message: text, scanners: ["pii", "secrets"] },
    passes: { pii: false, secrets: false },
    fails: { pii: true, secrets: false },
  },
  {
    id: "pillar.scanResponse",
    answers: true,
    parameters: { scanners: ["toxic_language"] },
    path: "/api/v1/scan/response",
    header: bearer,
    body: { message: text, scanners: ["toxic_language"] },
    passes: { toxic_language: false },
    fails: { toxic_language: true },
  },
  patronus("phi", ["phi"], { parameters: { redact: false } }),
  patronus("phi", ["phi"], { parameters: { redact: true }, fails: undefined, redacts: patronusRedacts }),
  patronus("pii", ["pii"], { parameters: { redact: true }, fails: undefined, redacts: patronusRedacts }),
  patronus("toxicity", ["toxicity", "patronus:toxicity"]),
  patronus("isConcise", ["judge", "patronus:is-concise"]),
  patronus("isHelpful", ["judge", "patronus:is-helpful"]),
  patronus("isPolite", ["judge", "patronus:is-polite"]),
  patronus("noApologies", ["judge", "patronus:no-apologies"]),
  patronus("noGenderBias", ["judge", "patronus:no-gender-bias"]),
  patronus("noRacialBias", ["judge", "patronus:no-racial-bias"]),
  patronus("retrievalAnswerRelevance", ["answer-relevance", "patronus:answer-relevance"]),
  patronus("retrievalHallucination", ["lynx", "patronus:hallucination"]),
  patronus("custom", ["judge", "my-profile"], { parameters: { profile: "my-profile" } }),
  {
    id: "mistral.moderateContent",
    parameters: { categories: ["sexual", "pii"] },
    path: "/v1/chat/moderations",
    header: bearer,
    body: { model: "mistral-moderation-latest", input: turns },
    passes: flagged("law"),
    fails: flagged("pii"),
  },
  {
    id: "pangea.textGuard",
    parameters: { recipe: "a-recipe" },
    credentials: { domain: "aws.us.pangea.cloud" },
    path: "/v1/text/guard",
    header: bearer,
    body: { text, recipe: "a-recipe" },
    passes: { status: "Success", result: { detectors: { pii_entity: { detected: false } } } },
    fails: { status: "Success", result: { detectors: { pii_entity: { detected: true } } } },
  },
  {
    id: "pangea.pii",
    credentials: { domain: "aws.us.pangea.cloud" },
    path: "/v1/redact_structured",
    header: bearer,
    body: { data: [text] },
    passes: { result: { count: 0, redacted_data: [text] } },
    fails: { result: { count: 1, redacted_data: ["my <X>"] } },
    redacts: [{ result: { count: 1, redacted_data: ["my <X>"] } }, "my <X>"],
  },
  {
    id: "promptfoo.guard",
    path: "/v1/guard",
    body: { input: text },
    passes: { results: [{ categories: { jailbreak: false } }] },
    fails: { results: [{ categories: { jailbreak: true } }] },
  },
  {
    id: "promptfoo.harm",
    path: "/v1/harm",
    body: { input: text },
    passes: { results: [{ flagged: false }] },
    fails: { results: [{ flagged: true }] },
  },
  {
    id: "promptfoo.pii",
    path: "/v1/pii",
    body: { input: text },
    passes: { results: [{ flagged: false }] },
    fails: { results: [{ flagged: true, payload: { pii: [{ start: 3, end: 7 }] } }] },
    redacts: [{ results: [{ flagged: true, payload: { pii: [{ start: 3, end: 7 }] } }] }, "my ****"],
  },
  {
    id: "bedrock.guard",
    parameters: { guardrailId: "gr-1", guardrailVersion: "DRAFT" },
    credentials: { awsAccessKeyId: "AKIDEXAMPLE", awsSecretAccessKey: "secret-of-a-test" },
    path: "/guardrail/gr-1/version/DRAFT/apply",
    body: { source: "INPUT", content: [{ text: { text } }] },
    passes: bedrockReply("NONE"),
    fails: bedrockReply("GUARDRAIL_INTERVENED", {
      assessments: [{ contentPolicy: { filters: [{ type: "HATE", action: "BLOCKED" }] } }],
      outputs: [{ text: "blocked" }],
    }),
    redacts: [bedrockReply("GUARDRAIL_INTERVENED", bedrockMasks), "my {NAME}"],
  },
  {
    id: "azure.contentSafety",
    credentials: azure("contentSafety"),
    path: "/contentsafety/text:analyze?api-version=2024-09-01",
    header: azureKey,
    body: { text, categories: ["Hate", "SelfHarm", "Sexual", "Violence"] },
    passes: { categoriesAnalysis: [{ category: "Hate", severity: 0 }], blocklistsMatch: [] },
    fails: { categoriesAnalysis: [{ category: "Hate", severity: 2 }], blocklistsMatch: [] },
  },
  {
    id: "azure.contentSafety",
    parameters: { blocklistNames: ["words"], severity: 6, categories: ["Hate"] },
    credentials: azure("contentSafety"),
    path: "/contentsafety/text:analyze?api-version=2024-09-01",
    body: { text, categories: ["Hate"], blocklistNames: ["words"] },
    passes: { categoriesAnalysis: [{ category: "Hate", severity: 4 }], blocklistsMatch: [] },
    fails: { categoriesAnalysis: [], blocklistsMatch: [{ blocklistName: "words" }] },
  },
  {
    id: "azure.pii",
    credentials: azure("pii"),
    path: "/language/:analyze-text?api-version=2024-11-01",
    header: azureKey,
    body: {
      kind: "PiiEntityRecognition",
      parameters: { domain: "none", modelVersion: "latest" },
      analysisInput: { documents: [{ id: "0", language: "en", text }] },
    },
    passes: { results: { documents: [{ id: "0", entities: [], redactedText: text }], errors: [] } },
    fails: { results: { documents: [{ id: "0", entities: [{ category: "Person" }], redactedText: "my ****" }] } },
    redacts: [
      { results: { documents: [{ id: "0", entities: [{ category: "Person" }], redactedText: "my ****" }] } },
      "my ****",
    ],
  },
  {
    id: "azure.shieldPrompt",
    credentials: azure("contentSafety"),
    path: "/contentsafety/text:shieldPrompt?api-version=2024-09-01",
    header: azureKey,
    body: { userPrompt: text, documents: [] },
    passes: { userPromptAnalysis: { attackDetected: false }, documentsAnalysis: [] },
    fails: { userPromptAnalysis: { attackDetected: false }, documentsAnalysis: [{ attackDetected: true }] },
  },
  {
    id: "azure.protectedMaterial",
    answers: true,
    credentials: azure("contentSafety"),
    path: "/contentsafety/text:detectProtectedMaterial?api-version=2024-09-01",
    header: azureKey,
    body: { text },
    passes: { protectedMaterialAnalysis: { detected: false } },
    fails: { protectedMaterialAnalysis: { detected: true } },
  },
  {
    id: "acuvity.scan",
    parameters: acuvitySwitches,
    credentials: { apiKey: acuvityToken },
    path: "/_acuvity/scan",
    header: ["authorization", `Bearer ${acuvityToken}`],
    body: { anonymization: "FixedSize", messages: [text], redactions: ["email_address"], type: "Input" },
    passes: extraction({ exploits: { prompt_injection: 0.5 }, malcontents: { toxic: 0.1 } }),
    fails: extraction({ exploits: { prompt_injection: 0.6 } }),
    redacts: [extraction({ data: "my XXXX", PIIs: { email_address: 0.9 } }), "my XXXX"],
  },
  {
    id: "acuvity.scan",
    credentials: { apiKey: acuvityToken },
    path: "/_acuvity/scan",
    body: { anonymization: "FixedSize", messages: [text], redactions: [], type: "Input" },
    passes: extraction(),
    fails: extraction({ languages: { german: 0.9 } }),
  },
  {
    id: "lasso.classify",
    parameters: { conversationId: "01J000", userId: "u-1" },
    path: "/gateway/v3/classify",
    header: ["lasso-api-key", key.apiKey],
    body: { messages: turns, messageType: "PROMPT", sessionId: "01J000", userId: "u-1" },
    passes: { violations_detected: true, findings: { jailbreak: [{ action: "WARN" }] } },
    fails: { violations_detected: true, findings: { jailbreak: [{ action: "WARN" }, { action: "BLOCK" }] } },
  },
  {
    id: "promptsecurity.protectPrompt",
    parameters: { user: "u-1" },
    credentials: { apiDomain: "tenant.prompt.example" },
    path: "/api/protect",
    header: ["app-id", key.apiKey],
    body: { prompt: text, user: "u-1" },
    passes: { result: { prompt: { passed: true } } },
    fails: { result: { prompt: { passed: false, violations: ["x"] } } },
    redacts: [{ result: { prompt: { passed: true, modified_text: "my [X]" } } }, "my [X]"],
  },
  {
    id: "promptsecurity.protectResponse",
    answers: true,
    credentials: { apiDomain: "tenant.prompt.example" },
    path: "/api/protect",
    header: ["app-id", key.apiKey],
    body: { response: text },
    passes: { result: { response: { passed: true } } },
    fails: { result: { response: { passed: false } } },
  },
  {
    id: "panw-prisma-airs.intercept",
    parameters: { profile_name: "profile" },
    credentials: { AIRS_API_KEY: key.apiKey },
    path: "/v1/scan/sync/request",
    header: ["x-pan-token", key.apiKey],
    body: {
      tr_id: "trace-1",
      metadata: { ai_model: "unknown-model", app_user: "gateway", app_name: "gateway" },
      contents: [{ prompt: text }],
      ai_profile: { profile_name: "profile" },
    },
    passes: { action: "allow" },
    fails: { action: "block", category: "malicious", message: "blocked by the profile" },
  },
  {
    id: "walledai.walledprotect",
    path: "/v1/walled-protect",
    header: own,
    body: { text, generic_safety_check: true },
    passes: { data: { safety: [{ isSafe: true }] } },
    fails: { data: { safety: [{ isSafe: false }] } },
  },
  {
    id: "javelin.guardrails",
    credentials: { domain: "javelin.example", application: "app" },
    path: "/v1/guardrails/apply",
    header: ["x-javelin-apikey", key.apiKey],
    body: { input: { text } },
    passes: { assessments: [{ trustsafety: { request_reject: false } }] },
    fails: { assessments: [{ trustsafety: { request_reject: true, results: { reject_prompt: "no" } } }] },
  },
  {
    id: "f5-guardrails.scan",
    parameters: { projectId: "p-1" },
    path: "/backend/v1/scans",
    header: bearer,
    body: { input: text, project: "p-1" },
    passes: { result: { outcome: "cleared" } },
    fails: { result: { outcome: "flagged" } },
    redacts: [{ redactedInput: "my ##", result: { outcome: "redacted" } }, "my ##"],
  },
  {
    id: "crowdstrike-aidr.guardChatCompletions",
    credentials: { baseUrl: "https://aidr.example" },
    path: "/v1/guard_chat_completions",
    header: bearer,
    body: {
      guard_input: { model: "gpt-test", messages: turns },
      event_type: "input",
      app_id: "gateway",
      llm_provider: "openai",
      model: "gpt-test",
      extra_info: {},
    },
    passes: { status: "Success", result: { blocked: false, transformed: false } },
    fails: { status: "Success", result: { blocked: true, policy: "p" }, summary: "a message too" },
    redacts: [
      {
        status: "Success",
        result: {
          blocked: false,
          transformed: true,
          guard_output: { model: "gpt-test", messages: [{ role: "user", content: "my <X>" }] },
        },
      },
      "my <X>",
    ],
  },
  qualifire(
    "contentModeration",
    ["dangerousContentCheck", "harassmentCheck", "hateSpeechCheck", "sexualContentCheck"],
    false,
  ),
  qualifire("pii", ["piiCheck"], true),
  qualifire("promptInjections", ["promptInjections"], false),
  qualifire("hallucinations", ["hallucinationsCheck"], true),
  qualifire("grounding", ["groundingCheck"], true),
  {
    ...qualifire("toolUseQuality", [], true),
    body: {
      messages: [{ role: "user", content: "asked" }, both[1]],
      available_tools: [],
      toolUseQualityCheck: true,
      mode: "balanced",
    },
  },
  qualifire("instructionFollowing", ["instructionsFollowingCheck"], true),
  {
    ...qualifire("policy", [], false, { assertions: ["be kind"], policyTarget: "both" }),
    parameters: { policies: ["be kind"] },
  },
  {
    id: "akto.scan",
    path: "/api/validate/request",
    header: bearer,
    body: {
      path: "/chatComplete",
      method: "POST",
      requestPayload: JSON.stringify({ prompt: text, model: "gpt-test" }),
      time: "1768478400",
      source: "gateway",
      contextSource: "request",
    },
    passes: { Allowed: true },
    fails: { Allowed: false, Reason: "policy" },
  },
  {
    id: "zscaler.zscalerprotect",
    parameters: { policyId: 7 },
    credentials: { zscalerApiKey: key.apiKey },
    path: "/v1/detection/execute-policy",
    header: bearer,
    body: { policyId: 7, direction: "IN", content: text },
    passes: { action: "DETECT", detectorResponses: {} },
    fails: { action: "BLOCK", errorMsg: "blocked" },
  },
  {
    id: "exa.online",
    path: "/search",
    header: own,
    body: { query: text, numResults: 5, useAutoprompt: true, contents: { text: true } },
    passes: { results: [] },
  },
  {
    id: "tavily.online",
    parameters: { searchDepth: "advanced", includeDomains: ["example.com"] },
    path: "/search",
    header: bearer,
    body: {
      query: text,
      max_results: 5,
      chunks_per_source: 3,
      search_depth: "advanced",
      include_domains: ["example.com"],
    },
    passes: { results: [] },
  },
].map((one) => ({ ...one, credentials: { ...key, ...one.credentials } }) as PartnerCase); // rows of the table above
