import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { chat, createTestGateway, helloBody, readJson, requestHeaders } from "./gateway.ts";

/** A chat with a provider, or a path passed through to it, as it is seen on the wire. */
export interface CallCase {
  name: string;
  /** Headers of the client. */
  headers?: Record<string, string>;
  /** Default `provider-key`; null for none. */
  credential?: string | null;
  /** Path of a call that passes through; absent: a chat. */
  path?: string;
  body?: object;
  /** Address that is called. */
  url?: string;
  /** Headers the upstream gets; undefined for those it must not get. */
  sent?: Readonly<Record<string, string | undefined>>;
  /** Text of the error, for calls that are refused with 400 before they are sent. */
  refused?: RegExp;
}

/** Tests of what a provider is sent: its address and its credential. */
export async function testCalls(provider: string, cases: readonly CallCase[]): Promise<void> {
  const wire: { url?: string | undefined; init?: TransportInit } = {};
  const send = async (url: string, init: TransportInit) => {
    Object.assign(wire, { url, init });
    return Response.json({ object: "list", choices: [], data: [] });
  };
  const transport: Transport = { send };
  const gateway = await createTestGateway({ transport });
  after(() => gateway.close());

  const call = (one: CallCase) => {
    const { credential = "provider-key", path, body = helloBody } = one;
    const authorization = credential === null ? null : `Bearer ${credential}`;
    const headers = { "x-gateway-provider": provider, authorization, ...one.headers };
    if (path === undefined) return chat(gateway, body, headers);
    const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(body) };
    return gateway.fetch(`/v1${path}`, init);
  };
  for (const one of cases) {
    test(`${provider} ${one.name}`, async () => {
      wire.url = undefined;
      const response = await call(one);
      if (one.refused) {
        const { error } = await readJson<{ error: { message: string } }>(response);
        assert.equal(response.status, 400);
        assert.match(error.message, one.refused);
        assert.equal(wire.url, undefined);
        return;
      }
      await response.text();
      assert.equal(wire.url, one.url);
      for (const [name, value] of Object.entries(one.sent ?? {})) assert.equal(wire.init?.headers[name], value, name);
    });
  }
}
