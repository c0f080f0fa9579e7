import { readFileSync, statSync } from "node:fs";
import process from "node:process";
import { createAddressGuard } from "../lib/address.ts";
import { fromBase64, fromBase64Url, toHex } from "../lib/base64.ts";
import { BodyError, readBytes, receiveTimes } from "../lib/body.ts";
import { Budget } from "../lib/budget.ts";
import { parseJson } from "../lib/json.ts";
import { createOutbound, type Outbound } from "../lib/outbound.ts";
import { createOperatorFactReader, readOperatorFacts } from "../providers/core/operator-facts.ts";
import { builtInProviders } from "../providers/registry.ts";
import type { OperatorFacts } from "../schemas/model-facts.ts";
import { readSettings } from "../settings.ts";
import { type Outcome, UsageError } from "./command.ts";
import { replaceFile } from "./replace-file.ts";
import { createLateTransport } from "./runtime-transport.ts";
import { withSecretFiles } from "./secret-files.ts";

/** Bounds of a table: that of the release has about 100 kB. */
const maxBytes = 4 * 2 ** 20;
const maxValues = 200_000;
/** A signature in base64, with a line end. */
const maxSignatureBytes = 256;
const maxRedirects = 3;

/** Lengths in bytes (RFC 8032; with an algorithm before it, RFC 8410). */
const signatureLength = 64;
const rawKeyLength = 32;
const wrappedKeyLength = 44;

/** What a table must match. */
interface Proof {
  /** SHA-256 of its bytes in hexadecimal digits. */
  digest: string | undefined;
  /** Ed25519 key of its signature. */
  publicKey: Uint8Array<ArrayBuffer> | undefined;
}

const isAddress = (source: string): boolean => /^https?:\/\//i.test(source);

/** Bytes of base64 in either alphabet; undefined for other text. */
function readBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const plain = text.trim();
  if (!/^[\w+/-]+={0,2}$/.test(plain)) return undefined;
  try {
    return /[-_]/.test(plain) ? fromBase64Url(plain.replace(/=+$/, "")) : fromBase64(plain);
  } catch {
    return undefined;
  }
}

/** @throws {UsageError} If neither is given, or one has another form. */
function readProof(digest: string | undefined, key: string | undefined): Proof {
  if (digest === undefined && key === undefined) {
    throw new UsageError("Cannot use a table that nothing vouches for: give --sha256 or --public-key");
  }
  if (digest !== undefined && !/^[0-9a-f]{64}$/i.test(digest)) {
    throw new UsageError("Cannot use --sha256: it must have 64 hexadecimal digits");
  }
  const publicKey = key === undefined ? undefined : readBase64(key);
  if (key !== undefined && publicKey?.length !== rawKeyLength && publicKey?.length !== wrappedKeyLength) {
    throw new UsageError("Cannot use --public-key: it must be an Ed25519 key in base64");
  }
  return { digest: digest?.toLowerCase(), publicKey };
}

/** Reads a response with its redirects. Each address is checked. */
async function download(address: string, bytes: number, outbound: Outbound): Promise<Uint8Array> {
  let url = address;
  for (let left = maxRedirects; ; left--) {
    const signal = AbortSignal.timeout(receiveTimes.totalMs);
    const response = await outbound(url, { method: "GET", headers: {}, origin: "influenced", signal });
    if (response.ok) return readBytes(response, { ...receiveTimes, bytes });
    response.body?.cancel().catch(() => {});
    const location = response.headers.get("location");
    const next = response.status >= 300 && location !== null ? URL.parse(location, url)?.href : undefined;
    if (next === undefined) throw new Error(`it returned ${response.status}`);
    if (left === 0) throw new Error("it redirects too often");
    url = next;
  }
}

/** @throws {Error} If it is no file, or too large. */
function readLocal(path: string, bytes: number): Uint8Array {
  const found = statSync(path);
  if (!found.isFile()) throw new Error("it is not a file");
  if (found.size > bytes) throw new BodyError("too_large");
  return readFileSync(path);
}

/** Reads a file or an address, at most so many bytes. @throws {Error} Naming it. */
async function readSource(source: string, bytes: number, outbound: Outbound): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const read = isAddress(source) ? await download(source, bytes, outbound) : readLocal(source, bytes);
    return new Uint8Array(read);
  } catch (cause) {
    const isLarge = cause instanceof BodyError && cause.problem === "too_large";
    const options = isLarge ? undefined : { cause };
    throw new Error(`Cannot read ${source}${isLarge ? `: it has more than ${bytes} bytes` : ""}`, options);
  }
}

