import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readTls } from "../../src/serve/tls.ts";
import { tls } from "../../src/settings/tls.ts";
import { createCertificate } from "../support/certificate.ts";
import { createFolder } from "../support/process.ts";

const folder = createFolder();
const [own, other] = [createCertificate(), createCertificate()];

/** Writes a file and returns its path. */
function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const files = { TLS_CERT: write("cert.pem", own.cert), TLS_KEY: write("key.pem", own.key) };
const foreignKey = write("other.pem", other.key);

function read(environment: Record<string, string | undefined>) {
  const warnings: string[] = [];
  const named = tls(environment);
  assert.ok(named);
  return { content: readTls(named, { warn: (message) => void warnings.push(message) }), warnings };
}

test("readTls() returns certificate, key and authorities, and reports a certificate that ends soon", () => {
  const authorities = write("clients.pem", `a comment\n${other.authority}${own.authority}`);
  const { content, warnings } = read({ ...files, TLS_CLIENT_CA: authorities });
  assert.equal(content.cert, own.cert);
  assert.equal(content.key, own.key);
  assert.ok(content.ca?.includes(other.authority));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /cert\.pem \(TLS_CERT\) ends soon: it is valid until 20/);
  assert.equal(tls({}), undefined);
});

for (const [title, change, problem] of [
  ["the key of another certificate", { TLS_KEY: foreignKey }, /TLS_KEY: .* is not the key of the certificate/],
  ["no key", { TLS_KEY: undefined }, /Cannot use TLS_CERT: TLS_KEY must be set too/],
  ["no certificate", { TLS_CERT: "" }, /Cannot use TLS_KEY: TLS_CERT must be set too/],
  ["a key as the certificate", { TLS_CERT: foreignKey }, /TLS_CERT: .*other\.pem has no valid content in PEM form/],
  ["a certificate as the key", { TLS_KEY: files.TLS_CERT }, /TLS_KEY: .*cert\.pem has no valid content/],
  ["a file that is missing", { TLS_CERT: join(folder, "none") }, /Cannot use TLS_CERT: .*(?:ENOENT|No such file)/],
  ["authorities without certificates", { TLS_CLIENT_CA: foreignKey }, /TLS_CLIENT_CA: .*no valid content/],
] as const) {
  test(`TLS with ${title} is refused`, () => {
    assert.throws(() => read({ ...files, ...change }), problem);
  });
}

test("authorities of clients alone are refused", () => {
  assert.throws(() => tls({ TLS_CLIENT_CA: foreignKey }), /TLS_CLIENT_CA: TLS_CERT and TLS_KEY must be set too/);
});
