import assert from "node:assert/strict";
import { test as plainTest } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { BinaryAnswer, type OperationName } from "../../src/providers/core/operations.ts";
import type { Provider } from "../../src/providers/core/types.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { type ConformanceCase, jsonFixture, testConformance } from "../conformance/suite.ts";

const registry = createProviderRegistry();

function providerOf(slug: string): Provider {
  const provider = registry.get(slug);
  if (!provider) throw new Error(`no provider ${slug}`);
  return provider;
}

const operation: OperationName = "generateImage";
const prompt = "A lock at dawn";
const wanted = { created: 0, data: [{ b64_json: "AAAA" }] };

/** Cases of providers whose images have native shapes. */
function test(slug: string, cases: readonly ConformanceCase[], settings: Record<string, string> = {}): void {
  testConformance(
    providerOf(slug),
    cases.map((one) => ({ operation, settings, ...one })),
  );
}

/** Rejections shared by providers that return bytes in one response. */
const bytesOnly = (model: string): ConformanceCase[] => [
  {
    name: "an image by URL is rejected",
    request: { model, prompt, response_format: "url" },
    refused: /b64_json only/,
  },
  { name: "a stream is rejected", request: { model, prompt, stream: true }, refused: /does not support streaming/ },
  { name: "a malformed size is rejected", request: { model, prompt, size: "large" }, refused: /Invalid size/ },
];

const onePicture = (model: string): ConformanceCase => ({
  name: "two images are rejected",
  request: { model, prompt, n: 2 },
  refused: /one image per request/,
});

const noModel: ConformanceCase = { name: "a model is needed", request: { prompt }, refused: /model is missing/ };

test("stability-ai", [
  {
    name: "an engine",
    request: { model: "sdxl-1.0", prompt, n: 2, size: "1024x512", style: "anime", steps: 30, user: "u" },
    sent: {
      path: "/v1/generation/sdxl-1.0/text-to-image",
      body: {
        text_prompts: [{ text: prompt, weight: 1 }],
        width: 1024,
        height: 512,
        samples: 2,
        style_preset: "anime",
        steps: 30,
      },
    },
    dropped: ["user"],
    answer: { artifacts: [{ base64: "AAAA", finishReason: "SUCCESS" }, { finishReason: "CONTENT_FILTERED" }] },
    wanted,
  },
  {
    name: "sd3",
    request: { model: "sd3.5-large", prompt, size: "1024x1536", output_format: "jpeg", negative_prompt: "fog" },
    sent: {
      path: "/v2beta/stable-image/generate/sd3",
      body: {
        form: { prompt, aspect_ratio: "2:3", output_format: "jpeg", negative_prompt: "fog", model: "sd3.5-large" },
      },
    },
    answer: { image: "AAAA", finish_reason: "SUCCESS", seed: 1 },
    wanted,
  },
  ...bytesOnly("stable-image-ultra"),
  onePicture("core"),
  noModel,
]);

test(
  "bedrock",
  [
    {
      name: "Nova",
      request: {
        model: "amazon.nova-canvas-v1:0",
        prompt,
        n: 2,
        size: "1024x768",
        quality: "hd",
        negative_prompt: "fog",
        style: "x",
      },
      sent: {
        path: "/model/amazon.nova-canvas-v1%3A0/invoke",
        body: {
          taskType: "TEXT_IMAGE",
          textToImageParams: { text: prompt, negativeText: "fog" },
          imageGenerationConfig: { numberOfImages: 2, width: 1024, height: 768, quality: "premium" },
        },
      },
      dropped: ["style"],
      answer: { images: ["AAAA"], error: null },
      wanted,
    },
    {
      name: "SDXL",
      request: { model: "stability.stable-diffusion-xl-v1", prompt, cfg_scale: 7 },
      sent: { body: { text_prompts: [{ text: prompt, weight: 1 }], cfg_scale: 7 } },
      answer: { result: "success", artifacts: [{ base64: "AAAA", finishReason: "SUCCESS" }] },
      wanted,
    },
    {
      name: "Stable Image",
      request: { model: "us.stability.stable-image-core-v1:1", prompt, size: "1024x1024", seed: 3 },
      sent: { body: { prompt, aspect_ratio: "1:1", seed: 3 } },
      answer: { images: ["AAAA"], seeds: [3], finish_reasons: [null] },
      wanted,
    },
    {
      name: "a model without image output is rejected",
      request: { model: "anthropic.claude-sonnet-4-6", prompt },
      refused: /Titan and Nova/,
    },
    ...bytesOnly("amazon.titan-image-generator-v2:0"),
    noModel,
  ],
  { "aws-region": "us-east-1" },
);

