import { InvalidRequestError } from "../../errors.ts";
import type { OcrDocument } from "../../schemas/ocr.ts";
import type { OperationAdapter } from "../core/types.ts";
import { ocrAt } from "../shared/ocr.ts";
import { isOneModel } from "./rerank.ts";

/** URL of the document, and the field it came from. */
function addressOfDocument(document: OcrDocument): { param: string; url: string } {
  switch (document.type) {
    case "document_url":
      return { param: "document.document_url", url: document.document_url };
    case "image_url": {
      const { image_url: image } = document;
      return { param: "document.image_url", url: typeof image === "string" ? image : image.url };
    }
    case "file":
      return { param: "document.type", url: "" };
  }
}

/** @throws {InvalidRequestError} If the document is not a data URL: these models cannot fetch documents. */
function requireDataUrl(document: OcrDocument): void {
  const { param, url } = addressOfDocument(document);
  if (/^data:/i.test(url)) return;
  throw new InvalidRequestError(
    "Cannot read this document with azure-ai: it neither fetches URLs nor stores files; send the document as a data URL, " +
      "such as data:application/pdf;base64,…",
    { param, code: "unsupported_parameter" },
  );
}

/** Text recognition by Mistral's models (https://learn.microsoft.com/azure/ai-foundry/how-to/use-image-models). */
export function createOcr(url: string | undefined): OperationAdapter<"ocr"> {
  return {
    ...ocrAt(isOneModel(url) ? "/v1/ocr" : "/providers/mistral/azure/ocr"),
    toUpstream(request) {
      requireDataUrl(request.document);
      return request;
    },
  };
}
