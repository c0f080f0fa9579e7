import ipaddr from "ipaddr.js";
import { memoizeText } from "./bounded-map.ts";

/** The guard rejects an address named by a caller or a document. `reason` says why, without any resolved address. */
export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
  /** What is wrong with the address, and what the caller can change. */
  readonly reason: string;

  constructor(reason: string) {
    super(`Cannot call this address: ${reason}`);
    this.reason = reason;
  }
}

/** Decides which addresses the gateway may call when a caller, a tenant or a document names them. */
export interface AddressGuard {
  /**
   * Checks an address before its name is resolved. Results are cached.
   *
   * @returns A new URL for each call.
   * @throws {AddressRefusedError} With a reason for the author of the address.
   */
  checkUrl(text: string): URL;
  /** As `checkUrl`, for callers that only need the destination. */
  checkTarget(text: string): Readonly<Target>;
  /** Whether a call to a host may connect to this resolved address. Trust opens private networks, not metadata services. */
  allowsAddress(target: Readonly<Target>, address: string): boolean;
  /** Whether the operator trusts this host for this port. IPv6 literals may have brackets. */
  isTrusted(target: Readonly<Target>): boolean;
}

/** Destination of a call; a `URL` is one. */
interface Target {
  /** In the form of `URL.hostname`. */
  hostname: string;
  /** In the form of `URL.protocol`. */
  protocol: string;
  /** In the form of `URL.port`: empty for the scheme's default. */
  port: string;
}

/** Options of an address guard. */
interface AddressGuardOptions {
  /**
   * Exact names, exact literals, or `*.name` for a name and all of its subdomains. An entry with a port trusts that port
   * only; paths and schemes are ignored.
   */
  trustedHosts: readonly string[];
  /** Called for every entry that is ignored. */
  warn?: (message: string) => void;
}

const maxUrlLength = 2048;
const maxHostLength = 253;
const maxLabels = 10;
const rememberedUrls = 1024;

/** Printable ASCII except space, backslash, angle brackets, double quote, braces, bar, caret and backtick. */
const plainText = /^[!#-;=?-[\]_a-z~]+$/;
const urlForm = /^https?:\/\/(?<authority>[^/?#]+)(?<rest>.*)$/;
const authorityForm = /^(?<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?<port>[1-9][0-9]{0,4}))?$/;

/** Ranges of cloud metadata services and platform agents: address and prefix length. */
const metadataRanges = [
  "169.254.169.0/24",
  "169.254.170.2/32",
  "169.254.170.23/32",
  "169.254.0.23/32",
  "169.254.42.42/32",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fd00:ec2::/96",
  "fd00:42::42/128",
  "fd20:ce::254/128",
  "fe80::a9fe:a9fe/128",
].map((range) => ipaddr.parseCIDR(range));

/** Names that are rejected with all of their subdomains, even if trusted: metadata, clusters, and wildcard DNS services. */
const refusedNames = new Set([
  "metadata",
  "instance-data",
  "kubernetes",
  "consul",
  "metadata.google.internal",
  "metadata.gce.internal",
  "metadata.goog",
  "metadata.azure.com",
  "metadata.azure.internal",
  "metadata.internal",
  "metadata.do.internal",
  "metadata.packet.net",
  "metadata.platformequinix.com",
  "metadata.cloud.ibm.com",
  "metadata.tencentyun.com",
  "internal.cloudapp.net",
  "instance-data.ec2.internal",
  "ec2.internal",
  "compute.internal",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "cluster.local",
  "nip.io",
  "sslip.io",
  "xip.io",
  "xip.name",
  "ip6.name",
  "localtest.me",
  "lvh.me",
  "vcap.me",
  "traefik.me",
  "localhost.run",
  "localhost.direct",
  "local.gd",
  "lcl.host",
  "localho.st",
  "fuf.me",
  "lacolhost.com",
  "smackaho.st",
  "ulh.us",
  "backname.io",
  "1u.ms",
  "rbndr.us",
  "ddev.site",
  "lndo.site",
]);

/** Top-level names that never lead to the public internet. */
const privateTopLevels = new Set([
  "local",
  "localdomain",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "test",
  "invalid",
  "onion",
  "localhost",
]);

/**
 * Ports of services that are not HTTP APIs: those that browsers block (https://fetch.spec.whatwg.org/#port-blocking),
 * databases, message brokers, directories, remote consoles and cluster control.
 */
const servicePorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
  531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
  5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 67, 68, 70, 88, 445, 464, 623, 853, 873, 1433,
  1434, 1521, 1883, 2181, 2375, 2376, 2377, 2379, 2380, 3268, 3269, 3306, 3389, 4369, 5432, 5671, 5672, 5900, 5901,
  5984, 5985, 5986, 6379, 6380, 6432, 6443, 7473, 7474, 7687, 8300, 8301, 8302, 8500, 8883, 9042, 9092, 9093, 9160,
  9200, 9300, 10250, 10255, 10256, 10257, 10259, 11211, 15672, 16379, 26379, 27017, 27018, 27019, 28015, 28017,
]);

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const publicIPv6 = ipaddr.parseCIDR("2000::/3");

