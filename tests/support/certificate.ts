import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate that vouches for itself, for 127.0.0.1 and localhost. */
export interface TestCertificate {
  /** PEM texts. */
  cert: string;
  key: string;
}

/** One value in DER (X.690). */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const time = (at: number) =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));

const ecdsaSha256 = sequence(identifier("2a8648ce3d040302"));
const name = sequence(der(0x31, sequence(identifier("550403"), der(0x0c, Buffer.from("gateway.test")))));
const day = 86_400_000;

/** Makes a certificate (RFC 5280) with a key of its own. */
export function createCertificate(): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from("localhost")));
  const isAuthority = sequence(der(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(identifier("551d11"), der(0x04, names)),
    sequence(identifier("551d13"), der(0x01, Buffer.from([0xff])), der(0x04, isAuthority)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaSha256,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const whole = sequence(body, ecdsaSha256, der(0x03, Buffer.from([0]), signature)).toString("base64");
  const lines = whole.match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