/** Where the signature of a table is: beside it, with `.sig` behind its path. */
function signatureOf(source: string): string {
  if (!isAddress(source)) return `${source}.sig`;
  const url = new URL(source);
  url.pathname += ".sig";
  return url.href;
}

async function verifySignature(bytes: Uint8Array<ArrayBuffer>, key: Uint8Array<ArrayBuffer>, signature: Uint8Array) {
  const text = new TextDecoder().decode(signature);
  const raw = signature.length === signatureLength ? new Uint8Array(signature) : readBase64(text);
  if (raw?.length !== signatureLength) return false;
  const format = key.length === rawKeyLength ? "raw" : "spki";
  const imported = await crypto.subtle.importKey(format, key, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", imported, raw, bytes);
}

/** @throws {Error} If the table is not the one that was vouched for. */
async function requireProof(source: string, bytes: Uint8Array<ArrayBuffer>, proof: Proof, outbound: Outbound) {
  const { digest, publicKey } = proof;
  const found = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  if (digest !== undefined && digest !== found) {
    throw new Error(`Cannot use ${source}: its SHA-256 is ${found}, not ${digest}`);
  }
  if (!publicKey) return;
  const place = signatureOf(source);
  const signature = await readSource(place, maxSignatureBytes, outbound);
  const isValid = await verifySignature(bytes, publicKey, signature).catch(() => false);
  if (!isValid) throw new Error(`Cannot use ${source}: ${place} is not its signature by this key`);
}

/** @throws {Error} If it is not a table of facts that this release can use. */
function readTable(source: string, bytes: Uint8Array): OperatorFacts {
  const budget = new Budget({ source: "caller", what: "the table", bytes: maxBytes, values: maxValues });
  const slugs = new Set(builtInProviders.map(({ slug }) => slug));
  try {
    const tables = readOperatorFacts(budget.json(bytes));
    createOperatorFactReader(tables, slugs);
    return tables;
  } catch (cause) {
    throw new Error(`Cannot use ${source}: it is not a table of facts`, { cause });
  }
}

/** The table in the file, where there is one that can be read. */
function readFormer(file: string): OperatorFacts | undefined {
  try {
    return readOperatorFacts(parseJson(new TextDecoder().decode(readLocal(file, maxBytes))));
  } catch {
    return undefined; // absent or broken: there is nothing to go back behind
  }
}

/**
 * Refuses a signed table that was read before the one in the file: an old table with its old signature proves nothing
 * about now. A digest names one table, so it may be an older one.
 *
 * @throws {Error}
 */
function requireNewer(source: string, tables: OperatorFacts, file: string): void {
  const former = readFormer(file) ?? {};
  for (const [provider, { read }] of Object.entries(tables)) {
    const before = former[provider]?.read;
    if (read === undefined || before === undefined || !(Date.parse(read) < Date.parse(before))) continue;
    throw new Error(
      `Cannot use ${source}: its facts of ${provider} are of ${read}, those of ${file} of ${before}. Give --sha256 to go back`,
    );
  }
}

/**
 * Replaces the file of `MODEL_FACTS_FILE` by a table from a file or an address, once its digest or signature is verified.
 *
 * @throws {Error} If the table cannot be read, trusted or used. The file is unchanged then.
 */
export async function updateModels(
  source: string,
  { sha256, "public-key": key }: Readonly<Record<string, string | undefined>>,
): Promise<Outcome> {
  const proof = readProof(sha256, key);
  const { modelFactsFile: file, gateway } = readSettings(withSecretFiles(process.env));
  if (file === undefined)
    throw new Error("Cannot write the table: set MODEL_FACTS_FILE to the file that the gateway reads");
  const guard = createAddressGuard({ trustedHosts: gateway.trustedHosts ?? [] });
  const outbound = createOutbound({ transport: createLateTransport(), guard });
  const bytes = await readSource(source, maxBytes, outbound);
  await requireProof(source, bytes, proof, outbound);
  const table = readTable(source, bytes);
  if (proof.digest === undefined) requireNewer(source, table, file);
  const tables = Object.values(table);
  replaceFile(file, bytes, 0o644);
  const rows = tables.reduce((sum, table) => sum + table.rows.length, 0);
  return { lines: [`Wrote ${rows} rows of ${tables.length} providers to ${file}: gateways that start now use them`] };
}
