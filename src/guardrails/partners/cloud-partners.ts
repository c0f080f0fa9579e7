// Guardrails of clouds: Bedrock Guardrails, Azure AI Content Safety and Azure AI Language.

import * as v from "valibot";
import { afterOnly, beforeOnly, bothPhases, CheckError } from "../types.ts";
import { callsByPart, needed, optional, optionalList, optionalText, spreadOver } from "./reading.ts";
import { type AnyPartnerCheck, definePartnerCheck, type Partner } from "./types.ts";

const redact = v.optional(v.boolean(), false);
const Label = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, "must be lower-case letters, digits and hyphens"));
const Segment = v.pipe(v.string(), v.regex(/^[\w-]{1,255}$/, "must be an id"));

const bedrock: Partner = {
  slug: "bedrock",
  credentials: {
    awsAccessKeyId: { secret: true, isOptional: true },
    awsSecretAccessKey: { secret: true, isOptional: true },
    awsSessionToken: { secret: true, isOptional: true },
    awsRegion: { isAddress: true, isOptional: true, schema: Label },
    awsAuthType: { isOptional: true, schema: v.picklist(["accessKey", "assumedRole", "serviceRole", "apiKey"]) },
    awsRoleArn: { isOptional: true },
    awsExternalId: { isOptional: true },
    apiKey: { secret: "key", isOptional: true },
  },
  baseUrl({ awsRegion = "us-east-1" }) {
    return `https://bedrock-runtime.${awsRegion}.amazonaws.com${awsRegion.startsWith("cn-") ? ".cn" : ""}`;
  },
  headers: ({ apiKey = "" }): Record<string, string> => (apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
  signs: "aws",
};

const azure: Partner = {
  slug: "azure",
  credentials: {
    resourceName: { isAddress: true, isOptional: true, schema: Label },
    azureAuthMode: { isOptional: true, schema: v.picklist(["apiKey", "entra", "managed"]) },
    apiKey: { secret: "key", isOptional: true },
    azureEntraTenantId: { isAddress: true, isOptional: true },
    azureEntraClientId: { isOptional: true },
    azureEntraClientSecret: { secret: true, isOptional: true },
    azureManagedClientId: { isOptional: true },
  },
  baseUrl({ resourceName }) {
    if (resourceName === undefined)
      throw new CheckError("Cannot call the service: the credentials have no resourceName");
    return `https://${resourceName}.cognitiveservices.azure.com`;
  },
  headers: ({ apiKey = "" }) => ({ "ocp-apim-subscription-key": apiKey }),
  signs: "azure",
};

const apiVersion = (fallback: string) =>
  v.optional(v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\d(?:-preview)?$/, "must be a date")), fallback);

/** Findings of Bedrock's policies: lists of entries with an action. */
const bedrockLists = [
  ["contentPolicy", "filters"],
  ["wordPolicy", "customWords"],
  ["wordPolicy", "managedWordLists"],
  ["topicPolicy", "topics"],
  ["contextualGroundingPolicy", "filters"],
  ["sensitiveInformationPolicy", "piiEntities"],
  ["sensitiveInformationPolicy", "regexes"],
] as const;

/** What one response of Bedrock found: entries that block, and those that only mask. */
function readAssessments(answer: unknown) {
  const found = optionalList(answer, "assessments").flatMap((assessment) =>
    bedrockLists.flatMap(([policy, list]) =>
      optionalList(assessment, policy, list).map((entry) => ({
        policy,
        kind: optionalText(entry, "type") ?? optionalText(entry, "name"),
        action: optionalText(entry, "action") ?? "",
      })),
    ),
  );
  return { found, blocks: found.some(({ action }) => action === "BLOCKED") };
}

const bedrockGuard = definePartnerCheck({
  id: "bedrock.guard",
  partner: bedrock,
  phases: bothPhases,
  parameters: { guardrailId: Segment, guardrailVersion: Segment, redact },
  changes: (parameters) => parameters.redact,
  calls: (question, { guardrailId, guardrailVersion }) =>
    callsByPart(question, (text) => ({
      path: `/guardrail/${guardrailId}/version/${guardrailVersion}/apply`,
      body: { source: question.isOutput ? "OUTPUT" : "INPUT", content: [{ text: { text } }] },
    })),
  read(answers, question, parameters) {
    const read = answers.map((answer) => {
      const intervened = needed.text(answer, "action") === "GUARDRAIL_INTERVENED";
      const masked = optionalText(answer, "outputs", 0, "text");
      return { ...readAssessments(answer), intervened, masked: intervened ? masked : undefined };
    });
    const data = { findings: read.flatMap(({ found }) => found).slice(0, 50) };
    if (read.some(({ blocks }) => blocks)) return { pass: false, data };
    const touched = read.filter(({ intervened }) => intervened);
    if (!parameters.redact || touched.length === 0) return { pass: touched.length === 0, data };
    if (touched.some(({ masked }) => masked === undefined)) return { pass: false, data };
    return {
      pass: true,
      data,
      parts: spreadOver(
        question,
        read.map(({ masked }) => masked),
      ),
    };
  },
});