test("fireworks-ai", [
  {
    name: "a Stable Diffusion model",
    request: {
      model: "accounts/fireworks/models/stable-diffusion-xl-1024-v1-0",
      prompt,
      n: 2,
      size: "1024x1024",
      steps: 20,
    },
    sent: {
      path: "/image_generation/accounts/fireworks/models/stable-diffusion-xl-1024-v1-0",
      body: { text_prompts: [{ text: prompt, weight: 1 }], steps: 20, width: 1024, height: 1024, samples: 2 },
    },
    answer: [{ base64: "AAAA", finishReason: "SUCCESS", seed: 1 }],
    wanted,
  },
  {
    name: "Flux",
    request: { model: "flux-1-schnell-fp8", prompt, size: "1792x1024", style: "vivid" },
    sent: {
      path: "/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image",
      body: { prompt, aspect_ratio: "16:9" },
    },
    dropped: ["style"],
    answer: { id: "1", base64: ["AAAA"], finishReason: "SUCCESS", seed: 1 },
    wanted,
  },
  ...bytesOnly("m"),
  onePicture("flux-1-dev"),
  noModel,
]);

test(
  "workers-ai",
  [
    {
      name: "JSON",
      request: { model: "@cf/black-forest-labs/flux-1-schnell", prompt, size: "512x768", steps: 4, quality: "hd" },
      sent: { path: "/@cf/black-forest-labs/flux-1-schnell", body: { prompt, width: 512, height: 768, steps: 4 } },
      dropped: ["quality"],
      answer: { result: { image: "AAAA" }, success: true },
      wanted,
    },
    {
      name: "image bytes",
      request: { model: "@cf/m", prompt },
      answer: new BinaryAnswer(new Uint8Array(3), "image/png"),
      wanted,
    },
    ...bytesOnly("@cf/m"),
    onePicture("@cf/m"),
  ],
  { "workers-ai-account-id": "a" },
);

test("segmind", [
  {
    name: "one image",
    request: { model: "sdxl1.0-txt2img", prompt, n: 1, size: "1024x768", scheduler: "UniPC", style: "base", user: "u" },
    sent: {
      path: "/sdxl1.0-txt2img",
      body: { prompt, samples: 1, img_width: 1024, img_height: 768, scheduler: "UniPC", style: "base", base64: true },
    },
    dropped: ["user"],
    answer: { image: "AAAA", status: "success" },
    wanted,
  },
  {
    name: "several",
    request: { model: "m", prompt },
    answer: { image: ["AAAA", "BBBB"] },
    wanted: { created: 0, data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] },
  },
  {
    name: "image bytes",
    request: { model: "m", prompt },
    answer: new BinaryAnswer(new Uint8Array(3), "image/jpeg"),
    wanted,
  },
  ...bytesOnly("m"),
]);

test("hyperbolic", [
  {
    name: "an image",
    request: { model: "FLUX.1-dev", prompt, size: "1024x1024", steps: 30, backend: "auto", style: "vivid" },
    sent: {
      path: "/v1/image/generation",
      body: { model_name: "FLUX.1-dev", prompt, width: 1024, height: 1024, steps: 30, backend: "auto" },
    },
    dropped: ["style"],
    answer: { images: [{ index: 0, image: "AAAA" }], inference_time: 1 },
    wanted,
  },
  ...bytesOnly("m"),
  onePicture("m"),
]);

