/**
 * `extra_content` of a call with a signature, as Google's OpenAI-compatible endpoint writes it
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai).
 */
export const toExtraContent = (signature: string) => ({ google: { thought_signature: signature } });
