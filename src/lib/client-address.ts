import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** An address without brackets, port and zone; IPv4 for IPv4-mapped IPv6. Undefined for anything else. */
function readAddress(text: string): Address | undefined {
  const bare = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(text)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(text)?.[1] ?? text;
  const plain = bare.replace(/%.*$/, "");
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) return ipaddr.IPv4.parse(plain);
  if (!plain.includes(":") || !ipaddr.IPv6.isValid(plain)) return undefined;
  const address = ipaddr.IPv6.parse(plain);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** A range in text form: an address, optionally with a prefix length. Undefined for anything else. */
function readRange(text: string): Range | undefined {
  const [host = "", prefix, ...rest] = text.split("/");
  const address = readAddress(host);
  if (!address || host.includes("%") || rest.length > 0) return undefined;
  const bits = address.kind() === "ipv4" ? 32 : 128;
  if (prefix === undefined) return [address, bits];
  const length = /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : bits + 1;
  // an IPv4 range in IPv6 notation would have another prefix length
  return length <= bits && !(bits === 32 && host.includes(":")) ? [address, length] : undefined;
}

/**
 * Reads the operator's trusted proxies.
 *
 * @throws {TypeError} If one is neither an address nor a range.
 */
function readProxies(proxies: readonly string[]): Range[] {
  return proxies.map((text) => {
    const range = readRange(text);
    if (range) return range;
    throw new TypeError(`Cannot use TRUSTED_PROXIES: "${text}" is neither an address nor a range such as 10.0.0.0/8`);
  });
}

/** Whether an address is one of the operator's proxies. */
function createRangeTest(proxies: readonly string[]): (address: Address) => boolean {
  const ranges = readProxies(proxies);
  return (address) => ranges.some(([range, length]) => range.kind() === address.kind() && address.match(range, length));
}

/**
 * Creates the function that finds whether a peer is one of the operator's proxies, whose `x-forwarded-proto` counts.
 *
 * @throws {TypeError} If one cannot be used.
 */
export function createProxyTest(proxies: readonly string[]): (peer: string | undefined) => boolean {
  const isTrusted = createRangeTest(proxies);
  return (peer = "unknown") => {
    const address = readAddress(peer);
    return address !== undefined && isTrusted(address);
  };
}

/** The client address of a request: the peer, or the client a trusted proxy reports. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string;

/**
 * Creates the function that finds a request's client address. Each proxy appends its peer to `x-forwarded-for`, so the
 * last address that is not a trusted proxy is the only one vouched for; everything before it can be forged.
 *
 * @param proxies Addresses and ranges of the operator's proxies.
 * @throws {TypeError} If one cannot be used.
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const isTrusted = createRangeTest(proxies);
  return (peer = "unknown", forwardedFor) => {
    let address = readAddress(peer);
    if (!address) return peer;
    const hops = forwardedFor?.split(",") ?? [];
    while (hops.length > 0 && isTrusted(address)) {
      const next = readAddress(hops.pop()?.trim() ?? "");
      if (!next) break;
      address = next;
    }
    return address.toString();
  };
}

/** Key for counting failures: an IPv4 address, or the /64 network of IPv6, which is one subscriber (RFC 6177). */
export function toSource(text: string): string {
  const address = readAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? text;
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
