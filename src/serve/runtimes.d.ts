/**
 * What the published types leave out of the globals that `src/serve` uses. Those of Bun come without its globals, which
 * would change the types of Node and of the web. Globals of a runtime other than the running one are undefined: ask
 * `typeof Bun` first.
 */

declare const Bun: typeof import("bun");

/** Options of `fetch` the DOM types do not know; all but the last are Bun's. */
interface RequestInit {
  /** False: the body is handed on as received, `content-encoding` included. */
  decompress?: boolean;
  /** False: without Bun's own five minutes. */
  timeout?: boolean;
  /** False: the proxy variables of the environment are ignored. */
  proxy?: boolean;
  /** Needed for a streamed body (a standard member the DOM types lack). */
  duplex?: "half";
}