test("siliconflow", [
  {
    name: "pictures",
    request: { model: "Kwai-Kolors/Kolors", prompt, n: 2, size: "1024x1024", guidance_scale: 7, user: "u" },
    sent: {
      path: "/images/generations",
      body: { model: "Kwai-Kolors/Kolors", prompt, image_size: "1024x1024", batch_size: 2, guidance_scale: 7 },
    },
    dropped: ["user"],
    answer: { images: [{ url: "https://x.test/1" }], timings: { inference: 1 }, seed: 1 },
    wanted: { created: 0, data: [{ url: "https://x.test/1" }] },
  },
  { name: "bytes are rejected", request: { model: "m", prompt, response_format: "b64_json" }, refused: /url only/ },
]);

test("together-ai", [
  {
    name: "pictures",
    request: { model: "m", prompt, n: 2, size: "1024x768", response_format: "b64_json", steps: 4, quality: "hd" },
    sent: {
      path: "/v1/images/generations",
      body: { model: "m", prompt, n: 2, response_format: "base64", steps: 4, width: 1024, height: 768 },
    },
    dropped: ["quality"],
    answer: { id: "o", model: "m", object: "list", data: [{ index: 0, b64_json: "AAAA" }] },
    wanted: { id: "o", model: "m", object: "list", created: 0, data: [{ index: 0, b64_json: "AAAA" }] },
  },
]);

const plain = { answer: wanted, wanted };
test("lemonfox-ai", [
  {
    name: "pictures",
    request: { prompt, n: 10, size: "512x512", response_format: "url", quality: "hd", negative_prompt: "fog" },
    sent: {
      path: "/images/generations",
      body: { prompt, n: 8, size: "512x512", response_format: "url", negative_prompt: "fog" },
    },
    dropped: ["quality"],
    ...plain,
  },
]);
test("x-ai", [
  {
    name: "pictures",
    request: { model: "grok-2-image", prompt, n: 2, size: "1024x1024", aspect_ratio: "1:1" },
    sent: { path: "/images/generations", body: { model: "grok-2-image", prompt, n: 2, aspect_ratio: "1:1" } },
    dropped: ["size"],
    ...plain,
  },
]);
test("byteplus", [
  {
    name: "pictures",
    request: { model: "ep-1", prompt, size: "2K", seed: 1, watermark: false, n: 1, style: "vivid" },
    sent: { path: "/images/generations", body: { model: "ep-1", prompt, size: "2K", seed: 1, watermark: false } },
    dropped: ["style", "n"],
    ...plain,
  },
  { name: "two images are rejected", request: { model: "ep-1", prompt, n: 2 }, refused: /n above 1/ },
]);
test("recraft-ai", [
  {
    name: "pictures",
    request: { prompt, style: "vector_illustration", n: 2, substyle: "engraving", quality: "hd" },
    sent: { path: "/images/generations", body: { prompt, style: "vector_illustration", n: 2, substyle: "engraving" } },
    dropped: ["quality"],
    ...plain,
  },
]);
for (const slug of ["openai", "nscale", "deepbricks"]) {
  test(slug, [
    {
      name: "pictures",
      request: { model: "m", prompt, n: 2, style: "vivid", any: 1 },
      sent: { path: "/images/generations", body: { model: "m", prompt, n: 2, style: "vivid", any: 1 } },
      ...plain,
    },
  ]);
}

