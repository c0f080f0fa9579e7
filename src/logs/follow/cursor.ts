import type { LogScope } from "../../db/stores/log-scope.ts";
import { fromBase64Url, fromHex, toHex } from "../../lib/base64.ts";
import type { Mac } from "../../lib/hash.ts";
import { type TailPosition, wholeBatch } from "./page.ts";

// A cursor is a position whose numbers cannot be read, because they count rows of all tenants, and a tag of it that only
// fits the tenant: 16 hexadecimal digits, a dot, and 22 characters.

const positionBytes = 8;
const tagLength = 22;

async function tagOf(
  mac: Mac,
  { organisationId, workspaceId }: LogScope,
  { seq, index }: TailPosition,
): Promise<string> {
  return (await mac(JSON.stringify(["logs/tail", organisationId, workspaceId, seq, index]))).slice(0, tagLength);
}

/** The bytes of a position with a digest of its tag over them; a second time it gives the bytes back. */
async function covered(bytes: Uint8Array, tag: string, mac: Mac): Promise<Uint8Array> {
  const cover = fromBase64Url(await mac(JSON.stringify(["logs/tail", tag])));
  return bytes.map((byte, place) => byte ^ (cover[place] ?? 0));
}

/** Writes a position for a tenant. The same position always has the same text. */
export async function writeCursor(position: TailPosition, scope: LogScope, mac: Mac): Promise<string> {
  const tag = await tagOf(mac, scope, position);
  const bytes = new Uint8Array(positionBytes);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(position.seq / 2 ** 32));
  view.setUint32(2, position.seq % 2 ** 32);
  view.setUint16(6, position.index);
  return `${toHex(await covered(bytes, tag, mac))}.${tag}`;
}

/** Reads a position; undefined if the cursor belongs to another tenant, or is malformed. */
export async function readCursor(text: string, scope: LogScope, mac: Mac): Promise<TailPosition | undefined> {
  const [, digits, tag] = /^([0-9a-f]{16})\.([\w-]{22})$/.exec(text) ?? [];
  if (digits === undefined || tag === undefined) return undefined;
  const view = new DataView(Uint8Array.from(await covered(fromHex(digits), tag, mac)).buffer);
  const seq = view.getUint16(0) * 2 ** 32 + view.getUint32(2);
  const position = { seq, index: Math.min(view.getUint16(6), wholeBatch) };
  return (await tagOf(mac, scope, position)) === tag ? position : undefined;
}
