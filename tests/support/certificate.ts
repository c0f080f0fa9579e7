import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A certificate for 127.0.0.1 and a name, with its authority, in PEM. */
export interface TestCertificate {
  cert: string;
  key: string;
  /** Certificate of the authority that vouches for it. */
  authority: string;
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
const day = 86_400_000;

/** A distinguished name. */
const nameOf = (common: string) => sequence(der(0x31, sequence(identifier("550403"), der(0x0c, Buffer.from(common)))));

const createKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Issues a certificate (RFC 5280) in PEM. */
function issue(
  subject: { name: string; publicKey: KeyObject },
  issuer: { name: string; privateKey: KeyObject },
  extensions: readonly Buffer[],
): string {
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([subject.name.length])),
    ecdsaSha256,
    nameOf(issuer.name),
    sequence(time(Date.now() - day), time(Date.now() + day)),
    nameOf(subject.name),
    subject.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, issuer.privateKey);
  const whole = sequence(body, ecdsaSha256, der(0x03, Buffer.from([0]), signature)).toString("base64");
  const lines = whole.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** Creates a certificate for 127.0.0.1 and a name, and its authority. */
export function createCertificate(name = "localhost"): TestCertificate {
  const yes = der(0x01, Buffer.from([0xff]));
  const authorityKeys = createKeys();
  const keys = createKeys();
  const authority = { name: "Test authority", ...authorityKeys };
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from(name)));
  const basicConstraints = sequence(identifier("551d13"), yes, der(0x04, sequence(yes)));
  return {
    authority: issue(authority, authority, [basicConstraints]),
    cert: issue({ name: "gateway.test", publicKey: keys.publicKey }, authority, [
      sequence(identifier("551d11"), der(0x04, names)),
    ]),
    key: keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
