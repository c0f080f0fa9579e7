/** Sends the credential as `Authorization: Bearer`. */
export function bearer(credential: string | undefined): Record<string, string> {
  return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
}
