// What the steps of a release share: folders, programs, and a call that shows that a gateway works.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import process from "node:process";
import { pipeline } from "node:stream/promises";
import { version } from "../../src/version.ts";
import type { GatewayProcessOptions } from "../../tests/support/process.ts";
import { withGateway } from "../../tests/support/process.ts";

export const root = resolve(import.meta.dirname, "../..");
/** Where the published files go. */
export const releaseFolder = join(root, "dist/release");
/** Packages that only a release needs. */
export const toolsFolder = import.meta.dirname;
/** Time that files carry in archives, in seconds: SOURCE_DATE_EPOCH, or a fixed one, so that equal sources give equal files. */
export const sourceDate = Number(process.env.SOURCE_DATE_EPOCH ?? 1_767_225_600);

/** Who publishes: `author` of package.json, a name and an address for mail. */
export const { author } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { author: string };

/** A step that this machine cannot do; the message says what is missing. */
export class CannotCheckError extends Error {
  override readonly name = "CannotCheckError";
}

interface RunOptions {
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** Exit codes that are no failure. Default: 0. */
  codes?: readonly number[];
  /** Returns what it printed to standard error too. */
  withErrors?: boolean;
}

/** Runs a program and returns what it printed. Rejects with it if it fails. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd = root, env = {}, codes = [0], withErrors } = options;
  return new Promise((done, fail) => {
    const settings = { cwd, env: { ...process.env, ...env }, maxBuffer: 256 * 1024 * 1024 };
    execFile(program, args, settings, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      if (codes.includes(code)) done(withErrors ? stdout + stderr : stdout);
      else fail(new Error(`${program} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`));
    });
  });
}

/** Path of a program of the system; undefined if it is missing. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Programs of the system. Throws with the names of those that are missing. */
export function requirePrograms(...names: string[]): void {
  const missing = names.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) throw new CannotCheckError(`install ${missing.join(", ")}`);
}

/** Bytes of all files below a folder. */
export function sizeOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** Text of a size. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** SHA-256 of a file, as hexadecimal text. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Sends the first call of the README to a gateway and requires the answer; and, if asked, the page of the console. */
export async function requireAnswer(url: string, key: string, hasConsole = true): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(JSON.parse(text).choices[0].message.content, "Hello");
  if (!hasConsole) return;
  const page = await fetch(`${url}/console`);
  const html = await page.text();
  assert.equal(page.status, 200, html);
  assert.match(html, /src="\/console\/assets\//);
}

/** Starts a program of the gateway, makes the first call, and requires a clean stop. */
export async function requireServing(options: GatewayProcessOptions): Promise<void> {
  await withGateway(options, async (gateway) => {
    await requireAnswer(gateway.url, gateway.workspaceKey);
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null }, gateway.output());
  });
}

export { version };
