/** A stored provider a request names, and the model it requests there. */
export interface StoredName {
  slug: string;
  /** Undefined when the request names no model. */
  model: string | undefined;
}

/** Names of real models that start like a reference. */
const modelPrefixes = ["@cf/", "@hf/"];

/** The reference in `@slug/model` or `@slug`; undefined for any other string. */
export function readStoredName(text: string | null | undefined): StoredName | undefined {
  if (!text?.startsWith("@") || modelPrefixes.some((prefix) => text.startsWith(prefix))) return undefined;
  const end = text.indexOf("/");
  return end < 0 ? { slug: text.slice(1), model: undefined } : { slug: text.slice(1, end), model: text.slice(end + 1) };
}

/**
 * The stored provider of a request, and the model it requests there.
 *
 * @param named The one named beside the model.
 */
export function joinStoredName(named: StoredName | undefined, model: string | undefined): StoredName | undefined {
  const inModel = readStoredName(model);
  // the model may name the same provider; the body's model wins over the one beside it
  if (!named || inModel?.slug === named.slug) return inModel;
  return model === undefined || model === "" ? named : { slug: named.slug, model };
}
