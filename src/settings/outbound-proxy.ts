import { type Environment, list, text } from "./read.ts";

/** The proxy through which providers and other servers are called. */
export interface ProxySettings {
  /** `http:` or `https:`, perhaps with user and password. */
  url: string;
  /** Names and addresses that are called directly, each with what is below it; perhaps with a port. */
  except: readonly string[];
}

/** An entry of `OUTBOUND_NO_PROXY`: a name or an address, perhaps with a port. */
const entryForm = /^(?:\*?\.)?(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** The proxy for outbound requests. @throws {TypeError} If a value cannot be used; it is not shown: it may have a password. */
export function outboundProxy(environment: Environment): ProxySettings | undefined {
  const url = text(environment, "OUTBOUND_PROXY");
  const except = list(environment, "OUTBOUND_NO_PROXY");
  if (!except.every((entry) => entryForm.test(entry))) {
    throw new TypeError("Cannot use OUTBOUND_NO_PROXY: list names and addresses, such as .example.com,10.0.0.5:8080");
  }
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.pathname !== "/" || parsed.search !== "") {
    throw new TypeError("Cannot use OUTBOUND_PROXY: it must be an address such as http://user:password@proxy:3128");
  }
  try {
    decodeURIComponent(parsed.username + parsed.password);
  } catch {
    throw new TypeError("Cannot use OUTBOUND_PROXY: % in the user or the password must be written as %25");
  }
  return { url: parsed.href, except: except.map((entry) => entry.toLowerCase()) };
}
