import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraits } from "../../src/inference/choice/request-traits.ts";

const url = "data:image/png;base64,AAAA";
const chatImage = { type: "image_url", image_url: { url } };
const claudeImage = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const responsesImage = { type: "input_image", image_url: url };
const geminiImage = { inlineData: { mimeType: "image/png", data: "AAAA" } };
const user = (content: unknown) => ({ role: "user", content });
const assistant = { role: "assistant", content: "Yes." };

/** Conversations with an image, and whether it belongs to the question that is to be answered. */
const conversations: Readonly<Record<string, readonly [isAsked: boolean, request: object]>> = {
  "a chat, first question": [true, { messages: [{ role: "system", content: "s" }, user([chatImage])] }],
  "a chat, later question": [true, { messages: [user("a"), assistant, user([chatImage]), user("b")] }],
  "a chat, earlier question": [false, { messages: [user([chatImage]), assistant, user("b")] }],
  "a chat, result of a tool": [false, { messages: [user("a"), assistant, { role: "tool", content: [chatImage] }] }],
  "messages, question": [true, { messages: [user([{ type: "text", text: "a" }, claudeImage])] }],
  "messages, result of a tool": [
    false,
    { messages: [assistant, user([{ type: "tool_result", content: [claudeImage] }])] },
  ],
  "messages, image beside a result": [false, { messages: [assistant, user([{ type: "tool_result" }, claudeImage])] }],
  "messages, earlier result": [
    false,
    { messages: [user([{ type: "tool_result", content: [claudeImage] }]), assistant, user("b")] },
  ],
  "responses, question": [true, { input: [{ type: "message", ...user([responsesImage]) }] }],
  "responses, question after a call": [true, { input: [{ type: "function_call" }, user([responsesImage])] }],
  "responses, result of a tool": [
    false,
    { input: [user("a"), { type: "function_call" }, { type: "function_call_output", output: [responsesImage] }] },
  ],
  "responses, earlier question": [false, { input: [user([responsesImage]), { type: "reasoning" }, user("b")] }],
  "contents, question": [true, { contents: [{ role: "user", parts: [{ text: "a" }, geminiImage] }] }],
  "contents, result of a tool": [
    false,
    {
      contents: [
        { role: "model", parts: [] },
        { role: "user", parts: [{ functionResponse: {} }, geminiImage] },
      ],
    },
  ],
  "contents, earlier question": [
    false,
    { contents: [{ parts: [geminiImage] }, { role: "model", parts: [] }, { parts: [{ text: "b" }] }] },
  ],
};

for (const [name, [isAsked, request]] of Object.entries(conversations)) {
  test(`${name}: the image ${isAsked ? "is" : "is not"} asked about`, () => {
    const { images, asksAboutImage } = readTraits({ ...request });
    assert.deepEqual({ images, asksAboutImage }, { images: true, asksAboutImage: isAsked });
  });
}
