import { createRandom } from "./gateway.ts";

/** Texts that have led other gateways to hosts and paths of a caller's choice. */
const fragments: readonly string[] = [
  ...[
    "evil.example",
    "@evil.example",
    "user:secret@evil.example",
    "//evil.example",
    "https://evil.example/",
    "http://",
  ],
  ...["/", "/../", "..", ".", "/..", "../../", "%2e%2e", "%2E%2E%2F", ".%2e", "%2f", "%5c", "%00", "%", "%25", "%40"],
  ...["#", "#.amazonaws.com", "?", "?x=1&", "&", "=", ";", "\\", "\\\\evil.example", ":", ":8080", ":443", ":0", "@"],
  ...[
    "\u3002",
    "evil\u3002example",
    "\uff0e",
    "\uff0f",
    "\u2100",
    "\u00ad",
    "\u200d",
    "\u00df",
    "\u212a",
    "e\u0301vil",
  ],
  ...["xn--", "xn--vil-example", "xn--80ak6aa92e", "a.b", "a.b.c.d.e", ".a", "a.", "-", "-a", "a-", "_", "a_b"],
  ...["[::1]", "[::ffff:169.254.169.254]", "127.0.0.1", "127.1", "0x7f000001", "2130706433", "017700000001", "0.0.0.0"],
  ...[
    "169.254.169.254",
    "metadata.google.internal",
    "metadata",
    "localhost",
    "10.0.0.1",
    "192.168.0.1",
    "100.100.100.200",
  ],
  ...["localtest.me", "127.0.0.1.nip.io", "kubernetes.default.svc", "service.internal", "printer.local", "[fd00::1]"],
  ...[
    "null",
    "undefined",
    "NaN",
    "__proto__",
    "constructor",
    "true",
    "0",
    "",
    "{}",
    "[]",
    '"',
    "'",
    "$",
    "${x}",
    "*",
    "|",
  ],
  ...["\t", " ", "  ", "a\tb", "EVIL.EXAMPLE", "US-EAST-1", "us-east-1", "prod", "v1", "2024-10-21", "acme", "global"],
  ...["x".repeat(63), "x".repeat(64), "x".repeat(300), "a.".repeat(40), "../".repeat(30)],
  ...[
    "azuredatabricks.net",
    ".azuredatabricks.net",
    ".cloud.databricks.com",
    ".snowflakecomputing.com",
    ".amazonaws.com",
  ],
  ...[
    "models/",
    "tunedModels/",
    "publishers/",
    "endpoints.",
    "arn:aws:iam::000000000000:role/",
    "anthropic.",
    "@cf/",
    "/v1",
  ],
];

/** What stands in front of a whole address; most values are none. */
const beginnings: readonly string[] = [
  "https://",
  "http://",
  "https://acme.services.ai.azure.com",
  "https://acme",
  "HTTPS://",
];

/** The same hostile texts in every run: each fragment alone, each as an address, then combinations of two to four. */
export function hostileValues(count: number, seed: number): string[] {
  const random = createRandom(seed);
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? "";
  const values = [...fragments, ...fragments.map((fragment) => `https://${fragment}`)];
  while (values.length < count) {
    const parts = Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(fragments));
    values.push((random() < 0.2 ? pick(beginnings) : "") + parts.join(random() < 0.2 ? "." : ""));
  }
  return values;
}

/** A text as it stands in a header: the bytes of UTF-8, one character each. */
export function toHeaderText(value: string): string {
  return String.fromCharCode(...new TextEncoder().encode(value));
}
