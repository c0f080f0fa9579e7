import { type CallCase, testCalls } from "../support/provider-calls.ts";

/** Headers that clients of a provider send by default, and which of them are forwarded. */
const cases: Readonly<Record<string, readonly CallCase[]>> = {
  "vertex-ai": [
    {
      name: "gets the request type of the client",
      headers: {
        "x-gateway-vertex-project-id": "p",
        "x-vertex-ai-llm-request-type": "dedicated",
        "x-vertex-ai-llm-shared-request-type": "flex",
      },
      body: { model: "gemini-2.5-flash", messages: [{ role: "user", content: "Hello" }] },
      url: "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent",
      sent: { "x-vertex-ai-llm-request-type": "dedicated", "x-vertex-ai-llm-shared-request-type": "flex" },
    },
    {
      name: "gets the tier of the body in place of the client's header",
      headers: { "x-gateway-vertex-project-id": "p", "x-vertex-ai-llm-request-type": "dedicated" },
      body: {
        model: "gemini-2.5-flash",
        messages: [{ role: "user", content: "Hello" }],
        service_tier: "shared",
      },
      url: "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent",
      sent: { "x-vertex-ai-llm-request-type": "shared" },
    },
  ],
  openai: [
    {
      name: "gets the betas of the client",
      headers: { "openai-beta": "assistants=v2" },
      url: "https://api.openai.com/v1/chat/completions",
      sent: { "openai-beta": "assistants=v2" },
    },
    {
      name: "gets the betas of the setting in place of the client's header",
      headers: { "openai-beta": "one", "x-gateway-openai-beta": "two" },
      url: "https://api.openai.com/v1/chat/completions",
      sent: { "openai-beta": "two" },
    },
  ],
  modal: [
    {
      name: "gets the proxy tokens of the client",
      credential: null,
      headers: { "modal-key": "wk-fake", "modal-secret": "ws-fake" },
      url: "https://api.modal.com/v1/chat/completions",
      sent: { "modal-key": "wk-fake", "modal-secret": "ws-fake" },
    },
  ],
  anthropic: [
    {
      name: "gets version and betas of the client",
      headers: { "anthropic-version": "2023-01-01", "anthropic-beta": "a" },
      url: "https://api.anthropic.com/v1/messages",
      sent: { "anthropic-version": "2023-01-01", "anthropic-beta": "a" },
    },
  ],
  groq: [
    {
      name: "gets no client header of another provider",
      headers: { "modal-key": "wk-fake", "openai-beta": "a", "x-vertex-ai-llm-request-type": "dedicated" },
      url: "https://api.groq.com/openai/v1/chat/completions",
      sent: { "modal-key": undefined, "openai-beta": undefined, "x-vertex-ai-llm-request-type": undefined },
    },
  ],
};

for (const [provider, calls] of Object.entries(cases)) await testCalls(provider, calls);