/** Whether a host, in the form of `URL.hostname`, is an IP address. */
export const isLiteralHost: (host: string) => boolean = memoizeText(
  rememberedUrls,
  (host) => host.startsWith("[") || ipaddr.IPv4.isValidFourPartDecimal(host),
);

/** A guard that trusts the listed hosts and no other private ones. */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const trusted = readTrustedHosts(options.trustedHosts, options.warn ?? (() => {}));
  const isTrusted = (target: Readonly<Target>): boolean => {
    const name = unbracketed(target.hostname.toLowerCase());
    // the host alone first: such an entry trusts any port
    for (const end of ["", ` ${portOf(target)}`]) {
      if (trusted.exact.has(name + end)) return true;
      if (trusted.above.size > 0 && isAtOrBelow(name + end, trusted.above)) return true;
    }
    return false;
  };
  const allowsAddress = (target: Readonly<Target>, address: string): boolean => {
    const parsed = parseAddress(unbracketed(address));
    if (!parsed || isMetadata(parsed)) return false;
    return isPublic(parsed) || isTrusted(target);
  };
  const check = memoizeText(
    rememberedUrls,
    (text) => {
      const { hostname, protocol, port } = requireTarget(text);
      const target = { hostname, protocol, port };
      requireAllowedHost(hostname, isTrusted(target));
      return target;
    },
    maxUrlLength,
  );
  return {
    checkUrl(text) {
      check(text);
      return new URL(text);
    },
    checkTarget: check,
    allowsAddress,
    isTrusted,
  };
}

/**
 * Checks a base address: like `checkUrl`, and it may not have a query.
 *
 * @throws {AddressRefusedError} With a reason for the author of the address.
 */
export function requireBaseUrl(guard: AddressGuard, text: string): URL {
  requireBaseAddress(guard, text);
  return new URL(text);
}

/** As `requireBaseUrl`, for callers that only need the check. */
export function requireBaseAddress(guard: AddressGuard, text: string): void {
  guard.checkTarget(text);
  if (text.includes("?"))
    refuseAddress("a base address cannot have a query; remove the part from the question mark on");
}

function refuseAddress(reason: string): never {
  throw new AddressRefusedError(reason);
}

/** A well-formed address whose host is exactly as written. */
function requireTarget(text: string): URL {
  if (text.length > maxUrlLength) refuseAddress(`it is longer than ${maxUrlLength} characters`);
  if (!plainText.test(text)) refuseAddress("it has a character that must be percent-encoded or left out");
  const { authority, rest = "" } = urlForm.exec(text)?.groups ?? {};
  if (authority === undefined) refuseAddress("it must start with http:// or https:// and a host");
  if (authority.includes("@")) refuseAddress("it has a user name or password; send credentials in a header");
  if (/^[^/]*@/.test(rest)) refuseAddress("it has an @ before the path");
  if (rest.includes("#")) refuseAddress("it has a fragment; remove the part from the # on");
  const { host, port } = authorityForm.exec(authority)?.groups ?? {};
  if (host === undefined) {
    refuseAddress("its host or port is malformed: use letters, digits, dots and hyphens, and a port of 1 to 65535");
  }
  if (port !== undefined) requirePort(Number(port));
  const url = URL.parse(text);
  if (url?.hostname !== host.toLowerCase()) {
    refuseAddress(
      "its host is not in plain form: use a name, four decimal numbers, or the shortest IPv6 form in brackets",
    );
  }
  if (!isLiteralHost(url.hostname)) requireName(url.hostname);
  return url;
}

/** The port of a call. */
function portOf({ port, protocol }: Readonly<Target>): string {
  if (port !== "") return port;
  return protocol === "https:" ? "443" : "80";
}

function requirePort(port: number): void {
  if (port > 65_535) refuseAddress("its port is above 65535");
  if (servicePorts.has(port)) refuseAddress(`port ${port} belongs to another kind of service`);
}

function requireName(name: string): void {
  if (name.length > maxHostLength) refuseAddress("its host name is too long");
  if (name.endsWith(".")) refuseAddress("its host name ends with a dot; remove it");
  const labels = name.split(".");
  if (labels.length > maxLabels) refuseAddress(`its host name has more than ${maxLabels} parts`);
  for (const label of labels) {
    if (label === "" || label.length > 63) refuseAddress("its host name has an empty or over-long part");
    if (label.startsWith("xn--")) refuseAddress("its host name has an internationalised part, which is not supported");
  }
}

