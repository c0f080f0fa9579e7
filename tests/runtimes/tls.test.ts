import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { createCertificate, type TestCertificate } from "../support/certificate.ts";
import { createFolder, waitFor, withGateway } from "../support/process.ts";

interface Answer {
  status: number;
  text: string;
}

/** Asks a gateway; resolves with the code of the error if there is no response. */
function ask(
  url: string,
  options: { ca: string; cert?: string; key?: string; agent?: Agent },
): Promise<Answer | string> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, ...options }, (message) => {
      let text = "";
      message.setEncoding("utf8");
      message.on("data", (part: string) => {
        text += part;
      });
      message.on("end", () => resolve({ status: message.statusCode ?? 0, text }));
    });
    request.on("error", (error) => resolve(`${Reflect.get(error, "code")}`));
  });
}

const statusOf = (answer: Answer | string) => (typeof answer === "string" ? answer : answer.status);

function writeFiles(folder: string, { cert, key }: TestCertificate): { TLS_CERT: string; TLS_KEY: string } {
  const files = { TLS_CERT: join(folder, "cert.pem"), TLS_KEY: join(folder, "key.pem") };
  writeFileSync(files.TLS_CERT, cert);
  writeFileSync(files.TLS_KEY, key);
  return files;
}

test("a gateway with a certificate serves TLS, only to clients of its authority, and follows changed files", async () => {
  const folder = createFolder();
  const [first, second, clients] = [createCertificate(), createCertificate(), createCertificate()];
  const clientCa = join(folder, "clients.pem");
  writeFileSync(clientCa, clients.authority);
  const env = { ...writeFiles(folder, first), TLS_CLIENT_CA: clientCa, LOG_FORMAT: "json", MCP_PORT: "0" };
  await withGateway({ env }, async ({ url, output }) => {
    assert.match(url, /^https:/);
    const { cert, key } = clients;
    const health = `${url}/health`;
    assert.equal(statusOf(await ask(health, { ca: first.authority, cert, key })), 200);
    assert.equal(typeof (await ask(health, { ca: first.authority })), "string", "a client without a certificate");
    const foreign = { cert: second.cert, key: second.key };
    assert.equal(typeof (await ask(health, { ca: first.authority, ...foreign })), "string", "a foreign client");
    assert.equal(typeof (await ask(health, { ca: second.authority, cert, key })), "string");
    // the key comes later: until then the former certificate stays
    writeFileSync(env.TLS_CERT, second.cert);
    await waitFor("the mismatch", 20_000, () => output().includes("the former certificate stays"));
    const open = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal(statusOf(await ask(health, { ca: first.authority, cert, key, agent: open })), 200);
    writeFileSync(env.TLS_KEY, second.key);
    await waitFor("the new certificate", 20_000, () => output().includes("was replaced"));
    assert.equal(statusOf(await ask(health, { ca: second.authority, cert, key })), 200);
    assert.equal(typeof (await ask(health, { ca: first.authority, cert, key })), "string");
    assert.equal(typeof (await ask(health, { ca: second.authority })), "string", "still without a certificate");
    open.destroy();
    // Deno says first that it could serve the file itself
    const lines = output()
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("warning: Detected"));
    for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), line);
  });
});
