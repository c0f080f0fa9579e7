import { anthropicSdk } from "../support/messages-sdk.ts";
import { cases, opening, pixel, questions, type Sent } from "../support/provider-cases.ts";
import { testProviders } from "../support/provider-runs.ts";

const { text, image, tools, object } = questions;
const say = (content: unknown) => ({ messages: [{ role: "user", content }] });

/** The SDK's own requests: hosts that speak its API are sent them as they are. */
const own: Sent = {
  text: say(text.text),
  tools: {
    tools: tools.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    tool_choice: { type: "auto" },
  },
  object: { ...say(object.text), output_config: { format: { type: "json_schema", schema: opening } } },
  image: say([
    { type: "text", text: image.text },
    { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
  ]),
  reasoning: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
};

/** The API names the length of every answer, and no schema. */
function lengthened(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...members, generationConfig: { ...(members.generationConfig as object), maxOutputTokens: 2_048 } }; // an object there
}

const named = { response_format: { type: "json_schema", json_schema: { name: "output", schema: opening } } };

const claude = cases.find(({ provider }) => provider === "anthropic");

testProviders([anthropicSdk], ({ provider, sent }) => {
  switch (provider) {
    case "anthropic":
      return { sent: own };
    case "bedrock":
      // the service hands the model's own answers on
      return { sent: own, ...(claude && { callIds: claude.callIds, tokens: claude.tokens }) };
    case "google":
    case "vertex-ai":
      return { sent: { ...sent, object: lengthened(sent.object), reasoning: lengthened(sent.reasoning) } };
    case "cohere":
      return { sent };
    default:
      return { sent: { ...sent, object: named } };
  }
});
