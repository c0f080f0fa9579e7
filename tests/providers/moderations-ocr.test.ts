import { azureAi } from "../../src/providers/azure-ai/mod.ts";
import { azureOpenai } from "../../src/providers/azure-openai/mod.ts";
import { mistral } from "../../src/providers/mistral-ai/mod.ts";
import { openai } from "../../src/providers/openai/mod.ts";
import { type ConformanceCase, jsonFixture, testConformance } from "../conformance/suite.ts";

const moderation = jsonFixture("openai", "moderation.json");
const moderated = { operation: "moderate" as const, answer: moderation, wanted: moderation };
const input = [
  { type: "text", text: "Hello" },
  { type: "image_url", image_url: { url: "https://example.com/a.png" } },
];

for (const provider of [openai, mistral]) {
  testConformance(provider, [
    {
      ...moderated,
      name: "moderations without a model",
      request: { input: "Hello" },
      sent: { path: "/moderations", body: { input: "Hello" } },
    },
    {
      ...moderated,
      name: "moderations of parts",
      request: { input, model: "omni-moderation-latest", own: 1 },
      sent: { body: { input, model: "omni-moderation-latest", own: 1 } },
    },
  ]);
}

const resource = { "azure-resource-name": "acme" };
testConformance(azureOpenai, [
  {
    ...moderated,
    name: "moderations by a deployment",
    request: { input: "Hello" },
    settings: { ...resource, "azure-deployment-id": "checks", "azure-api-version": "2024-10-21" },
    sent: { path: "/deployments/checks/moderations?api-version=2024-10-21", body: { input: "Hello" } },
  },
  {
    ...moderated,
    name: "moderations by a model",
    request: { input: "Hello", model: "omni" },
    settings: { ...resource, "azure-api-version": "v1" },
    sent: { path: "/v1/moderations", body: { input: "Hello", model: "omni" } },
  },
]);

const ocr = { operation: "ocr" as const, answer: jsonFixture("mistral-ai", "ocr.json") };
const read = { ...ocr, wanted: ocr.answer };
const inline = "data:application/pdf;base64,JVBERi0=";
const request = (document: object) => ({ model: "mistral-ocr-latest", document, pages: [0], image_limit: 2 });
const documents = {
  "a document": { type: "document_url", document_url: inline, document_name: "a.pdf" },
  "a picture": { type: "image_url", image_url: inline },
  "a picture as an object": { type: "image_url", image_url: { url: inline } },
};
const casesAt = (path: string): ConformanceCase[] =>
  Object.entries(documents).map(([name, document]) => ({
    ...read,
    name: `ocr of ${name}`,
    request: request(document),
    sent: { path, body: request(document) },
  }));

const away = "https://example.com/a.pdf";
testConformance(mistral, [
  ...casesAt("/ocr"),
  {
    ...read,
    name: "ocr of a document at a URL",
    request: { ...request({ type: "document_url", document_url: away }), pages: "0-3,5", table_format: "html" },
    sent: {
      body: { ...request({ type: "document_url", document_url: away }), pages: "0-3,5", table_format: "html" },
    },
  },
  { ...read, name: "ocr of a file", request: request({ type: "file", file_id: "f" }), sent: { path: "/ocr" } },
]);
testConformance(azureAi, [
  ...casesAt("/providers/mistral/azure/ocr"),
  ...[
    { type: "document_url", document_url: away },
    { type: "image_url", image_url: away },
    { type: "image_url", image_url: { url: away } },
    { type: "file", file_id: "f" },
  ].map((document) => ({
    operation: "ocr" as const,
    name: `ocr of ${JSON.stringify(document)}`,
    request: request(document),
    refused: /send the document as a data URL/,
  })),
]);
