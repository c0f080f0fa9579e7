// Partners with several checks, with conversations, or with replies of more than one verdict.

import * as v from "valibot";
import { fromBase64Url } from "../../lib/base64.ts";
import { decodeUtf8, isObject, parseJson } from "../../lib/json.ts";
import { afterOnly, type Body, beforeOnly, bothPhases, CheckError } from "../types.ts";
import { callsByPart, needed, optional, optionalList, optionalText, spreadOver } from "./reading.ts";
import { BaseUrl, bearerKey, HostName } from "./simple-partners.ts";
import { type AnyPartnerCheck, definePartnerCheck, type Partner, type Question } from "./types.ts";

const redact = v.optional(v.boolean(), false);
const on = v.optional(v.boolean(), true);
const threshold = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.5);
const Name = v.pipe(v.string(), v.minLength(1), v.maxLength(512));
const apiKey = { apiKey: { secret: "key" } } as const;

/** Claims of a signed token, which the service verifies; undefined where it is not one. */
function readClaims(token: string): unknown {
  try {
    return parseJson(decodeUtf8(fromBase64Url(token.split(".")[1] ?? "")));
  } catch {
    return undefined;
  }
}

/** The service address that the key, a token, names. */
function apexOf(token: string): string {
  const address = optionalText(readClaims(token), "opaque", "apex-url");
  if (address !== undefined && /^https?:\/\/[^/?#\s]+/.test(address)) return address.replace(/\/+$/, "");
  if (address !== undefined && /^[a-z0-9.-]+$/i.test(address)) return `https://${address}`;
  throw new CheckError("Cannot call the service: its key names no address");
}

const acuvity: Partner = {
  slug: "acuvity",
  credentials: apiKey,
  baseUrl: ({ apiKey: token = "" }) => apexOf(token),
  headers: bearerKey,
};

/** Guards of Acuvity: the parameter, and where its score is in an extraction. */
const acuvityGuards = [
  ["prompt_injection", "exploits", "prompt_injection"],
  ["jail_break", "exploits", "jail_break"],
  ["malicious_url", "exploits", "malicious_url"],
  ["toxic", "malcontents", "toxic"],
  ["biased", "malcontents", "biased"],
  ["harmful", "malcontents", "harmful"],
] as const;
const acuvityThresholds = {
  prompt_injection_threshold: threshold,
  jail_break_threshold: threshold,
  malicious_url_threshold: threshold,
  toxic_threshold: threshold,
  biased_threshold: threshold,
  harmful_threshold: threshold,
};

/** Names whose score is above nothing, of those that are looked for. */
function scored(scores: unknown, wanted: readonly string[] | undefined): string[] {
  const names = Object.entries(isObject(scores) ? scores : {}).filter(([, score]) => Number(score) > 0);
  const lower = wanted?.map((name) => name.toLowerCase());
  return names.map(([name]) => name).filter((name) => lower === undefined || lower.includes(name.toLowerCase()));
}

const acuvityScan = definePartnerCheck({
  id: "acuvity.scan",
  partner: acuvity,
  phases: bothPhases,
  parameters: {
    prompt_injection: on,
    toxic: on,
    jail_break: on,
    malicious_url: on,
    biased: on,
    harmful: on,
    language: on,
    pii: on,
    secrets: on,
    ...acuvityThresholds,
    language_values: v.optional(v.union([Name, v.array(Name)]), "english"),
    pii_redact: redact,
    secrets_redact: redact,
    pii_categories: v.optional(v.array(Name)),
    secrets_categories: v.optional(v.array(Name)),
  },
  changes: ({ pii_redact, secrets_redact }) => pii_redact || secrets_redact,
  calls({ parts, isOutput }, parameters) {
    const redactions = [
      ...(parameters.pii && parameters.pii_redact ? (parameters.pii_categories ?? []) : []),
      ...(parameters.secrets && parameters.secrets_redact ? (parameters.secrets_categories ?? []) : []),
    ];
    const body = { anonymization: "FixedSize", messages: parts, redactions, type: isOutput ? "Output" : "Input" };
    return [{ path: "/_acuvity/scan", body }];
  },
  read([answer], { parts }, parameters) {
    const extractions = needed.list(answer, "extractions").map((one) => needed.object(one));
    if (extractions.length === 0) needed.object(answer, "extractions", 0);
    const found = extractions.flatMap((one) =>
      acuvityGuards
        .filter(
          ([name, group, key]) =>
            parameters[name] && Number(optional(one, group, key) ?? 0) > parameters[`${name}_threshold`],
        )
        .map(([name]): string => name),
    );
    const wanted = [parameters.language_values].flat().map((name) => name.toLowerCase());
    const languages = extractions.flatMap((one) => scored(one.languages, undefined)).map((name) => name.toLowerCase());
    if (parameters.language && languages.length > 0 && !languages.some((name) => wanted.includes(name)))
      found.push("language");
    const valuesOf = (names: readonly string[], wantedNames: readonly string[] | undefined) =>
      extractions.flatMap((one) => names.flatMap((name) => scored(one[name], wantedNames)));
    const personal = parameters.pii ? valuesOf(["PIIs", "piIs", "piis"], parameters.pii_categories) : [];
    const secret = parameters.secrets ? valuesOf(["secrets"], parameters.secrets_categories) : [];
    const data = { found, pii: [...new Set(personal)], secrets: [...new Set(secret)] };
    const isOpen = (personal.length > 0 && !parameters.pii_redact) || (secret.length > 0 && !parameters.secrets_redact);
    if (found.length > 0 || isOpen) return { pass: false, data };
    if (personal.length + secret.length === 0) return { pass: true, data };
    return { pass: true, data, parts: parts.map((_, index) => needed.text(extractions[index], "data")) };
  },
});

const lasso: Partner = {
  slug: "lasso",
  credentials: { ...apiKey, apiEndpoint: { isAddress: true, isOptional: true, schema: BaseUrl } },
  baseUrl: ({ apiEndpoint }) => apiEndpoint ?? "https://server.lasso.security",
  headers: (credentials) => ({ "lasso-api-key": credentials.apiKey ?? "" }),
};

const lassoClassify = definePartnerCheck({
  id: "lasso.classify",
  aliases: ["lasso.scanContent"],
  partner: lasso,
  phases: bothPhases,
  parameters: { conversationId: v.optional(Name), userId: v.optional(Name), messages: v.optional(v.unknown()) },
  calls: ({ turns, isOutput }, { conversationId, userId }) => [
    {
      path: "/gateway/v3/classify",
      body: {
        messages: turns,
        messageType: isOutput ? "COMPLETION" : "PROMPT",
        ...(conversationId !== undefined && { sessionId: conversationId }),
        ...(userId !== undefined && { userId }),
      },
    },
  ],
  read([answer]) {
    const isViolated = needed.boolean(answer, "violations_detected");
    const findings = Object.entries(isViolated ? needed.object(answer, "findings") : {});
    const actions = findings.flatMap(([name, list]) =>
      (Array.isArray(list) ? list : []).map((one) => ({ name, action: optionalText(one, "action") })),
    );
    return {
      pass: !actions.some(({ action }) => action === "BLOCK"),
      data: { violations_detected: isViolated, actions },
    };
  },
});

const promptSecurity: Partner = {
  slug: "promptsecurity",
  credentials: { ...apiKey, apiDomain: { isAddress: true, schema: HostName } },
  baseUrl: ({ apiDomain }) => `https://${apiDomain}`,
  headers: (credentials) => ({ "app-id": credentials.apiKey ?? "" }),
};

/** One of the two directions of Prompt Security. */
function promptSecurityCheck(name: string, target: "prompt" | "response"): AnyPartnerCheck {
  return definePartnerCheck({
    id: `promptsecurity.${name}`,
    partner: promptSecurity,
    phases: target === "prompt" ? beforeOnly : afterOnly,
    parameters: {
      policy: v.optional(v.looseObject({})),
      redact,
      monitorOnly: redact,
      user: v.optional(Name),
      userGroups: v.optional(v.array(Name)),
    },
    changes: (parameters) => parameters.redact,
    calls(question, { policy, user, userGroups, monitorOnly, redact: replaces }) {
      const others = {
        ...(policy && { policy }),
        ...(user !== undefined && { user }),
        ...(userGroups && { user_groups: userGroups }),
        ...(monitorOnly && { monitor_only: true }),
      };
      const make = (text: string) => ({ path: "/api/protect", body: { [target]: text, ...others } });
      return replaces ? callsByPart(question, make) : [make(question.text)];
    },
    read(answers, question, { redact: replaces, monitorOnly }) {
      const passed = answers.every((answer) => needed.boolean(answer, "result", target, "passed"));
      const data = { violations: answers.flatMap((answer) => optionalList(answer, "result", target, "violations")) };
      if (!passed) return { pass: monitorOnly, data };
      if (!replaces) return { pass: true, data };
      const changed = answers.map((answer) => optionalText(answer, "result", target, "modified_text"));
      return { pass: true, data, parts: spreadOver(question, changed) };
    },
  });
}

const airs: Partner = {
  slug: "panw-prisma-airs",
  credentials: { AIRS_API_KEY: { secret: "key" } },
  baseUrl: () => "https://service.api.aisecurity.paloaltonetworks.com",
  headers: ({ AIRS_API_KEY = "" }) => ({ "x-pan-token": AIRS_API_KEY }),
};

/** Text of a prompt that Prisma AIRS scans. */
function scannedPrompt({ turns, text, lastTurn }: Question, scope: string): string {
  const said = turns.filter(({ role }) => role === "user").map(({ content }) => content);
  if (scope === "all_messages") return text;
  if (scope === "user_messages" && said.length > 0) return said.join("\n");
  return (scope === "last_user_message" ? said.at(-1) : undefined) ?? lastTurn;
}

const airsIntercept = definePartnerCheck({
  id: "panw-prisma-airs.intercept",
  partner: airs,
  phases: bothPhases,
  parameters: {
    profile_name: v.optional(Name),
    profile_id: v.optional(Name),
    ai_model: v.optional(Name, "unknown-model"),
    app_user: v.optional(Name, "gateway"),
    app_name: v.optional(Name),
    scan_scope: v.optional(
      v.picklist(["last_message", "last_user_message", "user_messages", "all_messages"]),
      "last_message",
    ),
    strip_scaffolding: redact,
  },
  calls(question, { profile_name, profile_id, ai_model, app_user, app_name, scan_scope, strip_scaffolding }) {
    const prompt = scannedPrompt(question, scan_scope);
    // agents wrap what the user wrote into their own elements
    const plain = strip_scaffolding
      ? prompt.replace(/<(system-reminder|environment_details)>[^<]{0,65536}<\/\1>/g, "")
      : prompt;
    const profile =
      profile_id !== undefined ? { profile_id } : profile_name !== undefined ? { profile_name } : undefined;
    const trace = question.input.request.header("x-gateway-trace-id");
    return [
      {
        path: "/v1/scan/sync/request",
        body: {
          tr_id: trace ?? crypto.randomUUID(),
          metadata: { ai_model, app_user, app_name: app_name === undefined ? "gateway" : `gateway-${app_name}` },
          contents: [question.isOutput ? { response: question.text } : { prompt: plain }],
          ...(profile && { ai_profile: profile }),
        },
      },
    ];
  },
  read([answer]) {
    const action = needed.text(answer, "action");
    return { pass: action !== "block", data: { action, category: optional(answer, "category") } };
  },
});

const f5: Partner = {
  slug: "f5-guardrails",
  credentials: { ...apiKey, calypsoUrl: { isAddress: true, isOptional: true, schema: BaseUrl } },
  baseUrl: ({ calypsoUrl }) => calypsoUrl ?? "https://us1.calypsoai.app",
  headers: bearerKey,
};

const f5Scan = definePartnerCheck({
  id: "f5-guardrails.scan",
  partner: f5,
  phases: bothPhases,
  parameters: { projectId: Name, redact },
  changes: (parameters) => parameters.redact,
  calls: (question, { projectId }) =>
    callsByPart(question, (input) => ({ path: "/backend/v1/scans", body: { input, project: projectId } })),
  read(answers, question, parameters) {
    const outcomes = answers.map((answer) => needed.text(answer, "result", "outcome"));
    const data = { outcomes };
    const isRedacted = outcomes.includes("redacted");
    if (outcomes.some((outcome) => outcome === "blocked" || outcome === "flagged")) return { pass: false, data };
    if (!isRedacted) return { pass: true, data };
    if (!parameters.redact) return { pass: false, data };
    const changed = answers.map((answer, index) =>
      outcomes[index] === "redacted" ? needed.text(answer, "redactedInput") : undefined,
    );
    return { pass: true, data, parts: spreadOver(question, changed) };
  },
});

const crowdstrike: Partner = {
  slug: "crowdstrike-aidr",
  credentials: { ...apiKey, baseUrl: { isAddress: true, schema: BaseUrl } },
  baseUrl: ({ baseUrl = "" }) => baseUrl,
  headers: bearerKey,
};

const crowdstrikeGuard = definePartnerCheck({
  id: "crowdstrike-aidr.guardChatCompletions",
  partner: crowdstrike,
  phases: bothPhases,
  parameters: { redact },
  changes: (parameters) => parameters.redact,
  calls({ input, isOutput }) {
    const { request, response, metadata, provider } = input;
    const user = metadata._user ?? metadata.user_id;
    const name = metadata._user_name ?? metadata.user_name;
    const { model } = request.body;
    return [
      {
        path: "/v1/guard_chat_completions",
        body: {
          guard_input: response?.body ?? request.body,
          event_type: isOutput ? "output" : "input",
          app_id: "gateway",
          ...(user !== undefined && { user_id: user }),
          ...(provider !== "" && { llm_provider: provider }),
          ...(model !== undefined && { model }),
          extra_info: name === undefined ? {} : { user_name: name },
        },
      },
    ];
  },
  read([answer], _, parameters) {
    if (needed.text(answer, "status").toLowerCase() !== "success") {
      throw new CheckError("Cannot use the response of the service: its status is not Success", {
        name: "PartnerError",
      });
    }
    const blocked = needed.boolean(answer, "result", "blocked");
    const transformed = optional(answer, "result", "transformed") === true;
    const data = { blocked, transformed, policy: optional(answer, "result", "policy") };
    if (blocked || (transformed && !parameters.redact)) return { pass: false, data };
    if (!transformed) return { pass: true, data };
    return { pass: true, data, body: needed.object(answer, "result", "guard_output") as Body }; // an object, as read
  },
});

export const richPartnerChecks: readonly AnyPartnerCheck[] = [
  acuvityScan,
  lassoClassify,
  promptSecurityCheck("protectPrompt", "prompt"),
  promptSecurityCheck("protectResponse", "response"),
  airsIntercept,
  f5Scan,
  crowdstrikeGuard,
];
