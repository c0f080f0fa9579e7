import * as v from "valibot";
import { OcrResponse } from "../../schemas/ocr.ts";
import type { OperationAdapter } from "../core/types.ts";

/** Text recognition in Mistral's form (https://docs.mistral.ai/api/#tag/ocr), which is the gateway's too. */
export function ocrAt(path: string): OperationAdapter<"ocr"> {
  return {
    path: () => path,
    fromUpstream(body, { model }) {
      const answer = v.parse(OcrResponse, body);
      return { ...answer, model: answer.model ?? model };
    },
  };
}
