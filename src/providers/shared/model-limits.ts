type Limit = number | null | undefined;

/** What a provider's list says of a model's window and output, in the fields of `GET /models`. Absent where it says nothing. */
export function toLimits(window: Limit, output: Limit) {
  const limits = {
    ...(window && { context_length: window }),
    ...(output && { max_completion_tokens: output }),
  };
  return {
    ...(window && { context_length: window }),
    ...(Object.keys(limits).length > 0 && { top_provider: limits }),
  };
}
