/** Sends the credential as `Authorization: Bearer`. */
export function bearer(credential: string | undefined): Record<string, string> {
  return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
}

/** Sends the credential in a header, after a prefix where the provider needs one. */
export function keyHeader(name: string, word = ""): (credential: string | undefined) => Record<string, string> {
  return (credential) => (credential === undefined ? {} : { [name]: `${word}${credential}` });
}
