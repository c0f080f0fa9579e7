// Partners with one key and one question: a text, and a verdict about it.

import * as v from "valibot";
import { afterOnly, beforeOnly, bothPhases } from "../types.ts";
import { callsByPart, maskSpans, needed, optional, optionalList, spreadOver } from "./reading.ts";
import { type AnyPartnerCheck, definePartnerCheck, type Partner } from "./types.ts";

const redact = v.optional(v.boolean(), false);
const threshold = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.5);
const Name = v.pipe(v.string(), v.minLength(1), v.maxLength(512));
/** A part of a path: no separators. */
const Segment = v.pipe(v.string(), v.regex(/^[\w.~-]{1,255}$/, "must be an id"), v.excludes(".."));

/** A bearer token. */
export const bearerKey = ({ apiKey = "" }) => ({ authorization: `Bearer ${apiKey}` });
const apiKey = { apiKey: { secret: "key" } } as const;
/** A label of a host, or a whole one. */
export const HostName = v.pipe(
  v.string(),
  v.regex(
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i,
    "must be the name of a host",
  ),
);
/** An address, whose use is checked when it is called. */
export const BaseUrl = v.pipe(
  v.string(),
  v.regex(/^https?:\/\/[^/?#\s]+[^?#\s]*$/, "must be an http or https address"),
);

const aporia: Partner = {
  slug: "aporia",
  credentials: { ...apiKey, endpoint: { isAddress: true, isOptional: true, schema: BaseUrl } },
  baseUrl: ({ endpoint }) => endpoint ?? "https://gr-prd.aporia.com",
  headers: (credentials) => ({ "x-aporia-api-key": credentials.apiKey ?? "" }),
};

const sydelabs: Partner = {
  slug: "sydelabs",
  credentials: apiKey,
  baseUrl: () => "https://guard.sydelabs.ai",
  headers: (credentials) => ({ "x-api-key": credentials.apiKey ?? "" }),
};

const pillar: Partner = {
  slug: "pillar",
  credentials: apiKey,
  baseUrl: () => "https://api.pillarseclabs.com",
  headers: bearerKey,
};

const mistral: Partner = {
  slug: "mistral",
  credentials: apiKey,
  baseUrl: () => "https://api.mistral.ai",
  headers: bearerKey,
};

const pangea: Partner = {
  slug: "pangea",
  credentials: { ...apiKey, domain: { isAddress: true, schema: HostName } },
  // both services of a domain are below it
  baseUrl: ({ domain }) => `https://ai-guard.${domain}`,
  headers: bearerKey,
};
const pangeaRedact: Partner = { ...pangea, baseUrl: ({ domain }) => `https://redact.${domain}` };

const promptfoo: Partner = {
  slug: "promptfoo",
  credentials: {},
  baseUrl: () => "https://api.promptfoo.dev",
  headers: () => ({}),
};

const walledai: Partner = {
  slug: "walledai",
  credentials: apiKey,
  baseUrl: () => "https://services.walled.ai",
  headers: (credentials) => ({ "x-api-key": credentials.apiKey ?? "" }),
};

const javelin: Partner = {
  slug: "javelin",
  credentials: { ...apiKey, domain: { isAddress: true, schema: HostName }, application: {} },
  baseUrl: ({ domain }) => `https://${domain}`,
  headers: (credentials) => ({
    "x-javelin-apikey": credentials.apiKey ?? "",
    "x-javelin-application": credentials.application ?? "",
  }),
};

const zscaler: Partner = {
  slug: "zscaler",
  credentials: { zscalerApiKey: { secret: "key" } },
  baseUrl: () => "https://api.zseclipse.net",
  headers: ({ zscalerApiKey = "" }) => ({ authorization: `Bearer ${zscalerApiKey}` }),
};

const akto: Partner = {
  slug: "akto",
  credentials: {
    ...apiKey,
    apiDomain: { isAddress: true, isOptional: true, schema: HostName },
    baseUrl: { isAddress: true, isOptional: true, schema: BaseUrl },
  },
  baseUrl: ({ apiDomain, baseUrl }) => baseUrl ?? `https://${apiDomain ?? "1726615470-guardrails.akto.io"}`,
  headers: bearerKey,
};

const pillarScanners = ["prompt_injection", "pii", "secrets", "toxic_language", "invisible_characters"] as const;

/** One of the two scans of Pillar. */
function pillarCheck(name: "scanPrompt" | "scanResponse", route: string): AnyPartnerCheck {
  return definePartnerCheck({
    id: `pillar.${name}`,
    partner: pillar,
    phases: name === "scanPrompt" ? beforeOnly : afterOnly,
    parameters: { scanners: v.pipe(v.array(v.picklist(pillarScanners)), v.minLength(1)) },
    calls: ({ text }, { scanners }) => [{ path: `/api/v1/scan/${route}`, body: { message: text, scanners } }],
    read([answer], _, { scanners }) {
      const result = needed.object(answer);
      const known = pillarScanners.filter((name) => typeof result[name] === "boolean");
      if (known.length === 0) needed.boolean(answer, scanners[0] ?? "");
      const found = pillarScanners.filter((name) => result[name] === true);
      return { pass: found.length === 0, data: { found } };
    },
  });
}

const mistralCategories = [
  "sexual",
  "hate_and_discrimination",
  "violence_and_threats",
  "dangerous_and_criminal_content",
  "selfharm",
  "health",
  "financial",
  "law",
  "pii",
] as const;

const pangeaDetectors = [
  "prompt_injection",
  "pii_entity",
  "malicious_entity",
  "custom_entity",
  "secrets_detection",
  "profanity_and_toxicity",
] as const;

/** A score by the words in its name: services spell them differently. */
function scoreOf(scores: Readonly<Record<string, unknown>>, name: RegExp): number {
  const found = Object.entries(scores).filter(([key, score]) => name.test(key) && typeof score === "number");
  return Math.max(0, ...found.map(([, score]) => Number(score)));
}

/** Spans `{start, end}` of Promptfoo's personal data, as pairs. */
function spansOf(answer: unknown): (readonly [number, number])[] {
  return optionalList(answer, "results", 0, "payload", "pii").map((one) => [
    needed.number(one, "start"),
    needed.number(one, "end"),
  ]);
}

export const simplePartnerChecks: readonly AnyPartnerCheck[] = [
  definePartnerCheck({
    id: "aporia.validateProject",
    partner: aporia,
    phases: bothPhases,
    parameters: { projectID: Segment },
    calls: ({ text, turns, isOutput }, { projectID }) => [
      {
        path: `/${projectID}/validate`,
        body: {
          messages: turns,
          explain: true,
          validation_target: isOutput ? "response" : "prompt",
          ...(isOutput && { response: text }),
        },
      },
    ],
    read([answer]) {
      const action = needed.text(answer, "action");
      return { pass: action === "passthrough", data: { action, explain_log: optional(answer, "explain_log") } };
    },
  }),
  definePartnerCheck({
    id: "sydelabs.sydeguard",
    partner: sydelabs,
    phases: beforeOnly,
    parameters: {
      prompt_injection_threshold: threshold,
      toxicity_threshold: threshold,
      evasion_threshold: threshold,
    },
    calls: ({ text }) => [{ path: "/api/v1/guard/generate-score", body: { prompt: text } }],
    read([answer], _, parameters) {
      const scores = needed.object(answer, "category_scores");
      const pass =
        scoreOf(scores, /inject/i) <= parameters.prompt_injection_threshold &&
        scoreOf(scores, /toxic/i) <= parameters.toxicity_threshold &&
        scoreOf(scores, /eva(?:sion|de)/i) <= parameters.evasion_threshold;
      return { pass, data: { scores } };
    },
  }),
  pillarCheck("scanPrompt", "prompt"),
  pillarCheck("scanResponse", "response"),
  definePartnerCheck({
    id: "mistral.moderateContent",
    partner: mistral,
    phases: bothPhases,
    parameters: {
      categories: v.pipe(v.array(v.picklist(mistralCategories)), v.minLength(1)),
      model: v.optional(Name, "mistral-moderation-latest"),
    },
    calls({ parts, turns, input }, { model }) {
      const isChat = input.requestType === "chatComplete" || input.requestType === "messages";
      return isChat
        ? [{ path: "/v1/chat/moderations", body: { model, input: turns } }]
        : [{ path: "/v1/moderations", body: { model, input: parts } }];
    },
    read([answer], _, { categories }) {
      const results = needed.list(answer, "results").map((result) => needed.object(result, "categories"));
      if (results.length === 0) needed.object(answer, "results", 0, "categories");
      const flagged = categories.filter((name) => results.some((result) => result[name] === true));
      return { pass: flagged.length === 0, data: { flagged } };
    },
  }),
  definePartnerCheck({
    id: "pangea.textGuard",
    partner: pangea,
    phases: bothPhases,
    parameters: { recipe: v.optional(Name), debug: v.optional(v.boolean()), overrides: v.optional(v.looseObject({})) },
    calls: ({ text }, parameters) => [{ path: "/v1/text/guard", body: { text, ...parameters } }],
    read([answer]) {
      needed.text(answer, "status");
      const detectors = needed.object(answer, "result", "detectors");
      const found = pangeaDetectors.filter((name) => optional(detectors, name, "detected") === true);
      return { pass: found.length === 0, data: { found } };
    },
  }),
  definePartnerCheck({
    id: "pangea.pii",
    partner: pangeaRedact,
    phases: bothPhases,
    parameters: { redact },
    changes: (parameters) => parameters.redact,
    calls: ({ parts }) => [{ path: "/v1/redact_structured", body: { data: parts } }],
    read([answer], { parts }, parameters) {
      const count = needed.number(answer, "result", "count");
      const data = { count };
      if (!parameters.redact || count === 0) return { pass: count === 0, data };
      const replaced = needed.list(answer, "result", "redacted_data");
      return { pass: true, data, parts: parts.map((_, index) => needed.text(replaced, index)) };
    },
  }),
  definePartnerCheck({
    id: "promptfoo.guard",
    partner: promptfoo,
    phases: beforeOnly,
    parameters: {},
    calls: ({ text }) => [{ path: "/v1/guard", body: { input: text } }],
    read([answer]) {
      const isJailbreak = needed.boolean(answer, "results", 0, "categories", "jailbreak");
      return { pass: !isJailbreak, data: { jailbreak: isJailbreak } };
    },
  }),
  definePartnerCheck({
    id: "promptfoo.harm",
    partner: promptfoo,
    phases: bothPhases,
    parameters: {},
    calls: ({ text }) => [{ path: "/v1/harm", body: { input: text } }],
    read([answer]) {
      const flagged = needed.boolean(answer, "results", 0, "flagged");
      return { pass: !flagged, data: { categories: optional(answer, "results", 0, "categories") } };
    },
  }),
  definePartnerCheck({
    id: "promptfoo.pii",
    partner: promptfoo,
    phases: bothPhases,
    parameters: { redact },
    changes: (parameters) => parameters.redact,
    calls: (question) => callsByPart(question, (input) => ({ path: "/v1/pii", body: { input } })),
    read(answers, question, parameters) {
      const flagged = answers.filter((answer) => needed.boolean(answer, "results", 0, "flagged"));
      const data = { count: flagged.length };
      if (!parameters.redact || flagged.length === 0) return { pass: flagged.length === 0, data };
      const filled = question.parts.filter((part) => part.trim() !== "");
      const replaced = answers.map((answer, index) => maskSpans(filled[index] ?? "", spansOf(answer)));
      // found, but not where
      const isMasked = answers.every((answer, index) => !flagged.includes(answer) || replaced[index] !== filled[index]);
      return { pass: isMasked, data, parts: spreadOver(question, replaced) };
    },
  }),
  definePartnerCheck({
    id: "walledai.walledprotect",
    partner: walledai,
    phases: bothPhases,
    parameters: {
      generic_safety_check: v.optional(v.boolean(), true),
      greetings_list: v.optional(v.array(Name)),
      pii_list: v.optional(v.array(Name)),
      compliance_list: v.optional(v.array(Name)),
    },
    calls: ({ text }, parameters) => [{ path: "/v1/walled-protect", body: { text, ...parameters } }],
    read([answer]) {
      const isSafe = needed.boolean(answer, "data", "safety", 0, "isSafe");
      return { pass: isSafe, data: { safety: optional(answer, "data", "safety") } };
    },
  }),
  definePartnerCheck({
    id: "javelin.guardrails",
    partner: javelin,
    phases: bothPhases,
    parameters: {},
    calls: ({ text }) => [{ path: "/v1/guardrails/apply", body: { input: { text } } }],
    read([answer]) {
      const assessments = needed.list(answer, "assessments");
      const rejected = assessments.flatMap((assessment) =>
        Object.entries(needed.object(assessment)).flatMap(([name, one]) =>
          optional(one, "request_reject") === true ? [{ name, prompt: optional(one, "results", "reject_prompt") }] : [],
        ),
      );
      return { pass: rejected.length === 0, data: { rejected } };
    },
  }),
  definePartnerCheck({
    id: "zscaler.zscalerprotect",
    aliases: ["zscaler-ai-guard.zscalerprotect"],
    partner: zscaler,
    phases: bothPhases,
    parameters: { policyId: v.union([v.pipe(v.number(), v.integer()), Segment]) },
    timeoutMs: 10_000,
    calls: ({ text, isOutput }, { policyId }) => [
      {
        path: "/v1/detection/execute-policy",
        body: { policyId: Number(policyId) || policyId, direction: isOutput ? "OUT" : "IN", content: text },
      },
    ],
    read([answer]) {
      const action = needed.text(answer, "action");
      return { pass: action !== "BLOCK", data: { action, detectors: optional(answer, "detectorResponses") } };
    },
  }),
  definePartnerCheck({
    id: "akto.scan",
    partner: akto,
    phases: bothPhases,
    parameters: {},
    calls: ({ text, input, isOutput, now }) => [
      {
        path: "/api/validate/request",
        body: {
          path: `/${input.requestType}`,
          method: "POST",
          requestPayload: JSON.stringify({
            [isOutput ? "response" : "prompt"]: text,
            model: input.request.body.model ?? "unknown",
          }),
          time: String(Math.floor(now / 1_000)),
          source: "gateway",
          contextSource: isOutput ? "response" : "request",
        },
      },
    ],
    read([answer]) {
      return { pass: needed.boolean(answer, "Allowed"), data: { reason: optional(answer, "Reason") } };
    },
  }),
];
