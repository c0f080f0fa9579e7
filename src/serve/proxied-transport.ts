import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { OutboundError, type Transport, type TransportInit } from "../lib/outbound.ts";
import type { ProxySettings } from "../settings/outbound-proxy.ts";
import { type Resolve, rememberAnswers, requireAllowed, type SocketSender } from "./transport-http.ts";
import { createSocketConnector, type OpenTunnel, type Patience, parseHead, untilReady } from "./websocket-connect.ts";

/** A proxy, as the clients of the runtimes take it. */
interface Proxy {
  /** Without user and password. */
  url: string;
  login: { username: string; password: string } | undefined;
  /** Value of `proxy-authorization`. */
  authorization: string | undefined;
}

/** The parts of a proxy's address. */
export function proxyParts({ url: text }: ProxySettings): Proxy {
  const url = new URL(text);
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  url.username = "";
  url.password = "";
  if (username === "") return { url: url.href, login: undefined, authorization: undefined };
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return { url: url.href, login: { username, password }, authorization };
}

const plainHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/** Names that no proxy can reach for this machine. */
const isLoopback = (hostname: string): boolean => /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|::1)$/i.test(hostname);

/** Whether a server is called without the proxy. */
function createDirectRule({ except }: ProxySettings): (url: URL) => boolean {
  const rules = except.map((entry) => {
    const [, name = "", port] = /^(?:\*?\.)?(.+?)(?::([0-9]{1,5}))?$/.exec(entry.replace(/^\[(.+)\]/, "$1")) ?? [];
    return isIP(entry.replace(/^\[|\]$/g, "")) === 6 ? { name: plainHost(entry), port: undefined } : { name, port };
  });
  return (url) => {
    const host = plainHost(url.hostname.toLowerCase());
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    if (isLoopback(host)) return true;
    return rules.some((rule) => {
      return (host === rule.name || host.endsWith(`.${rule.name}`)) && (rule.port === undefined || rule.port === port);
    });
  };
}

/** Opens connections through the proxy by its method CONNECT (RFC 9110, section 9.3.6). */
function createTunnel({ url, authorization }: Proxy): OpenTunnel {
  const proxy = new URL(url);
  const host = plainHost(proxy.hostname);
  const port = Number(proxy.port) || (proxy.protocol === "https:" ? 443 : 80);
  return async (target, patience) => {
    const isSecure = proxy.protocol === "https:";
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = isSecure ? connectSecure({ host, port, ...name }) : connectPlain({ host, port });
    await untilReady<void>(socket, patience, (done) =>
      socket.once(isSecure ? "secureConnect" : "connect", () => done()),
    );
    await askForTunnel(socket, `${target.hostname}:${target.port || (target.protocol === "https:" ? 443 : 80)}`, {
      authorization,
      patience,
    });
    return socket;
  };
}

/** Asks the proxy for a connection; the socket then reaches the target. */
async function askForTunnel(
  socket: Socket,
  authority: string,
  { authorization, patience }: { authorization: string | undefined; patience: Patience },
): Promise<void> {
  const lines = [`CONNECT ${authority} HTTP/1.1`, `host: ${authority}`];
  if (authorization !== undefined) lines.push(`proxy-authorization: ${authorization}`);
  let received: Buffer = Buffer.alloc(0);
  let onData: (chunk: Buffer) => void = () => {};
  const head = await untilReady<{ status: number }>(socket, patience, (done, fail) => {
    onData = (chunk) => {
      received = Buffer.concat([received, chunk]);
      try {
        const parsed = parseHead(received);
        if (parsed) done(parsed);
      } catch (error) {
        fail(error);
      }
    };
    socket.on("data", onData);
    socket.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  });
  // whoever uses the connection speaks first
  socket.off("data", onData);
  if (head.status >= 200 && head.status < 300) return;
  socket.destroy();
  throw new OutboundError("unreachable", `Cannot reach the upstream: the proxy answered with ${head.status}`);
}

/** Whether the resolver of this machine does not know a name: behind proxies it often knows only those of its network. */
const isUnknownName = (error: unknown): boolean => error instanceof Error && "syscall" in error;

/**
 * A transport that calls servers through a proxy, except those that the settings name and this machine.
 *
 * The proxy resolves names. So a name that a caller gave is checked before as far as this machine can resolve it: one that
 * leads to a private network is refused, one that it does not know is left to the proxy.
 *
 * @param sendByProxy Sends through the proxy, as the runtime does best.
 */
export function createProxiedTransport(
  direct: Transport,
  settings: ProxySettings,
  { sendByProxy, lookup }: { sendByProxy: SocketSender; lookup?: Resolve | undefined },
): Transport {
  const isDirect = createDirectRule(settings);
  const resolve = rememberAnswers(lookup ?? ((host) => systemLookup(host, { all: true })));
  const openByProxy = createSocketConnector({}, createTunnel(proxyParts(settings)));
  const check = async (url: URL, allows: (address: string) => boolean) => {
    let addresses: readonly LookupAddress[];
    try {
      addresses = await resolve(url.hostname);
    } catch (error) {
      if (isUnknownName(error)) return;
      throw error;
    }
    requireAllowed(addresses, allows);
  };
  return {
    ...direct,
    send: (text, init) => (isDirect(new URL(text)) ? direct.send(text, init) : sendByProxy(text, init)),
    async sendChecked(text: string, init: TransportInit, allows) {
      const url = new URL(text);
      if (isDirect(url) && direct.sendChecked) return direct.sendChecked(text, init, allows);
      await check(url, allows);
      return sendByProxy(text, init);
    },
    async openSocket(text, init, allows) {
      const url = new URL(text);
      if (isDirect(url) && direct.openSocket) return direct.openSocket(text, init, allows);
      if (allows) await check(url, allows);
      return openByProxy(text, init);
    },
  };
}
