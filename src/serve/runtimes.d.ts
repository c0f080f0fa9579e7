/**
 * What the published types leave out of the globals that `src/serve` uses. Those of Bun come without its globals, which
 * would change the types of Node and of the web. Globals of a runtime other than the running one are undefined: ask
 * `typeof Bun` first.
 */

declare const Bun: typeof import("bun");

/** Options of `fetch` that the DOM types lack; all but the last are Bun's. */
interface RequestInit {
  /** False: the body is returned as received, with its `content-encoding`. */
  decompress?: boolean;
  /** False: without Bun's default limit of five minutes. */
  timeout?: boolean;
  /** The proxy; false: none, whatever the variables of the environment say. */
  proxy?: string | false;
  /** Required for a streamed body (a standard field the DOM types lack). */
  duplex?: "half";
}
