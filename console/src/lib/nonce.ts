/** Nonce of this page's style elements: the server puts a fresh one into the page and its Content-Security-Policy. */
export const cspNonce: string = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