/** Rejects hosts that can never be trusted, then private hosts that are not trusted. */
function requireAllowedHost(host: string, trusted: boolean): void {
  const literal = parseAddress(unbracketed(host));
  if (literal ? isMetadata(literal) : isAtOrBelow(host, refusedNames)) {
    refuseAddress("the host is a metadata, cluster or wildcard DNS service, which is never allowed");
  }
  if (trusted) return;
  const open = literal ? isPublic(literal) : !privateTopLevels.has(lastLabel(host));
  if (!open) {
    refuseAddress("the host is private; use a public host, or ask the operator to list it in TRUSTED_CUSTOM_HOSTS");
  }
}

function unbracketed(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

function lastLabel(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Whether a name or one of its parent domains is in the set. */
function isAtOrBelow(name: string, names: ReadonlySet<string>): boolean {
  for (let rest = name; ; rest = rest.slice(rest.indexOf(".") + 1)) {
    if (names.has(rest)) return true;
    if (!rest.includes(".")) return false;
  }
}

/** An address in canonical form; undefined for names and for short, octal or hexadecimal IPv4. */
function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return text.includes(":") && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
}

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || address.match(publicIPv6);
}

/** Whether an address, or an IPv4 address embedded in it, belongs to a metadata service. */
function isMetadata(address: Address): boolean {
  const candidates = address instanceof ipaddr.IPv6 ? [address, ...hiddenIPv4(address)] : [address];
  return candidates.some((candidate) =>
    metadataRanges.some((range) => range[0].kind() === candidate.kind() && candidate.match(range)),
  );
}

/**
 * IPv4 addresses that mapped, compatible, NAT64 (RFC 6052), 6to4, Teredo or ISATAP forms may embed.
 * Every form is tried for every address: it is acceptable to reject a public address that resembles one by chance.
 */
function hiddenIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  const at = (...indexes: number[]) => new ipaddr.IPv4(indexes.map((index) => bytes[index] ?? 0));
  const [high = 0, low = 0] = [address.parts[6], address.parts[7]];
  const teredoClient = [high >> 8, high & 255, low >> 8, low & 255].map((byte) => byte ^ 255);
  return [
    at(12, 13, 14, 15),
    at(2, 3, 4, 5),
    at(4, 5, 6, 7),
    at(5, 6, 7, 9),
    at(6, 7, 9, 10),
    at(7, 9, 10, 11),
    at(9, 10, 11, 12),
    new ipaddr.IPv4(teredoClient),
  ];
}

/** Hosts in canonical form, followed by a space and the port if only that is trusted: a colon could belong to IPv6. */
interface TrustedHosts {
  exact: ReadonlySet<string>;
  /** Names that are trusted with all of their subdomains. */
  above: ReadonlySet<string>;
}

function readTrustedHosts(entries: readonly string[], warn: (message: string) => void): TrustedHosts {
  const exact = new Set<string>();
  const above = new Set<string>();
  for (const entry of entries) {
    const text = entry.trim().toLowerCase();
    if (text === "") continue;
    const wildcard = text.startsWith("*.");
    const found = readTrustedHost(wildcard ? text.slice(2) : text);
    const problem = found === undefined ? "it is not a host" : findTrustProblem(found, wildcard);
    if (found === undefined || problem !== undefined)
      warn(`Cannot trust "${entry.trim()}": ${problem}; the entry is ignored`);
    else (wildcard ? above : exact).add(found.host + (found.port === undefined ? "" : ` ${found.port}`));
  }
  return { exact, above };
}

/** A trusted host. */
interface TrustedHost {
  host: string;
  /** Absent: any port. */
  port?: number;
}

/** Host and port of an entry, without scheme, path and brackets; IPv6 in canonical form. */
function readTrustedHost(text: string): TrustedHost | undefined {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//.exec(text)?.[0] ?? "";
  const rest = text.slice(scheme.length);
  if (/^[0-9a-f.:]+\/[0-9]+$/.test(rest)) return undefined; // an address range: only single addresses can be trusted
  const authority = rest.split("/", 1)[0] ?? "";
  const bracketed = ipaddr.IPv6.isValid(authority) ? `[${authority}]` : authority;
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]+))?$/.exec(bracketed) ?? [];
  const hostname = host === undefined ? undefined : URL.parse(`http://${host}/`)?.hostname;
  if (hostname === undefined || (!host?.startsWith("[") && hostname !== host)) return undefined;
  return { host: unbracketed(hostname), ...(port !== undefined && { port: Number(port) }) };
}

function findTrustProblem({ host, port }: TrustedHost, wildcard: boolean): string | undefined {
  if (port !== undefined && (port < 1 || port > 65_535)) return "the port is not valid";
  if (port !== undefined && servicePorts.has(port)) return `port ${port} belongs to another kind of service`;
  const literal = parseAddress(host);
  if (wildcard && literal) return "an IP address has no subdomains";
  const overlaps = literal
    ? isMetadata(literal)
    : isAtOrBelow(host, refusedNames) || (wildcard && [...refusedNames].some((name) => name.endsWith(`.${host}`)));
  return overlaps ? "it covers a metadata, cluster or wildcard DNS service" : undefined;
}
