import * as v from "valibot";
import { fromHex } from "../../../lib/base64.ts";
import { BinaryAnswer } from "../../core/operations.ts";
import type { OperationAdapter } from "../../core/types.ts";
import { clamp, copyMembers } from "../../shared/members.ts";
import { formatOf, speechTypes, voiceOf } from "../../shared/speech.ts";
import { refuseSpeechEvents } from "../media.ts";
import { checkMinimax } from "./adaptations.ts";

const Speech = v.looseObject({ data: v.looseObject({ audio: v.string() }) });

const formats = ["mp3", "wav", "flac", "pcm"] as const;

/** Speech of MiniMax (https://platform.minimax.io/docs/api-reference/speech-t2a-http). */
export const minimaxSpeech: OperationAdapter<"speak"> = {
  path: () => "/v1/t2a_v2",
  toUpstream(request, { drop }) {
    refuseSpeechEvents("minimax", request);
    const { model, input, speed } = request;
    const members = {
      language_boost: "language_boost",
      pronunciation_dict: "pronunciation_dict",
      voice_modify: "voice_modify",
      timber_weights: "timber_weights",
    };
    const handled = ["model", "input", "voice", "speed", "response_format", "stream_format"];
    return {
      ...copyMembers(request, members, { handled, kind: "speech", drop }),
      model,
      text: input,
      stream: false,
      output_format: "hex",
      voice_setting: {
        voice_id: voiceOf(request),
        ...(typeof speed === "number" && { speed: clamp(0.5, 2)(speed) }),
      },
      audio_setting: { format: formatOf("minimax", request, formats, "mp3") },
    };
  },
  fromUpstream(body, request) {
    checkMinimax(v.parse(v.looseObject({}), body));
    const format = formatOf("minimax", request, formats, "mp3");
    return new BinaryAnswer(fromHex(v.parse(Speech, body).data.audio), speechTypes[format] ?? "audio/mpeg");
  },
};
