import { readBytes } from "../lib/body.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import { signAwsRequest } from "../providers/auth/aws.ts";

/** An S3-compatible store. */
export interface S3Settings {
  /** Base address, such as `https://s3.eu-central-1.amazonaws.com`; the bucket is the first segment of the path. */
  endpoint: string;
  region: string;
  bucket: string;
  /** Prefix of object names; default none. */
  prefix?: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Bytes of an object. */
interface ByteRange {
  start: number;
  bytes: number;
}

/** Objects of an S3-compatible store, by their names without the prefix. */
export interface ObjectStore {
  /** @throws {ObjectStoreError} If the store does not take it. */
  put(name: string, content: Uint8Array): Promise<void>;
  /**
   * An object of at most `maxBytes`, or a part of it.
   *
   * @throws {ObjectStoreError} If it is missing, or the store does not respond.
   */
  get(name: string, wanted: { maxBytes: number } | ByteRange): Promise<Uint8Array>;
  /**
   * Deletes an object, if there is one.
   *
   * @throws {ObjectStoreError} If the store does not respond.
   */
  remove(name: string): Promise<void>;
}

/** The store does not respond, or refuses. */
class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
}

const answerTimeoutMs = 60_000;

/** An answer that says no more than its status. */
function refuseStatus({ status }: Response): never {
  throw new ObjectStoreError(`Cannot use the object store: it returned ${status}`);
}

const discard = (response: Response) => response.body?.cancel().catch(() => {});

/**
 * Creates a client of a store (https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html).
 *
 * @param timeoutMs Longest time of a request, in milliseconds; default 60,000.
 */
export function createObjectStore(
  settings: S3Settings,
  tools: { outbound: Outbound; clock: Pick<Clock, "now"> },
  timeoutMs = answerTimeoutMs,
): ObjectStore {
  const { bucket, region, accessKeyId, secretAccessKey, prefix = "" } = settings;
  const base = `${settings.endpoint.replace(/\/+$/, "")}/${encodeURIComponent(bucket)}`;
  const urlOf = (name: string) => [base, ...`${prefix}${name}`.split("/").map(encodeURIComponent)].join("/");
  const send = async (
    method: string,
    name: string,
    { body, range }: { body?: Uint8Array; range?: string } = {},
  ): Promise<Response> => {
    const url = urlOf(name);
    const type = body && { "content-type": "application/octet-stream" };
    const headers = { "x-amz-content-sha256": "", ...type };
    const keys = { accessKeyId, secretAccessKey };
    const place = { service: "s3", region, now: tools.clock.now() };
    const signed = await signAwsRequest({ method, url, headers, body }, keys, place);
    try {
      return await tools.outbound(url, {
        method,
        origin: "fixed",
        signal: AbortSignal.timeout(timeoutMs),
        headers: { ...headers, ...(range !== undefined && { range }), ...signed },
        ...(body && { body }),
      });
    } catch (cause) {
      throw new ObjectStoreError("Cannot use the object store: it does not respond", { cause });
    }
  };
  return {
    async put(name, content) {
      const response = await send("PUT", name, { body: content });
      discard(response);
      if (response.status !== 200) refuseStatus(response);
    },
    async get(name, wanted) {
      const isPart = "start" in wanted;
      const range = isPart && { range: `bytes=${wanted.start}-${wanted.start + wanted.bytes - 1}` };
      const response = await send("GET", name, { ...range });
      // a store without ranges returns 200 and the whole object, which is not read
      if (response.status !== (isPart ? 206 : 200)) {
        discard(response);
        return refuseStatus(response);
      }
      const bytes = isPart ? wanted.bytes : wanted.maxBytes;
      try {
        const content = await readBytes(response, { bytes, totalMs: timeoutMs, silenceMs: timeoutMs });
        if (isPart && content.length !== bytes) throw new Error(`${content.length} bytes instead of ${bytes}`);
        return content;
      } catch (cause) {
        throw new ObjectStoreError("Cannot use the object store: its response breaks off", { cause });
      }
    },
    async remove(name) {
      const response = await send("DELETE", name);
      discard(response);
      if (response.status >= 300 && response.status !== 404) refuseStatus(response);
    },
  };
}
