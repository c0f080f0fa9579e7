import type { ChatResponse } from "../../schemas/chat.ts";
import type { GenerateContentRequest, GenerateContentResponse } from "../../schemas/gemini.ts";
import { readChoice, readHead, toFinish } from "../chat-reader.ts";
import { Sequencer } from "../sequence.ts";
import type { DialectOptions } from "../types.ts";
import { readAudio } from "./audio.ts";
import { finishReasons, readChoices, toLogprobsResult, toUsageMetadata } from "./candidates.ts";
import { readImages, toGrounding } from "./extras.ts";
import { wantsReasoning } from "./generation.ts";
import { mergeParts, PartWriter } from "./parts.ts";

/** The generateContent response for a chat completion (https://ai.google.dev/api/generate-content#GenerateContentResponse). */
export function fromChat(
  answer: ChatResponse,
  request: GenerateContentRequest,
  { id }: DialectOptions,
): GenerateContentResponse {
  const includesReasoning = wantsReasoning(request);
  const candidates = readChoices(answer).map(({ index, choice }) => {
    const { pieces, finish } = readChoice(choice);
    const writer = new PartWriter({ answerId: `${id}_${index}`, includesReasoning });
    const sequencer = new Sequencer(writer);
    const said = mergeParts([...pieces.flatMap((piece) => sequencer.push(piece)), ...sequencer.end()]);
    const parts = [...said, ...readImages(choice), ...readAudio(choice, request)];
    return {
      content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts },
      finishReason: finishReasons[toFinish(finish, writer.hasCalls)],
      index,
      ...toGrounding(pieces),
      ...toLogprobsResult(choice.logprobs),
    };
  });
  const { model, usage } = readHead(answer);
  return {
    candidates,
    usageMetadata: toUsageMetadata(usage),
    modelVersion: model ?? request.model,
    responseId: id,
  };
}
