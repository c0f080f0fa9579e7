import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** An address without brackets, port and zone; IPv4 where IPv6 only carries it. Undefined for anything else. */
function readAddress(text: string): Address | undefined {
  const bare = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(text)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(text)?.[1] ?? text;
  const plain = bare.replace(/%.*$/, "");
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) return ipaddr.IPv4.parse(plain);
  if (!plain.includes(":") || !ipaddr.IPv6.isValid(plain)) return undefined;
  const address = ipaddr.IPv6.parse(plain);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** A range as it is written: an address, or one with the length of its prefix. Undefined for anything else. */
function readRange(text: string): Range | undefined {
  const [host = "", prefix, ...rest] = text.split("/");
  const address = readAddress(host);
  if (!address || host.includes("%") || rest.length > 0) return undefined;
  const bits = address.kind() === "ipv4" ? 32 : 128;
  if (prefix === undefined) return [address, bits];
  const length = /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : bits + 1;
  // an IPv4 range written as IPv6 would have another length
  return length <= bits && !(bits === 32 && host.includes(":")) ? [address, length] : undefined;
}

/**
 * Reads which peers are the operator's own proxies.
 *
 * @throws {TypeError} If one is neither an address nor a range.
 */
function readProxies(proxies: readonly string[]): Range[] {
  return proxies.map((text) => {
    const range = readRange(text);
    if (range) return range;
    throw new TypeError(`Cannot use TRUSTED_PROXIES: "${text}" is no address and no range such as 10.0.0.0/8`);
  });
}

/** Tells who sent a request: the peer, or who a trusted proxy says was its own. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string;

/**
 * Creates what tells who sent a request. Each proxy adds its peer at the end of `x-forwarded-for`, so the last address that is
 * no trusted proxy is the nearest one that nobody but a trusted proxy vouches for; what stands before it anybody can write.
 *
 * @param proxies Addresses and ranges of the operator's proxies.
 * @throws {TypeError} If one cannot be used.
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const ranges = readProxies(proxies);
  const isTrusted = (address: Address) =>
    ranges.some(([range, length]) => range.kind() === address.kind() && address.match(range, length));
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

/** What failures are counted by: an IPv4 address, and of IPv6 the network of 64 bits that one subscriber has (RFC 6177). */
export function toSource(text: string): string {
  const address = readAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? text;
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