const severities = v.picklist([2, 4, 6, 8], "must be 2, 4, 6 or 8");
const harms = ["Hate", "SelfHarm", "Sexual", "Violence"] as const;

const contentSafety = definePartnerCheck({
  id: "azure.contentSafety",
  partner: azure,
  credentialGroup: "contentSafety",
  phases: bothPhases,
  parameters: {
    blocklistNames: v.optional(v.array(v.string())),
    severity: v.optional(severities, 2),
    categories: v.optional(v.array(v.picklist(harms)), [...harms]),
    apiVersion: apiVersion("2024-09-01"),
  },
  calls: ({ text }, { categories, blocklistNames, apiVersion: version }) => [
    { path: `/contentsafety/text:analyze?api-version=${version}`, body: { text, categories, blocklistNames } },
  ],
  read([answer], _, { severity }) {
    const analysis = needed.list(answer, "categoriesAnalysis");
    const over = analysis.filter((one) => Number(optional(one, "severity") ?? 0) >= severity);
    const lists = optionalList(answer, "blocklistsMatch").map((one) => optionalText(one, "blocklistName"));
    return { pass: over.length === 0 && lists.length === 0, data: { categories: analysis, blocklists: lists } };
  },
});

const azurePii = definePartnerCheck({
  id: "azure.pii",
  partner: azure,
  credentialGroup: "pii",
  phases: bothPhases,
  parameters: {
    domain: v.optional(v.picklist(["none", "phi"]), "none"),
    modelVersion: v.optional(v.string(), "latest"),
    piiCategories: v.optional(v.array(v.string())),
    language: v.optional(v.string(), "en"),
    apiVersion: apiVersion("2024-11-01"),
    redact,
  },
  changes: (parameters) => parameters.redact,
  calls: ({ parts }, { domain, modelVersion, piiCategories, language, apiVersion: version }) => [
    {
      path: `/language/:analyze-text?api-version=${version}`,
      body: {
        kind: "PiiEntityRecognition",
        parameters: { domain, modelVersion, ...(piiCategories && { piiCategories }) },
        analysisInput: { documents: parts.map((text, index) => ({ id: String(index), language, text })) },
      },
    },
  ],
  read([answer], { parts }, parameters) {
    const documents = needed.list(answer, "results", "documents");
    const errors = optionalList(answer, "results", "errors");
    if (errors.length > 0 || documents.length < parts.length) needed.list(undefined, "results.documents of every part");
    const entities = documents.flatMap((one) => needed.list(one, "entities").map((each) => optional(each, "category")));
    const data = { count: entities.length, categories: [...new Set(entities)] };
    if (!parameters.redact || entities.length === 0) return { pass: entities.length === 0, data };
    const byId = new Map(documents.map((one) => [optionalText(one, "id"), one]));
    return { pass: true, data, parts: parts.map((_, index) => needed.text(byId.get(String(index)), "redactedText")) };
  },
});

const shieldPrompt = definePartnerCheck({
  id: "azure.shieldPrompt",
  partner: azure,
  credentialGroup: "contentSafety",
  phases: beforeOnly,
  parameters: { apiVersion: apiVersion("2024-09-01") },
  calls({ turns, text }, { apiVersion: version }) {
    // what the user writes is the prompt; what tools return are documents
    const said = turns.filter(({ role }) => role === "user").map(({ content }) => content);
    const documents = turns.filter(({ role }) => role === "tool").map(({ content }) => content);
    const userPrompt = said.length > 0 ? said.join("\n") : text;
    return [{ path: `/contentsafety/text:shieldPrompt?api-version=${version}`, body: { userPrompt, documents } }];
  },
  read([answer]) {
    const prompt = needed.boolean(answer, "userPromptAnalysis", "attackDetected");
    const documents = optionalList(answer, "documentsAnalysis").map((one) => needed.boolean(one, "attackDetected"));
    return { pass: !prompt && !documents.includes(true), data: { prompt, documents } };
  },
});

const protectedMaterial = definePartnerCheck({
  id: "azure.protectedMaterial",
  partner: azure,
  credentialGroup: "contentSafety",
  phases: afterOnly,
  parameters: { apiVersion: apiVersion("2024-09-01") },
  calls: ({ text }, { apiVersion: version }) => [
    { path: `/contentsafety/text:detectProtectedMaterial?api-version=${version}`, body: { text } },
  ],
  read([answer]) {
    const detected = needed.boolean(answer, "protectedMaterialAnalysis", "detected");
    return { pass: !detected, data: { detected } };
  },
});

export const cloudPartnerChecks: readonly AnyPartnerCheck[] = [
  bedrockGuard,
  contentSafety,
  azurePii,
  shieldPrompt,
  protectedMaterial,
];
