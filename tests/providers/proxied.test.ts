import { testCalls } from "../support/provider-calls.ts";

const host = { "x-gateway-custom-host": "https://db.example.com" };
const key = "provider-key";
const bearer = { authorization: `Bearer ${key}` };

for (const [provider, path, url, sent, headers] of [
  ["replicate", "/predictions", "https://api.replicate.com/v1/predictions", bearer, {}],
  ["meshy", "/v2/text-to-3d", "https://api.meshy.ai/openapi/v2/text-to-3d", bearer, {}],
  ["tripo3d", "/task", "https://api.tripo3d.ai/v2/openapi/task", bearer, {}],
  ["milvus", "/v2/vectordb/entities/search", "https://db.example.com/v2/vectordb/entities/search", bearer, host],
  ["qdrant", "/proxy/collections/a", "https://db.example.com/collections/a", { "api-key": key }, host],
  ["segmind", "/sdxl", "https://api.segmind.com/v1/sdxl", { "x-api-key": key }, {}],
  ["typesafe", "/systemone", "https://api.typesafe.ai/v1/systemone", bearer, {}],
  ["recraft-ai", "/styles", "https://external.api.recraft.ai/v1/styles", bearer, {}],
  ["elevenlabs", "/text-to-speech/v", "https://api.elevenlabs.io/v1/text-to-speech/v", { "xi-api-key": key }, {}],
  ["deepgram", "/listen?model=a", "https://api.deepgram.com/v1/listen?model=a", { authorization: `Token ${key}` }, {}],
  [
    "pinecone",
    "/indexes",
    "https://api.pinecone.io/indexes",
    { "api-key": key, "x-pinecone-api-version": "2025-10" },
    {},
  ],
  [
    "stability-ai",
    "/v2beta/results/1",
    "https://api.stability.ai/v2beta/results/1",
    { ...bearer, "stability-client-id": "app" },
    { "x-gateway-stability-client-id": "app" },
  ],
] as readonly [string, string, string, Record<string, string>, Record<string, string>][]) {
  await testCalls(provider, [
    { name: "receives native paths with the credential", path, headers, body: {}, url, sent },
    { name: "has no chat", headers, refused: /does not have it/ },
  ]);
}

await testCalls("pinecone", [
  {
    name: "is called in the version the caller names",
    path: "/indexes",
    headers: { "x-gateway-pinecone-api-version": "2026-07" },
    body: {},
    url: "https://api.pinecone.io/indexes",
    sent: { "x-pinecone-api-version": "2026-07" },
  },
]);
await testCalls("qdrant", [
  { name: "needs a host", path: "/proxy/collections/a", body: {}, refused: /x-gateway-custom-host/ },
]);
