import type { ServerResponse } from "node:http";
import { boundaryOf, FormFile, readForm } from "../../src/lib/multipart.ts";
import { createTestGateway, type HeaderChanges, requestHeaders, type TestGateway } from "./gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "./upstream.ts";

/** A gateway, and an upstream with a scripted response. */
export interface Media {
  gateway: TestGateway;
  upstream: RecordingUpstream;
  answer(response: ServerResponse, request: ReceivedRequest): unknown;
  /** Sets the response to all further requests. */
  answerWith(type: string, body: string | Uint8Array, status?: number): void;
  close(): Promise<void>;
}

/** Starts a gateway and an upstream. */
export async function startMedia(): Promise<Media> {
  const media: Media = {
    gateway: await createTestGateway(),
    upstream: await startRecordingUpstream((request, response) => media.answer(response, request)),
    answer: (response) => response.end(),
    answerWith(type, body, status = 200) {
      media.answer = (response) => response.writeHead(status, { "content-type": type }).end(body);
    },
    async close() {
      await media.gateway.close();
      await media.upstream.close();
    },
  };
  return media;
}

/** A form: fields and files by name. */
export function formOf(fields: Readonly<Record<string, string | File | readonly (string | File)[]>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) form.append(name, one);
  }
  return form;
}

/** A small audio file. */
export const sound = (bytes: Uint8Array<ArrayBuffer> = Uint8Array.of(0, 13, 10, 45, 45, 255)) =>
  new File([bytes], "talk.wav", { type: "audio/wav" });

/** Posts a body below `/v1`; objects as JSON, forms as forms. Bodies other than streams have a length, as clients send it. */
export async function post(
  { gateway }: Pick<TestGateway, "gateway">,
  path: string,
  body: object,
  headers: HeaderChanges = {},
): Promise<Response> {
  const sent = requestHeaders(headers);
  let bytes: BodyInit;
  if (body instanceof ReadableStream) bytes = body;
  else {
    const isReady = body instanceof FormData || body instanceof Uint8Array;
    const encoded = new Response(isReady ? (body as BodyInit) : JSON.stringify(body)); // bytes of tests are not shared
    if (body instanceof FormData) sent.set("content-type", encoded.headers.get("content-type") ?? "");
    bytes = await encoded.arrayBuffer();
    sent.set("content-length", String(bytes.byteLength));
  }
  const init = { method: "POST", headers: sent, body: bytes, duplex: "half" };
  return gateway.fetch(new Request(`http://gateway.test/v1${path}`, init as RequestInit)); // `duplex` is missing in the types
}

/** Fields of a form as an upstream received them: strings, and files with name, type and bytes. */
export function receivedForm({ headers, body }: ReceivedRequest): [name: string, value: unknown][] {
  const boundary = boundaryOf(headers["content-type"]);
  if (boundary === undefined) throw new Error(`no form: ${headers["content-type"]}`);
  return readForm(new Uint8Array(body), boundary).map(({ name, value }) => [
    name,
    value instanceof FormFile ? [value.name, value.type, [...value.bytes]] : value,
  ]);
}
