import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { BinaryAnswer } from "../core/operations.ts";
import type { OperationAdapter } from "../core/types.ts";
import { refuseSpeechEvents } from "../openai-compatible/media.ts";
import { isKnownMember, passUnknown } from "../shared/known.ts";
import { formatOf, speechTypes, toWav, voiceOf } from "../shared/speech.ts";
import { modelPath } from "./model.ts";
import { rateOf } from "./sound.ts";
import { GenerateContentResponse } from "./wire.ts";

/** Models return PCM samples; `wav` adds a header. */
const formats = ["wav", "pcm"] as const;

/** Speech of Gemini's models (https://ai.google.dev/gemini-api/docs/speech-generation). */
export const speak: OperationAdapter<"speak"> = {
  path: ({ model }) => `/v1beta${modelPath(model)}:generateContent`,
  toUpstream(request, { drop }) {
    refuseSpeechEvents("google", request);
    const unknown = passUnknown(request, (name) => isKnownMember(name, "speech"), { kind: "speech", drop });
    formatOf("google", request, formats, "wav");
    const { input, instructions, speed } = request;
    if (typeof speed === "number" && speed !== 1) drop("speed");
    // style instructions are part of the text
    const text = instructions ? `${instructions}:\n${input}` : input;
    return {
      ...unknown,
      contents: [{ role: "user", parts: [{ text }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voiceOf(request) } } },
      },
    };
  },
  fromUpstream(body, request) {
    const { candidates, promptFeedback } = v.parse(GenerateContentResponse, body);
    const [candidate] = candidates ?? [];
    const audioParts = (candidate?.content?.parts ?? []).flatMap(({ inlineData }) => inlineData ?? []);
    const [first] = audioParts;
    if (!first) {
      const reason = promptFeedback?.blockReason ?? candidate?.finishReason ?? "the response contains no audio";
      throw new UpstreamError(502, `google error: the model returned no audio: ${reason}`, {
        provider: "google",
        code: "upstream_bad_answer",
      });
    }
    const samples = joinBytes(audioParts.map(({ data }) => fromBase64(data)));
    const format = formatOf("google", request, formats, "wav");
    return new BinaryAnswer(
      format === "wav" ? toWav(samples, rateOf(first.mimeType)) : samples,
      speechTypes[format] ?? "",
    );
  },
};
