/** Settings of the semantic cache: of the operator or, where an organisation has its own, of it. */
export interface SemanticSettings {
  /** Slug of the stored provider that makes embeddings. */
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** Numbers of a vector. */
  readonly dimensions?: number | undefined;
  /** Smallest cosine at which two questions count as one. */
  readonly threshold?: number | undefined;
}
