import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { splitInputs } from "../shared/embeddings.ts";
import { hasMedia, type MediaInput, readInputs, toAddress } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";

/** Most inputs one call takes. */
const maxInputs = 96;

/** Models of the third generation take one image a call, and no text beside it. */
function takesOneImage({ model }: EmbeddingRequest): boolean {
  return /-v3(?:\D|$)/.test(model);
}

/** The requests one call takes each (https://docs.cohere.com/reference/embed); undefined where one call does. */
export function splitForCohere(request: EmbeddingRequest): readonly EmbeddingRequest[] | undefined {
  return splitInputs(hasMedia(request) && takesOneImage(request) ? 1 : maxInputs, request);
}

/** One input of the fourth generation; what is in Cohere's own form stays as it is. */
function toContent(provider: string, { text, image, video, sent }: MediaInput): unknown {
  if (Array.isArray(Reflect.get(Object(sent), "content"))) return sent;
  if (video) refuseMember(provider, "input", "it embeds texts and images, no films");
  const content = [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...(image ? [{ type: "image_url", image_url: { url: toAddress(image) } }] : []),
  ];
  if (content.length === 0) refuseMember(provider, "input", "an input has neither text nor image");
  return { content };
}

/**
 * The inputs of a request in Cohere's form: texts, an image, or both mixed.
 *
 * @throws {InvalidRequestError} For what the model does not take.
 */
export function toCohereInputs(provider: string, request: EmbeddingRequest): object {
  const inputs = readInputs(provider, request);
  if (!hasMedia(request)) return { texts: inputs.map(({ text }) => text) };
  if (!takesOneImage(request)) return { inputs: inputs.map((input) => toContent(provider, input)) };
  const images = inputs.flatMap(({ image, text }) => (image && text === undefined ? toAddress(image) : []));
  if (images.length === inputs.length) return { images, input_type: "image" };
  const texts = inputs.flatMap(({ image, video, text }) => (image || video ? [] : (text ?? [])));
  if (texts.length === inputs.length) return { texts };
  return refuseMember(provider, "input", "this model embeds a text or an image, not both as one");
}
