import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { splitInputs } from "../shared/embeddings.ts";
import { hasMedia, type MediaInput, readInputs, toAddress } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";

/** Maximum number of inputs per call. */
const maxInputs = 96;

/** Embed v3 models take one image per call, without text beside it. */
function takesOneImage({ model }: EmbeddingRequest): boolean {
  return /-v3(?:\D|$)/.test(model);
}

/**
 * Splits a request to the size of one call (https://docs.cohere.com/reference/embed); undefined when one call is
 * enough.
 */
export function splitForCohere(request: EmbeddingRequest): readonly EmbeddingRequest[] | undefined {
  return splitInputs(hasMedia(request) && takesOneImage(request) ? 1 : maxInputs, request);
}

/** One embed v4 input; an input in Cohere's own form stays unchanged. */
function toContent(provider: string, { text, image, video, sent }: MediaInput): unknown {
  if (Array.isArray(Reflect.get(Object(sent), "content"))) return sent;
  if (video) refuseMember(provider, "input", "it embeds text and images, not video");
  const content = [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...(image ? [{ type: "image_url", image_url: { url: toAddress(image) } }] : []),
  ];
  if (content.length === 0) refuseMember(provider, "input", "an input has neither text nor image");
  return { content };
}

/**
 * The inputs of a request in Cohere's form: strings, one image, or a mix of both.
 *
 * @throws {InvalidRequestError} If the model does not support an input.
 */
export function toCohereInputs(provider: string, request: EmbeddingRequest): object {
  const inputs = readInputs(provider, request);
  if (!hasMedia(request)) return { texts: inputs.map(({ text }) => text) };
  if (!takesOneImage(request)) return { inputs: inputs.map((input) => toContent(provider, input)) };
  const images = inputs.flatMap(({ image, text }) => (image && text === undefined ? toAddress(image) : []));
  if (images.length === inputs.length) return { images, input_type: "image" };
  const texts = inputs.flatMap(({ image, video, text }) => (image || video ? [] : (text ?? [])));
  if (texts.length === inputs.length) return { texts };
  return refuseMember(provider, "input", "this model embeds text or an image, not both in one input");
}
