/**
 * What names of models may begin with that the price list leaves out, by provider: addresses, regions, publishers.
 */
export const nameBeginnings: ReadonlyMap<string, RegExp> = new Map([
  ["bedrock", /^(?:arn:[^/]*\/)?(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|global)\.)?/],
  ["google", /^models\//],
  ["vertex-ai", /^[a-z-]+\./],
]);
