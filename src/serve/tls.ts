import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TlsFiles } from "../settings/tls.ts";
import type { ProcessLog } from "./process-log.ts";

/** With what connections are encrypted, in PEM form. */
export interface TlsContent {
  cert: string;
  key: string;
  /** Authorities whose clients may connect; a client without a certificate of theirs cannot. */
  ca?: string;
}

/** Time between two looks at the files. */
const lookEveryMs = 1_000;

/** As OpenSSL and Bun take them. */
type ServerTls = TlsContent & { requestCert?: boolean; rejectUnauthorized?: boolean };

/** Options of a server. */
export function serverTls(content: TlsContent): ServerTls {
  return content.ca === undefined ? content : { ...content, requestCert: true, rejectUnauthorized: true };
}

function readPem(path: string, variable: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new TypeError(`Cannot use ${variable}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function parsed<Value>(path: string, variable: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (cause) {
    throw new TypeError(`Cannot use ${variable}: ${path} has no valid content in PEM form`, { cause });
  }
}

/** Certificates in PEM form, without what stands between them. */
const certificatesIn = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];

function requireCertificate(pem: string, path: string, variable: string): X509Certificate {
  return parsed(path, variable, () => {
    // those behind the first must be readable too
    const [first] = certificatesIn(pem).map((one) => new X509Certificate(one));
    if (!first) throw new TypeError("There is no certificate");
    return first;
  });
}

/** Days before its end from which on a certificate is reported at the start and when it is read. */
const endsSoonDays = 7;

function warnOfEnd(certificate: X509Certificate, path: string, log: Pick<ProcessLog, "warn">): void {
  const ends = Date.parse(certificate.validTo);
  if (ends - Date.now() > endsSoonDays * 86_400_000) return;
  const what = ends < Date.now() ? "has ended" : "ends soon";
  log.warn(`The certificate ${path} (TLS_CERT) ${what}: it is valid until ${new Date(ends).toISOString()}`);
}

/**
 * The content of the files of TLS.
 *
 * @throws {TypeError} Naming the variable whose file cannot be used: before a server gets it, as some runtimes fail with
 * the first connection only.
 */
export function readTls(files: TlsFiles, log: Pick<ProcessLog, "warn">): TlsContent {
  const cert = readPem(files.cert, "TLS_CERT");
  const key = readPem(files.key, "TLS_KEY");
  const certificate = requireCertificate(cert, files.cert, "TLS_CERT");
  const form = { type: "spki", format: "der" } as const;
  const ofKey = parsed(files.key, "TLS_KEY", () => createPublicKey(createPrivateKey(key)).export(form));
  if (!ofKey.equals(certificate.publicKey.export(form))) {
    throw new TypeError(`Cannot use TLS_KEY: ${files.key} is not the key of the certificate ${files.cert}`);
  }
  warnOfEnd(certificate, files.cert, log);
  if (files.clientCa === undefined) return { cert, key };
  const ca = readPem(files.clientCa, "TLS_CLIENT_CA");
  requireCertificate(ca, files.clientCa, "TLS_CLIENT_CA");
  return { cert, key, ca };
}

/**
 * Reads the files again while the process runs, and calls `use` when their content has changed. Content that cannot be used
 * is reported, and the former one stays: of two files, one is always replaced first.
 */
export function followTls(files: TlsFiles, log: ProcessLog, use: (content: TlsContent) => void): void {
  let known = "";
  const look = () => {
    try {
      const paths = [files.cert, files.key, ...(files.clientCa === undefined ? [] : [files.clientCa])];
      const text = paths.map((path) => readFileSync(path, "utf8")).join("\0");
      if (text === known) return undefined;
      const isFirst = known === "";
      known = text;
      return isFirst ? undefined : readTls(files, log);
    } catch (error) {
      log.warn("Cannot use the changed files of TLS: the former certificate stays", error);
      return undefined;
    }
  };
  look();
  const timer = setInterval(() => {
    const content = look();
    if (!content) return;
    use(content);
    log.info("The certificate of TLS was replaced");
  }, lookEveryMs);
  timer.unref();
}
