import { type Environment, text } from "./read.ts";

/** Files in PEM form with which the gateway serves TLS. */
export interface TlsFiles {
  /** The certificate, and those between it and the authority. */
  cert: string;
  key: string;
  /** Certificates of the authorities whose clients may connect. Undefined: clients need none. */
  clientCa: string | undefined;
}

/** The files of TLS. Undefined: the gateway serves HTTP. @throws {TypeError} If one of them is missing. */
export function tls(environment: Environment): TlsFiles | undefined {
  const [cert, key, clientCa] = ["TLS_CERT", "TLS_KEY", "TLS_CLIENT_CA"].map((name) => text(environment, name));
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  const given = cert !== undefined ? "TLS_CERT" : key !== undefined ? "TLS_KEY" : "TLS_CLIENT_CA";
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  const missing = [cert === undefined && "TLS_CERT", key === undefined && "TLS_KEY"].filter((name) => name !== false);
  throw new TypeError(`Cannot use ${given}: ${missing.join(" and ")} must be set too`);
}
