import * as v from "valibot";
import { requireJson } from "../../lib/json.ts";
import type { OperationAdapter, StreamMapper } from "../core/types.ts";

const Event = v.looseObject({
  type: v.string(),
  text: v.nullish(v.string()),
  usage: v.nullish(v.unknown()),
});

/** Event names at Mistral and at OpenAI. */
const types: Readonly<Record<string, string>> = {
  "transcription.text.delta": "transcript.text.delta",
  "transcription.segment": "transcript.text.segment",
  "transcription.done": "transcript.text.done",
};

/**
 * Maps the events of a stream (https://docs.mistral.ai/api/endpoint/audio/transcriptions); other events are dropped.
 */
function createMapper(): StreamMapper {
  let usage: unknown;
  let isComplete = false;
  return {
    map({ data }) {
      const { type, text, ...rest } = v.parse(Event, requireJson(data));
      const name = Object.hasOwn(types, type) ? types[type] : type === "error" ? type : undefined;
      if (name === undefined) return [];
      if (type !== "transcription.done") {
        return [{ type: name, ...(type === "transcription.text.delta" ? { delta: text ?? "" } : { text }), ...rest }];
      }
      usage = rest.usage;
      isComplete = true;
      return [{ type: name, text: text ?? "", ...rest }];
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

/**
 * Transcription in OpenAI's form; stream events have different names
 * (https://docs.mistral.ai/api/endpoint/audio/transcriptions).
 */
export const transcribe: OperationAdapter<"transcribe"> = {
  path: () => "/audio/transcriptions",
  takesForms: true,
  streamMapper: createMapper,
};