const gemini = {
  candidates: [
    {
      content: { parts: [{ text: "Here." }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      finishReason: "STOP",
    },
  ],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 1290, thoughtsTokenCount: 10 },
};
const counted = { ...wanted, usage: { input_tokens: 4, output_tokens: 1300, total_tokens: 1304 } };
const project = { "vertex-project-id": "p" };

for (const [slug, base, settings] of [
  ["google", "/v1beta/models", {}],
  ["vertex-ai", "/v1/projects/p/locations/us-central1/publishers/google/models", project],
] as const) {
  test(
    slug,
    [
      {
        name: "Imagen",
        request: {
          model: "imagen-4.0-generate-001",
          prompt,
          n: 2,
          size: "1792x1024",
          quality: "hd",
          output_format: "jpeg",
          negative_prompt: "fog",
          user: "u",
        },
        sent: {
          path: `${base}/imagen-4.0-generate-001:predict`,
          body: {
            instances: [{ prompt }],
            parameters: {
              sampleCount: 2,
              aspectRatio: "16:9",
              outputOptions: { mimeType: "image/jpeg", compressionQuality: 100 },
              negativePrompt: "fog",
            },
          },
        },
        dropped: ["user"],
        answer: jsonFixture("vertex-ai", "image.json"),
        wanted: { created: 0, data: [{ b64_json: "iVBORw0KGgo=" }] },
      },
      {
        name: "Gemini",
        request: { model: "gemini-2.5-flash-image", prompt, size: "1024x1536", seed: 3, style: "vivid" },
        sent: {
          path: `${base}/gemini-2.5-flash-image:generateContent`,
          body: {
            contents: [{ role: "user", parts: [{ text: prompt }] }],
            generationConfig: { responseModalities: ["TEXT", "IMAGE"], seed: 3, imageConfig: { aspectRatio: "2:3" } },
          },
        },
        dropped: ["style"],
        answer: gemini,
        wanted: counted,
      },
      ...bytesOnly("imagen-4.0-generate-001"),
      ...bytesOnly("gemini-2.5-flash-image"),
      onePicture("gemini-2.5-flash-image"),
      noModel,
    ],
    settings,
  );
}

const azure = { "azure-resource-name": "r", "azure-deployment-id": "paint", "azure-api-version": "2025-04-01-preview" };
for (const [name, path] of [
  ["generateImage", "/deployments/paint/images/generations?api-version=2025-04-01-preview"],
  ["editImage", "/deployments/paint/images/edits?api-version=2025-04-01-preview"],
] as const) {
  test(
    "azure-openai",
    [
      {
        name,
        operation: name,
        request: { prompt, image: "i" },
        sent: { path, body: { prompt, image: "i" } },
        ...plain,
      },
    ],
    azure,
  );
  test(
    "azure-ai",
    [
      {
        name,
        operation: name,
        request: { prompt, image: "i" },
        sent: { path: `/images/${name === "editImage" ? "edits" : "generations"}?api-version=preview` },
        ...plain,
      },
    ],
    { "azure-foundry-url": "https://r.services.ai.azure.com/openai/v1", "azure-api-version": "preview" },
  );
}

for (const [slug, model, answer, reason] of [
  ["stability-ai", "stable-diffusion-xl", { artifacts: [{ finishReason: "CONTENT_FILTERED" }] }, "CONTENT_FILTERED"],
  ["stability-ai", "stable-diffusion-xl", { artifacts: [] }, "the response contains no image"],
  ["stability-ai", "sd3", { finish_reason: "CONTENT_FILTERED" }, "CONTENT_FILTERED"],
  ["fireworks-ai", "stable-diffusion-xl", [], "the response contains no image"],
  ["google", "imagen-4.0-generate-001", { predictions: [{ raiFilteredReason: "violence" }] }, "violence"],
  ["bedrock", "amazon.nova-canvas-v1:0", { error: "blocked" }, "blocked"],
] as const) {
  plainTest(`${slug} without a picture is a failure: ${reason}`, () => {
    const adapter = providerOf(slug).bind(() => null).operations.generateImage;
    assert.throws(
      () => adapter?.fromUpstream?.(answer, { model, prompt }, { strict: true, drop() {} }),
      (error) =>
        error instanceof UpstreamError &&
        error.status === 400 &&
        error.code === "content_filter" &&
        error.message.endsWith(reason),
    );
  });
}
