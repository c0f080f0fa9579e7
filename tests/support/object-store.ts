import assert from "node:assert/strict";
import { requireSigned } from "./aws.ts";
import { startRecordingUpstream } from "./upstream.ts";

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-of-the-store" };

/** The bytes that a range such as `bytes=0-9` names. */
function pickRange(object: Uint8Array, range: string): Uint8Array {
  const [, first = "", last = ""] = /^bytes=([0-9]+)-([0-9]+)$/.exec(range) ?? [];
  return object.subarray(Number(first), Number(last) + 1);
}

/** A store of objects that takes signed requests only. */
export async function startObjectStore() {
  const objects = new Map<string, Uint8Array>();
  const state = { status: 200, breaksOff: false, ignoresRanges: false };
  const server = await startRecordingUpstream((request, response) => {
    const { method, path, headers, body } = request;
    const { scope } = requireSigned({ method, url: path, headers, body }, keys);
    assert.deepEqual([scope.service, scope.region], ["s3", "eu-central-1"]);
    if (state.status !== 200) return void response.writeHead(state.status).end("<Error/>");
    if (method === "PUT") {
      objects.set(path, Uint8Array.from(body));
      return void response.writeHead(200).end();
    }
    const found = objects.get(path);
    if (state.breaksOff) {
      response.writeHead(200, { "content-length": "1000" });
      return void response.write("beginning", () => setTimeout(() => response.destroy(), 20));
    }
    if (method === "DELETE") {
      objects.delete(path);
      return void response.writeHead(204).end();
    }
    const { range } = headers;
    if (found && typeof range === "string" && !state.ignoresRanges) {
      return void response.writeHead(206).end(pickRange(found, range));
    }
    return void response.writeHead(found ? 200 : 404).end(found);
  });
  const s3 = { endpoint: server.url, region: "eu-central-1", bucket: "files", prefix: "gateway/", ...keys };
  return { server, objects, state, s3 };
}
